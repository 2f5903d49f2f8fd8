// program: its own, in npm run test:all
// Logins with a real OpenID provider, where the sessions of an app are in Redis.
import t, { type Test } from 'tap'
import { passwords } from '../helpers/app.js'
import { send, type AnyResponse } from '../helpers/flows.js'
import { realProvider, visitor } from '../helpers/openid-provider.js'
import { startProcess } from '../helpers/processes.js'
import { unlessFound } from '../helpers/programs.js'
import { redisServer } from '../helpers/redis-server.js'

const skip = unlessFound('Redis')

/** @returns the ports of two processes that share a provider and Redis */
async function twoShops(t: Test): Promise<[one: number, other: number]> {
  const redis = await redisServer(t)
  const { issuer } = await realProvider(t)
  const env = { TEST_ISSUER: issuer, TEST_REDIS_PORT: String(redis.port) }
  const start = async () => (await startProcess(t, 'login-with-app', env)).port
  return Promise.all([start(), start()])
}

/** The cookies that a response sets, as a browser sends them. */
const cookiesOf = ({ headers }: AnyResponse): string[] =>
  [headers['set-cookie'] ?? []].flat().map((line) => String(line).split(';', 1).join())

t.test('a login that begins in one process ends in another one', { skip }, async (t) => {
  const [one, other] = await twoShops(t)
  // A proxy in front of both passes on the host for which the browser has asked.
  const host = `127.0.0.1:${one}`
  const { choose, cookies } = visitor()
  const { pathname, search } = new URL(await choose(`http://${host}/login/corp`, 'alice'))
  const headers = { host, cookie: cookies(`http://${host}`) }
  const response = await send(other, { path: `${pathname}${search}`, headers })
  t.match(response, { statusCode: 303, headers: { location: '/' } })

  const cookie = cookiesOf(response).join('; ')
  for (const port of [one, other]) {
    const { body } = await send(port, { path: '/me', headers: { host, cookie } })
    t.equal(body, '{"name":"alice"}')
  }
  const again = await send(one, { path: `${pathname}${search}`, headers })
  t.match(again, { statusCode: 401 }, 'the code is used up for both')
})

t.test('a link that begins in one process ends in another one', { skip }, async (t) => {
  const [one, other] = await twoShops(t)
  const host = `127.0.0.1:${one}`
  const begin = async () => {
    const { open, chooseLink, cookies } = visitor()
    const credentials = { username: 'alice', password: passwords.alice }
    await open(`http://${host}/login`, credentials)
    const { pathname, search } = new URL(await chooseLink(`http://${host}/login/corp`, 'bob'))
    return { path: pathname + search, headers: { host, cookie: cookies(`http://${host}`) } }
  }
  const link = await begin()
  t.match(await send(other, link), { statusCode: 303, headers: { location: '/' } })
  const revoked = await begin()
  const { cookie } = revoked.headers
  await send(one, { method: 'POST', path: '/logout', headers: { host, cookie } })
  t.match(await send(other, revoked), { statusCode: 401 }, 'logged out in the other process')
})
