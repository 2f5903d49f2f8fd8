// Also holds lib/throttle/attempt.ts.
import * as fc from 'fast-check'
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import { PasswordAttempt } from '../../lib/throttle/attempt.js'
import { addressOf } from '../../lib/throttle/client-key.js'
import { SharedCounters } from '../../lib/throttle/shared-counters.js'
import { Throttle } from '../../lib/throttle/throttle.js'
import { FakeRedis } from '../helpers/fake-redis.js'
import type { ResolvedThrottle } from '../../lib/options/resolve.js'
import { fakeLog, fakeRequest, fateOf, movableClock, settle, until } from '../helpers/load.js'

const { log } = fakeLog()

/** What attempts do with one throttle, for a username and a request. */
class Attempts {
  readonly #throttle: Throttle

  constructor(settings: ResolvedThrottle, logger: typeof log) {
    const { redis } = settings
    const shared = redis === undefined ? null : new SharedCounters(settings, redis, logger)
    this.#throttle = new Throttle(settings, shared)
  }

  get throttled(): number {
    return this.#throttle.throttled
  }

  open(username: string, request: FastifyRequest): PasswordAttempt {
    return new PasswordAttempt({ throttle: this.#throttle, accepted: null }, username, '', request)
  }

  check(username: string, request: FastifyRequest): Promise<void> | undefined {
    return this.open(username, request).begin()
  }

  async checkShared(username: string, request: FastifyRequest): Promise<void> {
    await this.open(username, request).begin(true)
  }

  failed(username: string, request: FastifyRequest): Promise<void> {
    return this.open(username, request).failed()
  }

  async succeeded(username: string, request: FastifyRequest): Promise<void> {
    await this.open(username, request).succeeded()
  }

  /** Whether a success has something to forget. */
  async mayForget(request: FastifyRequest, remembered: boolean): Promise<boolean> {
    let asked = false
    const { forget } = Throttle.prototype
    this.#throttle.forget = async (...args) => {
      asked = true
      await forget.apply(this.#throttle, args)
    }
    await this.open('nobody', request).succeeded(remembered)
    return asked
  }
}

function throttleOf(more: Partial<ResolvedThrottle> = {}, logger = log): Attempts {
  return new Attempts(
    { perUsername: 3, perAddress: 5, window: 900, keyPrefix: 'test', ...more },
    logger,
  )
}

const at = (ip: string): ReturnType<typeof fakeRequest>['request'] => fakeRequest(ip).request
const here = at('192.0.2.1')
const there = at('192.0.2.2')

/** Whether a throttle refuses: the error of the refusal, or null. */
async function refusal(promise: Promise<void> | undefined): Promise<unknown> {
  try {
    await promise
    return null
  } catch (error) {
    return error
  }
}

async function fail(
  throttle: Attempts,
  times: number,
  username = 'alice',
  request = here,
): Promise<void> {
  for (let count = 0; count < times; count += 1) await throttle.failed(username, request)
}

const tooMany = {
  code: 'ERR_AUTH_TOO_MANY_ATTEMPTS',
  statusCode: 429,
  key: 'auth.too-many-attempts',
}

t.test('addresses', async (t) => {
  const rows: [ip: string | undefined, expected: string][] = [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:C000:0201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:c000:201', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['fe80::2%eth1', 'fe80:0:0:0::/64'],
    [undefined, 'unknown'],
    ['proxy-7', 'unknown'],
    ['not:an:address', 'unknown'],
    ['x'.repeat(10_000), 'unknown'],
    ['', 'unknown'],
    ['192.0.2.1:50123', '192.0.2.1'],
    ['[2001:db8::1]:50123', '2001:db8:0:0::/64'],
  ]
  for (const [ip, expected] of rows) t.equal(addressOf(ip), expected, String(ip))
})

t.test('without failures nothing is looked up', async (t) => {
  const throttle = throttleOf()
  t.equal(throttle.check('alice', here), undefined)
  t.equal(await throttle.mayForget(here, false), false)
  await fail(throttle, 1)
  t.equal(throttle.check('alice', there), undefined, 'at another address')
  t.ok(throttle.check('alice', here) instanceof Promise)
  for (const cheaply of [false, true]) {
    t.equal(await throttle.mayForget(here, cheaply), true)
    t.equal(await throttle.mayForget(there, cheaply), false)
  }
})

t.test('a username at an address', async (t) => {
  const throttle = throttleOf()
  await fail(throttle, 2)
  t.equal(await refusal(throttle.check('alice', here)), null)
  await fail(throttle, 1)
  t.match(await refusal(throttle.check('alice', here)), tooMany)
  t.equal(await refusal(throttle.check('bob', here)), null, 'another name')
  t.equal(await refusal(throttle.check('alice', there)), null, 'another address')
  t.equal(throttle.throttled, 1)
})

t.test('an address, whatever the usernames', async (t) => {
  const throttle = throttleOf()
  for (const name of ['a', 'b', 'c', 'd']) await fail(throttle, 1, name)
  t.equal(await refusal(throttle.check('e', here)), null)
  await fail(throttle, 1, 'e')
  for (const name of ['a', 'e', 'new']) t.match(await refusal(throttle.check(name, here)), tooMany)
  t.equal(await refusal(throttle.check('a', there)), null)
  t.equal(throttle.throttled, 3)
})

t.test('the addresses of one IPv6 network are one', async (t) => {
  const throttle = throttleOf()
  for (const host of ['1', '2', 'ffff:ffff:ffff:ffff']) {
    await fail(throttle, 1, 'alice', at(`2001:db8:1:2:${host.includes(':') ? '' : ':'}${host}`))
  }
  t.match(await refusal(throttle.check('alice', at('2001:db8:1:2::9'))), tooMany)
  t.equal(await refusal(throttle.check('alice', at('2001:db8:1:3::9'))), null)
})

t.test('an IPv6 /48 network: ten times the limit of an address', async (t) => {
  const throttle = throttleOf({ perAddress: 2 })
  const hosts = Array.from({ length: 21 }, (_, at) => at.toString(16))
  const last = at('2001:db8:1:14::9')
  for (const host of hosts.slice(0, 19)) {
    await fail(throttle, 1, `guess ${host}`, at(`2001:db8:1:${host}::1`))
  }
  t.equal(await refusal(throttle.check('alice', last)), null, '19 failures')
  await fail(throttle, 1, 'the last guess', at('2001:db8:1:13::1'))
  t.match(await refusal(throttle.check('alice', last)), tooMany, 'also where nothing has failed')
  t.match(await refusal(throttle.checkShared('alice', last)), tooMany)
  t.equal(await refusal(throttle.check('alice', at('2001:db8:2:14::9'))), null, 'another network')

  const redis = new FakeRedis()
  const [a, b] = [throttleOf({ redis, perAddress: 1 }), throttleOf({ redis, perAddress: 1 })]
  for (const host of hosts.slice(0, 10)) {
    await fail(a, 1, `guess ${host}`, at(`2001:db8:1:${host}::1`))
  }
  t.match(await refusal(b.checkShared('alice', last)), tooMany, 'shared')
  t.ok(redis.counters.has('test:network:2001:db8:1::/48'))
})

t.test('a success resets its username, and not its address', async (t) => {
  const throttle = throttleOf()
  await fail(throttle, 2)
  await fail(throttle, 2, 'bob')
  await throttle.succeeded('alice', here)
  await fail(throttle, 1, 'bob')
  t.match(await refusal(throttle.check('alice', here)), tooMany, 'the address has 5 failures')

  const roomy = throttleOf({ perAddress: 100 })
  await fail(roomy, 2)
  await fail(roomy, 2, 'bob')
  await fail(roomy, 2, 'alice', there)
  await roomy.succeeded('alice', here)
  await fail(roomy, 2)
  t.equal(await refusal(roomy.check('alice', here)), null)
  await fail(roomy, 1)
  t.match(await refusal(roomy.check('alice', here)), tooMany)
  await fail(roomy, 1, 'bob')
  t.match(await refusal(roomy.check('bob', here)), tooMany, 'not that of another name')
  await fail(roomy, 1, 'alice', there)
  t.match(await refusal(roomy.check('alice', there)), tooMany, 'nor of another address')
})

t.test('names that a database may take for one are one', async (t) => {
  const throttle = throttleOf({ perUsername: 9, perAddress: 100 })
  for (const name of [
    'Alice',
    ' ALICE',
    'alice ',
    'ａｌｉｃｅ',
    '\u00a0alice',
    'aLiCe',
    'álice',
    'ali\u200bce',
    'a\u0301lice',
  ]) {
    t.equal(await refusal(throttle.check(name, here)), null, name)
    await fail(throttle, 1, name)
  }
  t.match(await refusal(throttle.check('alice', here)), tooMany)
  t.equal(await refusal(throttle.check('alicе', here)), null, 'a Cyrillic letter is another')
  t.equal(await refusal(throttle.check('al ice', here)), null)
})

t.test('a name cannot pretend to be a name at another address', async (t) => {
  const throttle = throttleOf({ perAddress: 100 })
  await fail(throttle, 3, 'alice@192.0.2.2', here)
  t.equal(await refusal(throttle.check('alice', there)), null)
  await fail(throttle, 1, 'x', there)
  t.equal(await refusal(throttle.check('alice', there)), null)
})

t.test('failures are forgotten after the window, counted from the first', async (t) => {
  const start = Date.now()
  let ahead = 0
  t.intercept(Date, 'now', { value: () => start + ahead })
  const throttle = throttleOf({ window: 100 })
  await fail(throttle, 1)
  ahead = 60_500
  await fail(throttle, 2)
  t.match(await refusal(throttle.check('alice', here)), { ...tooMany, retryAfter: 40 })
  ahead = 99_999
  t.match(await refusal(throttle.check('alice', here)), { retryAfter: 1 })
  ahead = 100_001
  t.equal(await refusal(throttle.check('alice', here)), null)
  await fail(throttle, 2)
  t.equal(await refusal(throttle.check('alice', here)), null, 'and counting begins anew')
  await fail(throttle, 1)
  t.match(await refusal(throttle.check('alice', here)), { retryAfter: 100 })
})

t.test('the longer of two waits is told', async (t) => {
  const start = Date.now()
  let ahead = 0
  t.intercept(Date, 'now', { value: () => start + ahead })
  const throttle = throttleOf({ window: 100 })
  await fail(throttle, 2, 'bob')
  ahead = 30_000
  await fail(throttle, 3)
  t.match(await refusal(throttle.check('alice', here)), { retryAfter: 100 }, 'the username')
  t.match(await refusal(throttle.check('carol', here)), { retryAfter: 70 }, 'the address')
})

t.test('a clock that is set back or forward neither lets in for ever nor keeps out', async (t) => {
  const start = Date.now()
  let ahead = 0
  t.intercept(Date, 'now', { value: () => start + ahead })
  const throttle = throttleOf({ window: 100 })
  await fail(throttle, 3)
  ahead = -50_000
  t.match(await refusal(throttle.check('alice', here)), tooMany)
  ahead = 3_600_000
  t.equal(await refusal(throttle.check('alice', here)), null)
})

t.test('a store that was emptied does not end the limit of an address', async (t) => {
  const redis = new FakeRedis()
  const throttle = throttleOf({ redis, perAddress: 3 })
  for (const name of ['a', 'b', 'c']) await fail(throttle, 1, name)
  redis.counters.clear()
  t.match(await refusal(throttle.check('alice', here)), tooMany)
})

t.test('what is kept does not tell names', async (t) => {
  const redis = new FakeRedis()
  const throttle = throttleOf({ redis })
  await fail(throttle, 1, 'alice@example.org')
  const keys = [...redis.counters.keys()]
  t.equal(keys.length, 2)
  t.match(keys[0], /^test:user:[\w-]{43}@192\.0\.2\.1$/)
  t.equal(keys[1], 'test:address:192.0.2.1')
})

type Step = {
  do: 'fail' | 'succeed' | 'check'
  process: number
  name: string
  ip: string
}

const variants: Record<string, readonly string[]> = {
  alice: ['alice', ' Alice ', 'ＡＬＩＣＥ'],
  bob: ['bob', 'BOB'],
  nobody: ['nobody'],
}
const addresses: Record<string, readonly string[]> = {
  one: ['192.0.2.1', '::ffff:192.0.2.1'],
  two: ['2001:db8::1', '2001:db8::2', '2001:DB8:0:0:1::'],
  three: ['2001:db8:0:1::1'],
}

const stepOf = (processes: number): fc.Arbitrary<Step> =>
  fc.record({
    do: fc.constantFrom('fail', 'fail', 'succeed', 'check'),
    process: fc.nat(processes - 1),
    name: fc.constantFrom(...Object.values(variants).flat()),
    ip: fc.constantFrom(...Object.values(addresses).flat()),
  })
const stepsOf = (processes: number): fc.Arbitrary<Step[]> =>
  fc.array(stepOf(processes), { maxLength: 120, size: 'max' })

const groupOf = (groups: Record<string, readonly string[]>, value: string): string =>
  Object.entries(groups).find(([, members]) => members.includes(value))?.[0] ?? 'none'

/** The addresses that share an IPv6 network of 48 bits. */
const network: ReadonlySet<string> = new Set(['two', 'three'])

/** Counters as they are meant to be. */
class Model {
  readonly users = new Map<string, number>()
  readonly failures = new Map<string, number>()
  inNetwork = 0

  apply({ do: action, name, ip }: Step): void {
    const address = groupOf(addresses, ip)
    const user = `${groupOf(variants, name)} at ${address}`
    if (action === 'succeed') this.users.delete(user)
    if (action !== 'fail') return
    this.users.set(user, (this.users.get(user) ?? 0) + 1)
    this.failures.set(address, (this.failures.get(address) ?? 0) + 1)
    if (network.has(address)) this.inNetwork += 1
  }

  refuses({ name, ip }: Step, perUsername: number, perAddress: number): boolean {
    const address = groupOf(addresses, ip)
    const user = `${groupOf(variants, name)} at ${address}`
    return (
      (this.users.get(user) ?? 0) >= perUsername ||
      (this.failures.get(address) ?? 0) >= perAddress ||
      (network.has(address) && this.inNetwork >= 10 * perAddress)
    )
  }
}

async function follow(
  throttles: readonly Attempts[],
  models: readonly Model[],
  step: Step,
  limits: readonly [number, number],
  shared: boolean,
): Promise<boolean> {
  const throttle = throttles[step.process] as Attempts
  const model = models[shared ? 0 : step.process] as Model
  const request = at(step.ip)
  if (step.do === 'fail') await throttle.failed(step.name, request)
  if (step.do === 'succeed') await throttle.succeeded(step.name, request)
  model.apply(step)
  const refused = await refusal(
    shared ? throttle.checkShared(step.name, request) : throttle.check(step.name, request),
  )
  const expected = model.refuses(step, ...limits)
  if ((refused !== null) !== expected) {
    throw new Error(`${JSON.stringify(step)}: refused ${refused !== null}, expected ${expected}`)
  }
  return expected
}

const limits = fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 12 }))

