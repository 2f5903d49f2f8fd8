import { Redis } from 'ioredis'
import t from 'tap'
import { redisSessions } from '../../../lib/sessions/stores/redis.js'
import { sessionStoreSuite } from '../../../lib/testing/index.js'
import { unlessFound } from '../../helpers/programs.js'
import { redisServer } from '../../helpers/redis-server.js'

const skip = unlessFound('Redis')

t.test('the contract', { skip }, async (t) => {
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
