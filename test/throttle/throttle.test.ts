import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import t from 'tap'
import { Attempt } from '../../lib/throttle/attempt.js'
import { openRedisCounters } from '../../lib/throttle/redis-counters.js'
import { Throttle } from '../../lib/throttle/throttle.js'
import type { ResolvedThrottle } from '../../lib/options/resolve.js'
import { FakeRedis } from '../helpers/fake-redis.js'
import { fakeLog, fakeRequest, movableClock, settle } from '../helpers/load.js'

const require = createRequire(import.meta.url)
const { lines, log } = fakeLog()
t.beforeEach(() => void (lines.length = 0))

const defaults = { perUsername: 3, perAddress: 5, window: 900, keyPrefix: 'test' }

function throttleOf(more: Partial<ResolvedThrottle> = {}): Throttle {
  const settings = { ...defaults, ...more }
  const { redis } = settings
  return new Throttle(
    settings,
    redis === undefined ? null : openRedisCounters(settings, redis, log),
  )
}

const open = (throttle: Throttle, name = 'alice', ip = '192.0.2.1'): Attempt =>
  new Attempt({ throttle, cache: null }, name, '', fakeRequest(ip).request)

async function fail(throttle: Throttle, times: number, name = 'alice', ip?: string): Promise<void> {
  for (let count = 0; count < times; count += 1) await open(throttle, name, ip).commitFailure()
}

async function isRejected(throttle: Throttle, name = 'alice', ip?: string): Promise<boolean> {
  try {
    await open(throttle, name, ip).rejectIfThrottled(true)
    return false
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode === 429) return true
    throw error
  }
}

t.test('rate-limiter-flexible/lib/RateLimiterRedis.js can be imported by itself', async (t) => {
  const file = 'rate-limiter-flexible/lib/RateLimiterRedis.js'
  t.ok(existsSync(require.resolve(file)))
  t.notOk(require.cache[require.resolve('rate-limiter-flexible')], 'its main file loads them all')
  t.equal(((await import(file)) as { default: unknown }).default, require(file))
})

t.test('an attempt at an address without failures needs no lookup', async (t) => {
  const throttle = throttleOf()
  t.equal(open(throttle).rejectIfThrottled(), undefined)
  await fail(throttle, 1)
  t.equal(open(throttle, 'alice', '192.0.2.2').rejectIfThrottled(), undefined)
  t.ok(open(throttle).rejectIfThrottled() instanceof Promise)
})

t.test('failures are forgotten when the window since the first one has passed', async (t) => {
  const start = Date.now()
  let ahead = 0
  t.intercept(Date, 'now', { value: () => start + ahead })
  const throttle = throttleOf({ window: 100 })
  await fail(throttle, 2, 'bob')
  ahead = 30_000
  await fail(throttle, 3)
  const retryAfter = (name: string): Promise<unknown> =>
    Promise.resolve(open(throttle, name).rejectIfThrottled()).then(
      () => null,
      (error: { retryAfter: number }) => error.retryAfter,
    )
  t.equal(await retryAfter('alice'), 100, 'of the username, which waits longer')
  t.equal(await retryAfter('carol'), 70, 'of the address')
  ahead = 100_001
  t.strictSame([await retryAfter('carol'), await retryAfter('alice')], [null, 30])
  ahead = 130_001
  t.equal(await retryAfter('alice'), null)
  ahead = 230_001
  t.equal(open(throttle).rejectIfThrottled(), undefined, 'nor is the address looked up')
})

const broken: Record<string, Partial<FakeRedis>> = {
  'rejects everything': { mode: 'rejects' },
  'rejects writes': { mode: 'rejects writes' },
  'is not connected': { status: 'reconnecting' },
  hangs: { mode: 'hangs' },
}

