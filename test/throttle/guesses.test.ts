import t from 'tap'
import { SessionGuesses } from '../../lib/throttle/guesses.js'
import { openRedisCounters } from '../../lib/throttle/redis-counters.js'
import { FakeRedis } from '../helpers/fake-redis.js'
import { fakeLog } from '../helpers/load.js'

const { log } = fakeLog()
const settings = { perUsername: 3, perAddress: 5, window: 900, keyPrefix: 'test' }

for (const redis of [null, new FakeRedis()]) {
  const title = redis === null ? 'in one process' : 'in two processes'
  t.test(`wrong guesses of a session add up, whatever their kind, ${title}`, async (t) => {
    const counters = redis === null ? null : openRedisCounters(settings, redis, log)
    const one = new SessionGuesses(counters)
    const other = redis === null ? one : new SessionGuesses(counters)
    t.equal(await one.count('s', 'password'), 1)
    t.equal(await other.count('s', 'code'), 2)
    t.equal(await other.count('s', 'password'), 3)
    t.equal(await one.count('t', 'code'), 1, 'another session')
    await other.takeBack('s', 'password')
    t.equal(await one.count('s', 'passkey'), 3, 'after one was taken back')
    await one.carry('s', 'next')
    t.equal(await other.count('next', 'password'), 4, 'the session that replaces it')
    await one.forget('next', 'password')
    t.equal(await other.count('next', 'code'), 3, 'the other kinds')
    t.notOk(one.isOver('s'))
    one.end('s')
    t.strictSame([one.isOver('s'), one.isOver('next')], [true, false])
  })
}
