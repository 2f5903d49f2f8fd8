// Also holds what lib/throttle/counters.ts and lib/throttle/shared-counters.ts take for granted of rate-limiter-flexible: the titles say what has
// changed when one of these fails after an update of the package.
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import t from 'tap'
import {
  count,
  limitsOf,
  localCounters,
  read,
  take,
  uncount,
  waitsOf,
} from '../../lib/throttle/counters.js'
import { sharedCounters } from '../../lib/throttle/shared-counters.js'
import { rejectionOf } from '../helpers/errors.js'

const require = createRequire(import.meta.url)
const settings = { perUsername: 2, perAddress: 3, window: 60, keyPrefix: 'test' }
const who = { username: 'digest@1:2:3:4::/64', address: '1:2:3:4::/64', network: '1:2:3::/48' }
const none = { username: 0, address: 0, network: 0 }

t.test('rate-limiter-flexible loads no clients of other stores with these files', async (t) => {
  t.notOk(require.cache[require.resolve('rate-limiter-flexible')], 'its main file loads all')
})

for (const name of ['RateLimiterMemory', 'RateLimiterRedis']) {
  t.test(`rate-limiter-flexible/lib/${name}.js is still a file that may be imported`, async (t) => {
    const file = `rate-limiter-flexible/lib/${name}.js`
    t.ok(
      existsSync(require.resolve(file)),
      'the package has the file, and no `exports` that hide it',
    )
    const required = require(file) as unknown
    const imported = (await import(file)) as { default: unknown }
    t.equal(imported.default, required, 'import() gives the class as the default')
    t.equal((required as { name: string }).name, name, 'require() gives the class itself')
    const main = require('rate-limiter-flexible') as Record<string, unknown>
    t.equal(required, main[name], 'it is the class that the main file of the package exports')
  })
}

t.test('failures are counted for a name, an address and a network', async (t) => {
  const counters = localCounters(settings)
  t.strictSame(await read(counters, who), none)
  t.strictSame(await count(counters, who), { username: 1, address: 1, network: 1 })
  t.strictSame(await count(counters, who, { username: 2, address: 3, network: 4 }), {
    username: 3,
    address: 4,
    network: 5,
  })
  t.strictSame(await read(counters, { ...who, network: null }), {
    username: 3,
    address: 4,
    network: 0,
  })
})

t.test('an IPv4 address has no network to count for', async (t) => {
  const counters = localCounters(settings)
  const { network } = await count(counters, { username: 'a', address: '1.2.3.4', network: null })
  t.equal(network, 0)
})

t.test('a failure that is taken back never makes fewer than none', async (t) => {
  const counters = localCounters(settings)
  await count(counters, who)
  await uncount(counters, who)
  await uncount(counters, who)
  t.strictSame(await read(counters, who), none)
})

t.test('what is taken out is found once', async (t) => {
  const counters = localCounters(settings)
  await count(counters, who)
  const both = await Promise.all([take(counters, who), take(counters, who)])
  t.strictSame(both, [{ username: 1, address: 1, network: 1 }, none])
})

t.test(
  'who has reached a limit waits, and the network has ten times that of an address',
  async (t) => {
    t.strictSame(limitsOf(settings), { username: 2, address: 3, network: 30 })
    const counters = localCounters(settings)
    await count(counters, who)
    t.strictSame(await waitsOf(counters, who, settings), none)
    await count(counters, who)
    const waits = await waitsOf(counters, who, settings)
    t.ok(waits.username > 0 && waits.username <= 60_000, 'milliseconds')
    t.strictSame({ ...waits, username: 0 }, none)
  },
)

t.test('a store that answers with something else than a number is no answer', async (t) => {
  const answer = {
    exec: async () => [
      [null, 'many'],
      [null, 1000],
    ],
  }
  const chain = { get: () => chain, pttl: () => answer }
  const redis = { status: 'ready', defineCommand() {}, multi: () => chain }
  const { message } = await rejectionOf(read(sharedCounters(settings, redis), who))
  t.equal(message, 'a counter holds no number')
})