for (const [name, state] of Object.entries(broken)) {
  t.test(`a process whose Redis ${name} counts alone, with all that it has seen`, async (t) => {
    const clock = movableClock(t)
    const redis = new FakeRedis()
    const throttle = throttleOf({ redis, perAddress: 100 })
    await fail(throttle, 2)
    Object.assign(redis, state)
    t.equal(await isRejected(throttle), false)
    await fail(throttle, 1)
    t.equal(await isRejected(throttle), true)
    await open(throttle).succeeded()
    for (const end of redis.hanging) end(new Error('Connection is closed.'))
    await settle()
    t.equal(lines.length, 1, 'one line in the log')
    t.match(lines[0], { level: 'error', args: [{ err: { message: /\w/ } }, /counts alone/] })
    t.notMatch(JSON.stringify(lines), /test:|192\.0/, 'without a key of a counter')
    await clock.advance(60_001)
    await fail(throttle, 1)
    t.equal(lines.length, 2, 'again after a minute')

    Object.assign(redis, { status: 'ready', mode: 'answers' })
    await fail(throttle, 3, 'bob')
    t.equal(await isRejected(throttleOf({ redis, perAddress: 100 }), 'bob'), true, 'shared again')
  })
}

t.test('a request waits for a slow Redis once, and not while it is slow', async (t) => {
  const redis = Object.assign(new FakeRedis(), { mode: 'hangs' })
  const throttle = throttleOf({ redis })
  const real = setTimeout
  const waits: unknown[] = []
  const value = (work: () => void, milliseconds: number) => {
    waits.push(milliseconds)
    return real(work, milliseconds)
  }
  t.intercept(globalThis, 'setTimeout', { value })
  const longest = async (work: () => Promise<unknown> | undefined): Promise<number> => {
    waits.length = 0
    await work()
    return Math.max(...waits.map(Number))
  }
  t.ok((await longest(() => open(throttle).rejectIfThrottled(true))) >= 100)
  t.ok((await longest(() => open(throttle).commitFailure())) < 100)
  t.ok((await longest(() => open(throttle).succeeded())) < 100)
  const other = openRedisCounters({ ...defaults, window: 60 }, redis, log)
  t.ok((await longest(() => other.get('a'))) < 100, 'nor for the counts of e-mails')
  redis.mode = 'answers'
  await open(throttle).commitFailure()
  t.ok((await longest(() => open(throttle).commitFailure())) >= 100, 'until it answers in time')
})

t.test('an address over its limit stays throttled when Redis is emptied', async (t) => {
  const redis = new FakeRedis()
  const throttle = throttleOf({ redis, perAddress: 3 })
  for (const name of ['a', 'b', 'c']) await fail(throttle, 1, name)
  redis.counters.clear()
  t.equal(await isRejected(throttle), true)
})

t.test('a lazy Redis client is connected at startup', async (t) => {
  let asked = 0
  const connect = async (): Promise<void> => {
    asked += 1
    throw new Error('refused')
  }
  throttleOf({ redis: Object.assign(new FakeRedis(), { status: 'wait', connect }) })
  await settle()
  t.strictSame([asked, lines.length], [1, 1])
})

t.test('the oldest counters are forgotten when there are too many', async (t) => {
  const throttle = throttleOf()
  await fail(throttle, 3)
  const addressOf = (index: number) => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`
  // Each is counted by name, by address, and as an address with failures.
  for (let index = 0; index < 16_000; index += 1) await fail(throttle, 1, 'bob', addressOf(index))
  t.equal(await isRejected(throttle), true)
  for (let index = 0; index < 1000; index += 1)
    await fail(throttle, 1, 'bob', addressOf(20_000 + index))
  t.equal(await isRejected(throttle), false)
  await fail(throttle, 2, 'bob', addressOf(15_999))
  t.equal(await isRejected(throttle, 'bob', addressOf(15_999)), true, 'later ones are kept')
})

t.test('an attempt that gets a 429 is not counted', async (t) => {
  const throttle = throttleOf({ perUsername: 1, perAddress: 3 })
  await fail(throttle, 1)
  for (let count = 0; count < 5; count += 1) {
    const attempt = open(throttle)
    const throttled = attempt.rejectIfThrottled()
    attempt.countInAdvance()
    await t.rejects(Promise.resolve(throttled), { code: 'ERR_AUTH_TOO_MANY_ATTEMPTS' })
  }
  t.equal(await isRejected(throttle, 'bob'), false, 'the address is not full')
  t.equal(throttle.throttled, 5)
})
