import { readFileSync } from 'node:fs'
import path from 'node:path'
import { Redis } from 'ioredis'
import t from 'tap'
import { redisSessions } from '../../../lib/sessions/stores/redis.js'
import { sessionStoreSuite } from '../../../lib/testing/index.js'
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