t.test('any sequence of failures and successes: one process', async (t) => {
  let refusals = 0
  await fc.assert(
    fc.asyncProperty(limits, stepsOf(1), async ([perUsername, perAddress], steps) => {
      const throttle = throttleOf({ perUsername, perAddress })
      const model = new Model()
      let refused = 0
      for (const step of steps) {
        if (await follow([throttle], [model], step, [perUsername, perAddress], false)) refused += 1
      }
      if (throttle.throttled !== refused) throw new Error(`counted ${throttle.throttled}`)
      refusals += refused
    }),
    { numRuns: 40 },
  )
  t.ok(refusals > 100, 'the sequences reach the limits')
})

t.test('any sequence of failures and successes: processes that share a store', async (t) => {
  let refusals = 0
  await fc.assert(
    fc.asyncProperty(limits, stepsOf(3), async ([perUsername, perAddress], steps) => {
      const redis = new FakeRedis()
      const throttles = [0, 1, 2].map(() => throttleOf({ perUsername, perAddress, redis }))
      const model = new Model()
      for (const step of steps) {
        if (await follow(throttles, [model], step, [perUsername, perAddress], true)) refusals += 1
      }
    }),
    { numRuns: 15 },
  )
  t.ok(refusals > 100)
})

t.test('any sequence of failures and successes: processes whose store is down', async (t) => {
  let refusals = 0
  await fc.assert(
    fc.asyncProperty(limits, stepsOf(2), async ([perUsername, perAddress], steps) => {
      const redis = Object.assign(new FakeRedis(), { mode: 'rejects' })
      const throttles = [0, 1].map(() => throttleOf({ perUsername, perAddress, redis }))
      const models = [new Model(), new Model()]
      for (const step of steps) {
        const throttle = throttles[step.process] as Attempts
        await follow(throttles, models, step, [perUsername, perAddress], false)
        const sharedRefusal = await refusal(throttle.checkShared(step.name, at(step.ip)))
        if (sharedRefusal !== null) refusals += 1
        const expected = models[step.process]?.refuses(step, perUsername, perAddress)
        if ((sharedRefusal !== null) !== expected) throw new Error('checkShared differs')
      }
    }),
    { numRuns: 15 },
  )
  t.ok(refusals > 50)
})

