import t from 'tap'
import { Counters } from '../../lib/throttle/counters.js'
import { quotasIn, type Quota } from '../../lib/throttle/quotas.js'
import type { RedisCounters } from '../../lib/throttle/redis-counters.js'
import { clockOf } from '../helpers/clock.js'

const alone = async () => null
const thirtyOf = (key: string): Quota => ({ key, most: 30, seconds: 86_400 })
const isCounted = (wait: number): boolean => wait === 0

t.test('many other keys do not drop the count of one', async (t) => {
  const quotas = quotasIn(new Counters(86_400, true), alone)
  for (let turn = 0; turn < 30; turn += 1) await quotas.count(thirtyOf('alice'))
  for (let turn = 0; turn < 100_000; turn += 1) await quotas.count(thirtyOf(`${turn}`))
  t.notOk(isCounted(await quotas.count(thirtyOf('alice'))))
  t.notOk(isCounted(await quotas.count(thirtyOf('another'))), 'there is no room')
  clockOf(t).advance(86_401)
  t.intercept(performance, 'now', { value: () => 1e9 })
  t.ok(isCounted(await quotas.count(thirtyOf('another'))))
})

t.test('a count is kept where Redis has lost it, or is away for a while', async (t) => {
  let [points, isThere] = [0, true]
  const redis = {
    penalty: async () =>
      isThere ? { consumedPoints: (points += 1), msBeforeNext: 600_000 } : null,
    reward: async () => null,
  }
  const quotas = quotasIn(new Counters(600, true), async () => redis as unknown as RedisCounters)
  const five = { key: 'request', most: 5, seconds: 600 }
  const counted = []
  for (let turn = 0; turn < 6; turn += 1) {
    isThere = turn % 2 === 0
    if (turn === 3) points = 0
    counted.push(isCounted(await quotas.count(five)))
  }
  t.strictSame(counted, [true, true, true, true, true, false])
})

t.test('codes that were right take no room', async (t) => {
  const memory = new Counters(86_400, true)
  const quotas = quotasIn(memory, alone)
  for (let turn = 0; turn < 100_001; turn += 1) {
    await quotas.count(thirtyOf(`${turn}`))
    await quotas.takeBack(thirtyOf(`${turn}`))
  }
  t.ok(memory.isEmpty)
})

t.test('with Redis, which has room, they take no more memory', async (t) => {
  const counted = { consumedPoints: 1, msBeforeNext: 600_000 }
  const redis = { penalty: async () => counted, reward: async () => counted }
  const memory = new Counters(86_400, true)
  const quotas = quotasIn(memory, async () => redis as unknown as RedisCounters)
  for (let turn = 0; turn < 100_000; turn += 1) await quotas.count(thirtyOf(`${turn}`))
  t.ok(isCounted(await quotas.count(thirtyOf('another'))))
  t.equal(memory.get('another'), null)
  t.not(memory.get('0'), null)
})
