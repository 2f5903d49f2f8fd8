// The program that docs/guides/where-it-runs.md names: Node, Bun and Deno run it, and print the same.
import Fastify from 'fastify'
import authn, { hashPassword } from 'fastify-authn'
import { memoryApiKeys } from 'fastify-authn/api-keys'

const password = 'wonderland-1865'
const alice = { id: 1, name: 'alice', password: await hashPassword(password) }
const app = Fastify()
await app.register(authn, {
  userService: { findByUsername: (name) => (name === 'alice' ? alice : null) },
  jwt: { secret: 'a secret of this program alone, which no app shares' },
  sessions: true,
  cookies: true,
  apiKeys: { prefix: 'acme_test', store: memoryApiKeys() },
})
app.get('/me', { config: { auth: { use: ['jwt', 'apiKey'] } } }, ({ user }) => user.name)
const url = await app.listen({ host: '127.0.0.1', port: 0 })

let cookie = ''
async function send(path, body) {
  const headers = { cookie, 'sec-fetch-site': 'same-origin' }
  if (body !== undefined) headers['content-type'] = 'application/json'
  const init = { method: body === undefined ? 'GET' : 'POST', headers, body: JSON.stringify(body) }
  const response = await fetch(url + path, init)
  const cookies = response.headers.getSetCookie()
  if (cookies.length > 0) cookie = cookies.map((each) => each.split(';')[0]).join('; ')
  return `${path} ${response.status}`
}

const wrong = await send('/login', { username: 'alice', password: 'wrong' })
const login = await send('/login', { username: 'alice', password })
const me = await send('/me')
const refresh = await send('/login/refresh', {})
const expiresAt = new Date(Date.now() + 60_000)
const { key } = await app.authn.apiKeys.issue({
  owner: 'alice',
  name: 'job',
  scopes: [],
  expiresAt,
})
const byKey = await fetch(`${url}/me`, { headers: { authorization: `Bearer ${key}` } })
const logout = await send('/logout', {})
console.log(
  [wrong, login, me, refresh, `key ${byKey.status}`, logout, await send('/me')].join(', '),
)
await app.close()
