// The wrong guesses of a session, which processes count together in Redis.
import t from 'tap'
import { SessionGuesses } from '../../lib/throttle/guesses.js'
import { openRedisCounters } from '../../lib/throttle/redis-counters.js'
import { defaults } from '../../lib/options/defaults.js'
import { FakeRedis } from '../helpers/fake-redis.js'
import { fakeLog } from '../helpers/load.js'

t.test('processes count the wrong guesses of a session together', async (t) => {
  const redis = new FakeRedis()
  const settings = { ...defaults.throttle, keyPrefix: 'guesses' } as never
  const [one, other] = [0, 1].map(
    () => new SessionGuesses(openRedisCounters(settings, redis, fakeLog().log)),
  ) as [SessionGuesses, SessionGuesses]
  t.equal(await one.count('a', 'password'), 1)
  t.equal(await other.count('a', 'code'), 2)
  t.equal(await one.count('a', 'code'), 3)
  t.equal(await one.count('b', 'code'), 1, 'another session')
  await other.takeBack('a', 'code')
  t.equal(await one.count('a', 'password'), 3)
  await other.carry('a', 'c')
  t.equal(await one.count('c', 'passkey'), 4, 'the session that replaces it')
  await other.forget('c', 'password')
  t.equal(await one.count('c', 'passkey'), 3)
  redis.mode = 'rejects'
  t.equal(await one.count('c', 'passkey'), 3, 'what this process has counted itself')
})
