// The counters by themselves: test/flows/throttle.test.ts has what clients see, and redis.test.ts a real Redis.
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import * as fc from 'fast-check'
import t from 'tap'
import { PasswordAttempt } from '../../lib/passwords/attempt.js'
import { openRedisCounters } from '../../lib/throttle/redis-counters.js'
import { Throttle } from '../../lib/throttle/throttle.js'
import type { ResolvedThrottle } from '../../lib/options/resolve.js'
import { FakeRedis } from '../helpers/fake-redis.js'
import { fakeLog, fakeRequest, fateOf, movableClock, settle, until } from '../helpers/load.js'

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

const open = (throttle: Throttle, name = 'alice', ip = '192.0.2.1'): PasswordAttempt =>
  new PasswordAttempt({ throttle, cache: null }, name, '', fakeRequest(ip).request)

async function fail(throttle: Throttle, times: number, name = 'alice', ip?: string): Promise<void> {
  for (let count = 0; count < times; count += 1) await open(throttle, name, ip).commitFailure()
}

async function isRefused(throttle: Throttle, name = 'alice', ip?: string): Promise<boolean> {
  try {
    await open(throttle, name, ip).refuseIfThrottled(true)
    return false
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode === 429) return true
    throw error
  }
}

t.test(
  'rate-limiter-flexible/lib/RateLimiterRedis.js is a file that may be imported',
  async (t) => {
    const file = 'rate-limiter-flexible/lib/RateLimiterRedis.js'
    t.ok(existsSync(require.resolve(file)))
    t.notOk(require.cache[require.resolve('rate-limiter-flexible')], 'its main file loads them all')
    t.equal(((await import(file)) as { default: unknown }).default, require(file))
  },
)

t.test('without failures nothing is looked up', async (t) => {
  const throttle = throttleOf()
  t.equal(open(throttle).refuseIfThrottled(), undefined)
  await fail(throttle, 1)
  t.equal(open(throttle, 'alice', '192.0.2.2').refuseIfThrottled(), undefined)
  t.ok(open(throttle).refuseIfThrottled() instanceof Promise)
})

const step = fc.record({
  do: fc.constantFrom('fail', 'fail', 'succeed'),
  name: fc.constantFrom('alice', ' Alice ', 'ＡＬＩＣＥ', 'bob'),
  ip: fc.constantFrom('192.0.2.1', '::ffff:192.0.2.1', '2001:db8::1', '2001:db8::2'),
})

for (const shared of [false, true]) {
  t.test(`any failures and successes, ${shared ? 'in two processes' : 'in one'}`, async (t) => {
    let refusals = 0
    const property = fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 12 }),
      fc.array(step, { maxLength: 60, size: 'max' }),
      async (perUsername, perAddress, steps) => {
        const settings = { perUsername, perAddress, ...(shared && { redis: new FakeRedis() }) }
        const throttles = shared ? [0, 1].map(() => throttleOf(settings)) : [throttleOf(settings)]
        const counts = new Map<string, number>()
        for (const [index, { do: action, name, ip }] of steps.entries()) {
          const throttle = throttles[index % throttles.length] as Throttle
          const address = ip.includes('192') ? 'IPv4' : 'IPv6'
          const user = `${name.includes('b') ? 'bob' : 'alice'} ${address}`
          const count = (key: string): number => counts.get(key) ?? 0
          const expected = count(user) >= perUsername || count(address) >= perAddress
          if ((await isRefused(throttle, name, ip)) !== expected) throw new Error(`step ${index}`)
          if (expected) {
            refusals += 1
          } else if (action === 'succeed') {
            await open(throttle, name, ip).succeeded()
            counts.delete(user)
          } else {
            await fail(throttle, 1, name, ip)
            for (const key of [user, address]) counts.set(key, count(key) + 1)
          }
        }
      },
    )
    await fc.assert(property, { numRuns: 40 })
    t.ok(refusals > 50, 'the limits are reached')
  })
}

