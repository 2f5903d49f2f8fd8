// program: its own, in npm run test:all
// Logins with a real OpenID provider, where the sessions of an app are in Redis.
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { redisSessions } from '../../lib/sessions/index.js'
import { appWith, passwords, standardOptions } from '../helpers/app.js'
import { listen, nameOf, send, type AnyResponse } from '../helpers/flows.js'
import { until } from '../helpers/load.js'
import { clientSecret, realProvider, visitor } from '../helpers/openid-provider.js'
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

t.test('a store that dies before the session begins is a 503, no login', { skip }, async (t) => {
  const server = await redisServer(t)
  const redis = new Redis(server.port, '127.0.0.1', { retryStrategy: () => 50 })
  redis.on('error', () => undefined)
  t.teardown(() => redis.disconnect())
  const { issuer } = await realProvider(t)
  let act: (() => unknown) | null = null
  const username = async ({ sub }: { sub: string }): Promise<string> => {
    await act?.()
    return sub
  }
  const corp = { issuer, clientId: 'shop', clientSecret, username }
  const sessions = { store: redisSessions(redis, { prefix: 'shop' }) }
  const options = { ...standardOptions(), cookies: {}, sessions, loginWith: { corp } }
  const app = await appWith(
    t,
    options,
    (app) => {
      app.get('/me', { config: { auth: true } }, (request) => ({ name: nameOf(request) }))
    },
    { forceCloseConnections: true },
  )
  const url = `http://127.0.0.1:${await listen(app)}`
  for (const [title, break_, mend] of [
    ['killed', server.kill, server.start],
    ['hung', server.pause, server.resume],
  ] as const) {
    act = break_
    const { choose, open, cookies } = visitor()
    const response = await open(await choose(`${url}/login/corp`, 'alice'))
    t.equal(response.status, 503, title)
    t.match(response.headers.get('retry-after'), /^\d+$/)
    t.equal(cookies(url), '', 'no cookie is left')
    await mend()
    t.equal((await open(`${url}/me`)).status, 401, 'not logged in')
    act = null
    const logIn = async () => open(await choose(`${url}/login/corp`, 'alice'))
    let { status } = await logIn()
    await until(async () => {
      if (status === 503) ({ status } = await logIn())
      return status !== 503
    }, 'the client of the store is connected again')
    t.equal(status, 303, 'a later login succeeds')
    t.equal((await open(`${url}/me`)).status, 200)
  }
})