t.test('shared: what another process counted is refused, too', async (t) => {
  const redis = new FakeRedis()
  const [a, b] = [throttleOf({ redis }), throttleOf({ redis })]
  await fail(a, 2)
  await fail(b, 1)
  t.equal(await refusal(b.check('alice', here)), null, 'a process alone does not know')
  t.match(await refusal(b.checkShared('alice', here)), tooMany)
  t.match(await refusal(a.checkShared('alice', here)), tooMany)
  t.equal(await refusal(a.checkShared('alice', there)), null)
  t.strictSame([a.throttled, b.throttled], [1, 1])
})

t.test('shared: a success in one process resets the username in all', async (t) => {
  const redis = new FakeRedis()
  const [a, b] = [throttleOf({ redis, perAddress: 100 }), throttleOf({ redis, perAddress: 100 })]
  t.equal(await b.mayForget(here, false), true, 'what others have counted is not known here')
  t.equal(await b.mayForget(here, true), false, 'and may not be worth a question')
  await fail(a, 2)
  await b.succeeded('alice', here)
  await fail(a, 1)
  t.equal(await refusal(a.checkShared('alice', here)), null)
  t.equal(await refusal(b.checkShared('alice', here)), null)
})

t.test('without a shared store, its check is that of the process', async (t) => {
  const throttle = throttleOf()
  t.equal(await refusal(throttle.checkShared('alice', here)), null)
  await fail(throttle, 3)
  t.match(await refusal(throttle.checkShared('alice', here)), tooMany)
  t.equal(throttle.throttled, 1)
})

