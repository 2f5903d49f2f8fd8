// program: redis
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { Redis } from 'ioredis'
import t from 'tap'
import { redisSessions } from '../../../lib/sessions/stores/redis.js'
import { redisApiKeys } from '../../../lib/api-keys/index.js'
import { sessionStoreSuite } from '../../../lib/testing/index.js'
import { appWith, bearer, passwords, standardOptions } from '../../helpers/app.js'
import { login, retryAfterOf } from '../../helpers/load.js'
import { pairOf } from '../../helpers/sessions.js'
import { root } from '../../helpers/project.js'
import { unlessFound } from '../../helpers/programs.js'
import { redisServer } from '../../helpers/redis-server.js'

const skip = unlessFound('Redis')

t.test('redisSessions() passes sessionStoreSuite()', { skip }, async (t) => {
  const server = await redisServer(t)
  const clients: Redis[] = []
  t.teardown(() => clients.forEach((client) => client.disconnect()))
  const make = (prefix: string) => {
    const client = new Redis(server.port, '127.0.0.1')
    clients.push(client)
    return redisSessions(client, { prefix })
  }
  for (const { name, run } of sessionStoreSuite(make)) t.test(name, run)
})

t.test('redisSessions() needs no command beyond the documented ACL', { skip }, async (t) => {
  const page = readFileSync(path.join(root, 'docs/guides/session-stores.md'), 'utf8')
  const documented = /`(~\{shop:\* [^`]+)`/.exec(page)?.[1] ?? ''
  t.match(documented, ' -@dangerous ')
  const { port } = await redisServer(t)
  const open = (): Redis => {
    const client = new Redis({ port, host: '127.0.0.1', username: 'app', password: 'pw' })
    t.teardown(() => client.disconnect())
    return client
  }
  const admin = new Redis(port, '127.0.0.1')
  t.teardown(() => admin.disconnect())
  const rules = documented.replaceAll('shop:', 'suite_').split(' ')
  await admin.call('ACL', 'SETUSER', 'app', 'on', '>pw', ...rules)
  for (const command of ['KEYS *', 'FLUSHALL', 'SORT {suite_x}', 'CONFIG GET *', 'GET other'])
    await t.rejects(open().call(...(command.split(' ') as [string])), /NOPERM/, command)
  const cases = sessionStoreSuite((prefix) => redisSessions(open(), { prefix }))
  for (const { name, run } of cases) t.test(name, run)
  const denied = (await admin.call('ACL', 'LOG')) as unknown[]
  t.equal(denied.length, 5, 'no other command was denied')
})

t.test('a full Redis gets no logins and keys, and still revokes', { skip }, async (t) => {
  const { port } = await redisServer(t)
  const redis = new Redis(port, '127.0.0.1')
  t.teardown(() => redis.disconnect())
  const prefix = 'shop'
  const app = await appWith(t, {
    ...standardOptions(),
    login: { subject: ({ id }: { id?: number }) => String(id) },
    sessions: { store: redisSessions(redis, { prefix }) },
    apiKeys: { prefix: 'shop_test', store: redisApiKeys(redis, { prefix }) },
    throttle: { redis, keyPrefix: prefix },
  })
  const enter = () => login(app, 'alice', passwords.alice)
  const [one] = [await enter(), await enter()].map((each) => pairOf(each))
  const expiresAt = new Date(Date.now() + 86_400_000)
  const issue = () => app.authn.apiKeys.issue({ owner: '1', name: 'job', scopes: [], expiresAt })
  const { id } = await issue()
  await redis.config('SET', 'maxmemory', '100kb')
  const before = await redis.dbsize()
  for (let count = 0; count < 5; count += 1) {
    const response = await enter()
    t.equal(response.statusCode, 503)
    t.ok(retryAfterOf(response) > 0)
    t.equal((await login(app, 'alice', 'guess')).statusCode, 401)
  }
  await t.rejects(issue(), { code: 'ERR_AUTH_STORE_UNAVAILABLE' })
  t.equal(await redis.dbsize(), before, 'nothing is stored')
  const headers = bearer(one?.token as string)
  t.equal((await app.inject({ method: 'POST', url: '/logout', headers })).statusCode, 204)
  const { sub } = app.jwtService.verify(one?.token as string)
  t.equal(await app.authn.sessions.revoke({ sub: String(sub) }), 1)
  t.equal(await app.authn.apiKeys.revoke(id, { owner: null }), true)
  await redis.config('SET', 'maxmemory', '0')
  t.equal((await enter()).statusCode, 200)
})
