import { EventEmitter } from 'node:events'
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import { isGone, onGone } from '../../lib/http/disconnect.js'
import { fakeRequest } from '../helpers/load.js'

t.test('a client is gone when its connection is destroyed', async (t) => {
  const { request, leave } = fakeRequest()
  t.equal(isGone(request), false)
  leave()
  t.equal(isGone(request), true)
})

t.test('a client of inject() is never gone', async (t) => {
  const request = { raw: { socket: new EventEmitter() } } as unknown as FastifyRequest
  t.equal(isGone(request), false)
})

t.test('listeners are called once, in order, when the client disconnects', async (t) => {
  const { request, socket, leave } = fakeRequest()
  const called: string[] = []
  onGone(request, () => called.push('first'))
  const stop = onGone(request, () => called.push('stopped'))
  onGone(request, () => called.push('last'))
  stop()
  stop()
  t.strictSame(called, [])
  leave()
  t.strictSame(called, ['first', 'last'])
  socket.emit('close')
  t.strictSame(called, ['first', 'last'])
})

t.test('a listener that another one removes is not called', async (t) => {
  const { request, leave } = fakeRequest()
  const called: string[] = []
  let stopLast = (): void => undefined
  onGone(request, () => {
    called.push('first')
    stopLast()
  })
  stopLast = onGone(request, () => called.push('last'))
  leave()
  t.strictSame(called, ['first'])
})

t.test('a connection gets one listener, however many requests it carries', async (t) => {
  const { request, socket } = fakeRequest()
  const other = { raw: { socket } } as unknown as FastifyRequest
  for (let count = 0; count < 50; count += 1) onGone(count % 2 ? request : other, () => undefined)
  t.equal(socket.listenerCount('close'), 1)
  const second = fakeRequest()
  onGone(second.request, () => undefined)
  t.equal(second.socket.listenerCount('close'), 1, 'each connection its own')
})

t.test('an HTTP/2 client is gone when its stream closes, not the connection', async (t) => {
  const socket = Object.assign(new EventEmitter(), { destroyed: false })
  const stream = Object.assign(new EventEmitter(), { destroyed: false })
  const request = { raw: { socket, stream } } as unknown as FastifyRequest
  let called = 0
  onGone(request, () => {
    called += 1
  })
  socket.destroyed = true
  socket.emit('close')
  t.equal(called, 0)
  t.equal(isGone(request), false)
  stream.destroyed = true
  stream.emit('close')
  t.equal(called, 1)
  t.equal(isGone(request), true)
})
