// The least that a server on node:http has to do.
import { createServer } from 'node:http'
import { userOf } from './by-hand.mjs'
import { serve, user0 } from './serve.mjs'

function reply(response, status, value) {
  const body = JSON.stringify(value)
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
}

async function handle(request, response) {
  if (request.url === '/open') return reply(response, 200, { name: user0.name })
  const user = await userOf(request.headers.authorization)
  if (user === undefined) return reply(response, 401, { error: 'Unauthorized' })
  reply(response, 200, { name: user.name })
}

const server = createServer(handle)
server.listen(0, '127.0.0.1', () => serve(server.address().port))