const failures: [name: string, break_: (redis: FakeRedis) => void][] = [
  ['rejects', (redis) => Object.assign(redis, { mode: 'rejects' })],
  [
    'is not connected',
    (redis) => Object.assign(redis, { status: 'reconnecting', mode: 'rejects' }),
  ],
]

for (const [name, breakStore] of failures) {
  t.test(
    `a store that ${name}: this process counts alone, and says so once a minute`,
    async (t) => {
      const clock = movableClock(t)
      const { lines, log } = fakeLog()
      const redis = new FakeRedis()
      const throttle = throttleOf({ redis, perAddress: 100 }, log)
      await fail(throttle, 2)
      breakStore(redis)
      t.equal(await refusal(throttle.checkShared('alice', here)), null)
      await fail(throttle, 1)
      t.match(await refusal(throttle.checkShared('alice', here)), tooMany, 'all that it has seen')
      await throttle.succeeded('alice', here)
      t.equal(await refusal(throttle.checkShared('alice', here)), null)
      t.equal(lines.length, 1)
      t.match(lines[0], {
        level: 'error',
        args: [{ err: Error }, /shared store .* this process counts alone/],
      })
      t.notMatch(JSON.stringify(lines), 'alice')

      await clock.advance(59_000)
      await fail(throttle, 1)
      t.equal(lines.length, 1, 'not again within a minute')
      await clock.advance(2000)
      await fail(throttle, 1)
      await fail(throttle, 1)
      t.equal(lines.length, 2, 'once more after it')

      Object.assign(redis, { status: 'ready', mode: 'answers' })
      await clock.advance(120_000)
      const other = throttleOf({ redis, perAddress: 100 }, log)
      t.equal(await refusal(other.checkShared('alice', here)), null, 'it has two of before')
      await fail(other, 1)
      t.match(await refusal(other.checkShared('alice', here)), tooMany, 'and counts again')
      t.equal(lines.length, 2)
    },
  )
}