t.test('failures are forgotten after the window, counted from the first', async (t) => {
  const start = Date.now()
  let ahead = 0
  t.intercept(Date, 'now', { value: () => start + ahead })
  const throttle = throttleOf({ window: 100 })
  await fail(throttle, 2, 'bob')
  ahead = 30_000
  await fail(throttle, 3)
  const retryAfter = (name: string): Promise<unknown> =>
    Promise.resolve(open(throttle, name).refuseIfThrottled()).then(
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
  t.equal(open(throttle).refuseIfThrottled(), undefined, 'nor is the address looked up')
})

const broken: Record<string, Partial<FakeRedis>> = {
  'rejects everything': { mode: 'rejects' },
  'refuses writes': { mode: 'refuses writes' },
  'is not connected': { status: 'reconnecting' },
  hangs: { mode: 'hangs' },
}

for (const [name, state] of Object.entries(broken)) {
  t.test(
    `a Redis that ${name}: this process counts alone, with all that it has seen`,
    async (t) => {
      const clock = movableClock(t)
      const redis = new FakeRedis()
      const throttle = throttleOf({ redis, perAddress: 100 })
      await fail(throttle, 2)
      Object.assign(redis, state)
      t.equal(await isRefused(throttle), false)
      await fail(throttle, 1)
      t.equal(await isRefused(throttle), true)
      await open(throttle).succeeded()
      t.equal(lines.length, 1, 'one line in the log')
      t.match(lines[0], { level: 'error', args: [{ err: { message: /\w/ } }, /counts alone/] })
      t.notMatch(JSON.stringify(lines), /test:|192\.0/, 'without a key of a counter')
      await clock.advance(60_001)
      await fail(throttle, 1)
      t.equal(lines.length, 2, 'again after a minute')

      Object.assign(redis, { status: 'ready', mode: 'answers' })
      await fail(throttle, 3, 'bob')
      t.equal(await isRefused(throttleOf({ redis, perAddress: 100 }), 'bob'), true, 'shared again')
    },
  )
}

t.test('a Redis that hangs is not waited for, and its late errors do no harm', async (t) => {
  const redis = Object.assign(new FakeRedis(), { mode: 'hangs' })
  const throttle = throttleOf({ redis })
  const all = fateOf(Promise.all([isRefused(throttle), fail(throttle, 1), fail(throttle, 1)]))
  await until(() => all.state === 'resolved', 'it goes on without Redis')
  for (const end of redis.hanging) end(new Error('Connection is closed.'))
  await settle()
  t.equal(lines.length, 1)
})

t.test('a Redis that was emptied does not end the limit of an address', async (t) => {
  const redis = new FakeRedis()
  const throttle = throttleOf({ redis, perAddress: 3 })
  for (const name of ['a', 'b', 'c']) await fail(throttle, 1, name)
  redis.counters.clear()
  t.equal(await isRefused(throttle), true)
})

t.test('a client that waits for its first command is connected', async (t) => {
  let asked = 0
  const connect = async (): Promise<void> => {
    asked += 1
    throw new Error('refused')
  }
  throttleOf({ redis: Object.assign(new FakeRedis(), { status: 'wait', connect }) })
  await settle()
  t.strictSame([asked, lines.length], [1, 1])
})

t.test('the counters have a limit: the oldest are forgotten first', async (t) => {
  const throttle = throttleOf()
  await fail(throttle, 3)
  const addressOf = (index: number): string =>
    `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`
  // Each is counted by name, by address, and as an address with failures.
  for (let index = 0; index < 16_000; index += 1) await fail(throttle, 1, 'bob', addressOf(index))
  t.equal(await isRefused(throttle), true)
  for (let index = 0; index < 1000; index += 1)
    await fail(throttle, 1, 'bob', addressOf(20_000 + index))
  t.equal(await isRefused(throttle), false)
  await fail(throttle, 2, 'bob', addressOf(15_999))
  t.equal(await isRefused(throttle, 'bob', addressOf(15_999)), true, 'later ones are kept')
})

t.test('what is refused does not count', async (t) => {
  const throttle = throttleOf({ perUsername: 1, perAddress: 3 })
  await fail(throttle, 1)
  for (let count = 0; count < 5; count += 1) {
    const attempt = open(throttle)
    const refused = attempt.refuseIfThrottled()
    attempt.countInAdvance()
    await t.rejects(Promise.resolve(refused), { code: 'ERR_AUTH_TOO_MANY_ATTEMPTS' })
  }
  t.equal(await isRefused(throttle, 'bob'), false, 'the address is not full')
  t.equal(throttle.throttled, 5)
})
