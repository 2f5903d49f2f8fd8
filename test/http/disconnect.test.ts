import { EventEmitter } from 'node:events'
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import { isGone, onGone } from '../../lib/http/disconnect.js'
import { fakeRequest } from '../helpers/load.js'

t.test('a client is gone when its connection is destroyed, one of inject() never', async (t) => {
  const { request, leave } = fakeRequest()
  t.equal(isGone(request), false)
  leave()
  t.equal(isGone(request), true)
  t.equal(isGone({ raw: { socket: new EventEmitter() } } as unknown as FastifyRequest), false)
})

t.test('listeners are called once, in order, unless they are removed', async (t) => {
  const { request, socket, leave } = fakeRequest()
  const called: string[] = []
  let stopByOther = (): void => undefined
  onGone(request, () => {
    called.push('first')
    stopByOther()
  })
  const stop = onGone(request, () => called.push('stopped'))
  stopByOther = onGone(request, () => called.push('stopped by another'))
  onGone(request, () => called.push('last'))
  stop()
  stop()
  t.strictSame(called, [])
  leave()
  socket.emit('close')
  t.strictSame(called, ['first', 'last'])
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