t.test('a store that refuses writes and answers reads: the limit stays', async (t) => {
  const redis = new FakeRedis()
  const { lines, log } = fakeLog()
  const [a, b] = [1, 2].map(() => throttleOf({ redis, perAddress: 100 }, log)) as [
    Attempts,
    Attempts,
  ]
  await fail(a, 1)
  redis.mode = 'refuses writes'
  await fail(a, 1)
  t.equal(await refusal(a.checkShared('alice', here)), null)
  await fail(a, 1)
  t.match(await refusal(a.checkShared('alice', here)), tooMany, 'as many as this process has seen')
  t.match(await refusal(a.check('alice', here)), tooMany)
  t.equal(await refusal(b.checkShared('alice', here)), null, 'the other one has seen none')
  t.match(lines, [{ args: [{ err: { message: /^READONLY/ } }, /READONLY.*counts alone/] }])
  t.notMatch(JSON.stringify(lines), 'rlflxIncr', 'nor what was asked')

  redis.mode = 'answers'
  await fail(a, 1, 'bob')
  t.match(await refusal(a.checkShared('alice', here)), tooMany, 'her failures are still unwritten')
  await fail(a, 1)
  t.match(await refusal(b.checkShared('alice', here)), tooMany, 'until all of them are written')
  await b.succeeded('alice', here)
  t.equal(await refusal(a.checkShared('alice', here)), null, 'and shared again')
})

