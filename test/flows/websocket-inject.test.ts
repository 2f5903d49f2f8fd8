import { once } from 'node:events'
import websocket from '@fastify/websocket'
import Fastify from 'fastify'
import t from 'tap'
import { authn } from '../../lib/index.js'
import { bearer, standardOptions, tokensOf } from '../helpers/app.js'
import { nameOf } from '../helpers/flows.js'

// What injectWS() of @fastify/websocket makes has no raw headers to look at.
t.test('an injected upgrade is judged like one of a client', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(websocket)
  await app.register(authn, standardOptions())
  let opened = 0
  await app.register(async (scope) => {
    scope.get('/', { websocket: true, config: { auth: true } }, (socket, request) => {
      opened += 1
      socket.send(String(nameOf(request)))
    })
  })
  await app.ready()
  await t.rejects(app.injectWS('/', {}), /Unexpected server response: 401/)
  await t.rejects(app.injectWS('/', { headers: bearer('broken') }), /401/)
  t.equal(opened, 0, 'the handler did not run')

  const headers = bearer(tokensOf(app).generateToken('alice'))
  let first: Promise<unknown[]> | undefined
  const socket = await app.injectWS(
    '/',
    { headers },
    { onInit: (client) => void (first = once(client, 'message')) },
  )
  t.equal(String((await first)?.[0]), 'alice')
  t.equal(opened, 1)
  socket.terminate()
})