t.test('a store that takes some writes and refuses others: no failure gets lost', async (t) => {
  const redis = new FakeRedis()
  const [a, b] = [
    throttleOf({ redis, perUsername: 6, perAddress: 9 }),
    throttleOf({ redis, perUsername: 6, perAddress: 9 }),
  ]
  for (const mode of ['refuses writes', 'answers', 'refuses writes', 'answers'] as const) {
    redis.mode = mode
    await fail(a, 1)
  }
  t.equal(redis.counters.get('test:address:192.0.2.1')?.points, 4)
  redis.mode = 'refuses writes'
  await fail(a, 2)
  // As with a full memory: what frees it is taken.
  redis.mode = 'answers'
  await a.succeeded('bob', here)
  t.match(await refusal(a.checkShared('alice', here)), tooMany)
  t.equal(await refusal(b.checkShared('alice', here)), null, 'others do not know')
  await a.succeeded('alice', here)
  t.equal(await refusal(a.checkShared('alice', here)), null)
})

t.test('each kind of error is reported on its own', async (t) => {
  const clock = movableClock(t)
  const { lines, log } = fakeLog()
  const redis = new FakeRedis()
  const throttle = throttleOf({ redis, perAddress: 100 }, log)
  const messages = [
    "READONLY You can't write against a read only replica.",
    'NOREPLICAS Not enough good replicas to write.',
    'MISCONF Redis is configured to save RDB snapshots, but it is unable to persist to disk.',
    'ERR Error running script (call to f_1): @user_script:1: -OOM command not allowed',
    'Connection is closed.',
  ]
  for (const again of [false, true]) {
    for (const message of messages) {
      redis.refusal = message
      redis.mode = 'rejects'
      await fail(throttle, 1)
    }
    t.equal(lines.length, again ? 10 : 5)
    for (const message of messages) {
      redis.refusal = message
      await fail(throttle, 1)
    }
    t.equal(lines.length, again ? 10 : 5, 'once a minute')
    await clock.advance(60_001)
  }
  t.strictSame(
    lines.slice(0, 5).map(({ args }) => /\((.*)\)/.exec(String(args[1]))?.[1]),
    ['READONLY', 'NOREPLICAS', 'MISCONF', 'OOM', 'no answer'],
  )
})

t.test('a store that did not answer in time is left alone for five seconds', async (t) => {
  const clock = movableClock(t)
  const redis = new FakeRedis()
  const throttle = throttleOf({ redis, perAddress: 100 })
  redis.mode = 'hangs'
  await throttle.failed('bob', here)
  const asked = redis.commands.length
  await clock.advance(4900)
  await fail(throttle, 3)
  t.match(await refusal(throttle.checkShared('alice', here)), tooMany, 'counted here')
  t.equal(redis.commands.length, asked, 'nothing is asked')

  await clock.advance(200)
  const probe = fateOf(throttle.checkShared('bob', here))
  t.equal(await refusal(throttle.checkShared('bob', here)), null, 'one finds out')
  t.equal(probe.state, 'pending', 'for which others do not wait')
  await until(() => probe.state === 'resolved', 'nor that one for long')
  redis.mode = 'answers'
  await fail(throttle, 1, 'carol')
  t.equal(redis.counters.size, 0, 'it is not asked again at once')

  await clock.advance(5100)
  await fail(throttle, 1, 'carol')
  t.equal(redis.counters.get('test:address:192.0.2.1')?.points, 6, 'all that was not written')
  redis.mode = 'rejects'
  await fail(throttle, 1, 'carol')
  redis.mode = 'answers'
  await fail(throttle, 1, 'carol')
  t.equal(redis.counters.get('test:address:192.0.2.1')?.points, 8, 'an error is an answer')
  redis.mode = 'hangs'
  await throttle.failed('bob', here)
  redis.status = 'reconnecting'
  await fail(throttle, 1, 'carol')
  Object.assign(redis, { status: 'ready', mode: 'answers' })
  await fail(throttle, 1, 'carol')
  t.equal(redis.counters.get('test:address:192.0.2.1')?.points, 11, 'a new connection is asked')
  for (const end of redis.hanging) end(new Error('Connection is closed.'))
})

t.test('a store that hangs is not waited for', async (t) => {
  const { lines, log } = fakeLog()
  const redis = Object.assign(new FakeRedis(), { mode: 'hangs' })
  const throttle = throttleOf({ redis }, log)
  const check = fateOf(throttle.checkShared('alice', here))
  const failed = fateOf(throttle.failed('alice', here))
  const succeeded = fateOf(throttle.succeeded('bob', here))
  await until(
    () => [check, failed, succeeded].every(({ state }) => state === 'resolved'),
    'it goes on without the store',
  )
  t.equal(lines.length, 1)
  t.match(lines[0], { level: 'error', args: [{ err: { message: 'no answer in 500 ms' } }] })
  for (const end of redis.hanging) end(new Error('Connection is closed.'))
  await settle()
  t.equal(lines.length, 1, 'what comes too late does not matter')
})

t.test('an address is forgotten after the window', async (t) => {
  const settings = { perUsername: 1, perAddress: 1, window: 60, keyPrefix: 'test' }
  const throttle = new Attempts(settings, log)
  const request = { ip: '192.0.2.1' } as never
  await throttle.failed('alice', request)
  await throttle.failed('alice', { ip: '192.0.2.5' } as never)
  await t.rejects(Promise.resolve(throttle.check('alice', request)))
  const start = performance.now()
  t.intercept(performance, 'now', { value: () => start + 61_000 })
  t.equal(throttle.check('alice', request), undefined)
  await throttle.failed('alice', { ip: '192.0.2.3' } as never)
  t.equal(throttle.check('alice', { ip: '192.0.2.5' } as never), undefined, 'not kept')
  t.equal(await throttle.mayForget(request, true), false)
})

t.test('stores that cannot be connected, or hold what is no number', async (t) => {
  const settings = { perUsername: 1, perAddress: 1, window: 60, keyPrefix: 'test' }
  const request = { ip: '192.0.2.2' } as never
  const lines: unknown[] = []
  const log = { error: (line: unknown) => void lines.push(line) } as never
  const answer = { get: () => answer, pttl: () => answer, exec: async () => rows }
  const rows = [
    [null, 'text'],
    [null, 1000],
  ]
  const client = { defineCommand: () => undefined, multi: () => answer }
  for (const redis of [
    { ...client, status: 'wait', connect: async () => Promise.reject(new Error('refused')) },
    { ...client, status: 'wait' },
    { ...client, status: 'ready' },
    client,
  ]) {
    lines.length = 0
    const throttle = new Attempts({ ...settings, redis }, log)
    await throttle.checkShared('alice', request)
    t.equal(lines.length, 1, 'reported once, and this process counts alone')
    await throttle.open('nobody', request).succeeded(true)
    await throttle.failed('alice', request)
    await throttle.open('alice', request).succeeded(true)
    t.equal(await throttle.mayForget(request, true), true, 'the address stays')
  }
})
