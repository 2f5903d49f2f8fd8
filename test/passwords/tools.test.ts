import bcrypt from 'bcrypt'
import t from 'tap'
import { resolveOptions } from '../../lib/options/resolve.js'
import {
  createPasswordTools,
  type SharedTools,
  type PasswordTools,
} from '../../lib/passwords/tools.js'
import type { AuthnOptions, UserService } from '../../lib/index.js'
import { serviceOf } from '../helpers/flows.js'
import { thrownBy } from '../helpers/errors.js'
import { fakeRequest, settle, until, watchBcrypt } from '../helpers/load.js'

const stored = { name: 'alice', password: bcrypt.hashSync('wonderland', 4) }
const service: UserService = serviceOf((name) => (name === 'alice' ? stored : null))

function toolsOf(
  options: AuthnOptions = {},
  tree: SharedTools = { hashing: null, throttles: [] },
): PasswordTools {
  return createPasswordTools(resolveOptions(options), tree, null)
}

const idle = {
  hashing: { running: 0, waiting: 0, refused: 0 },
  remembered: { hits: 0, misses: 0, size: 0 },
  throttled: 0,
}

t.test('counts begin at nothing, also where there is nothing to count', async (t) => {
  t.strictSame(toolsOf().stats(), idle)
  t.strictSame(toolsOf({ throttle: false, credentialCache: false }).stats(), idle)
})

t.test('defaults', async (t) => {
  const tree: SharedTools = { hashing: null, throttles: [] }
  toolsOf({}, tree)
  t.strictSame(tree.hashing?.settings, {
    cost: 10,
    maxCost: 14,
    concurrency: undefined,
    maxQueue: 64,
    maxWait: 5,
  })
  const other: SharedTools = { hashing: null, throttles: [] }
  toolsOf({ hashing: { cost: 12, maxQueue: undefined } }, other)
  t.strictSame(
    other.hashing?.settings,
    { cost: 12, maxCost: 14, concurrency: undefined, maxQueue: 64, maxWait: 5 },
    'undefined is not set',
  )
})

t.test('Basic remembers, login does not', async (t) => {
  const watch = watchBcrypt(t)
  const tools = toolsOf()
  const { request } = fakeRequest()
  const basic = tools.credentialCheck(service, 'password', 'basic')
  const login = tools.credentialCheck(service, 'password', 'login')
  const runsOf = async (check: typeof basic): Promise<number> => {
    const before = watch.runs.length
    t.equal(await check('alice', 'wonderland', request), stored)
    return watch.runs.length - before
  }
  t.strictSame(
    [await runsOf(login), await runsOf(login), await runsOf(basic), await runsOf(basic)],
    [1, 1, 1, 0],
  )
  t.equal(await runsOf(login), 1)
  t.strictSame(tools.stats().remembered, { hits: 1, misses: 1, size: 1 })
})

t.test('the numbers of the memory are those of the options', async (t) => {
  const watch = watchBcrypt(t)
  const tools = toolsOf({ credentialCache: { max: 1 } })
  const { request } = fakeRequest()
  const twins = serviceOf((name) => ({ ...stored, name }))
  const check = tools.credentialCheck(twins, 'password', 'basic')
  await check('alice', 'wonderland', request)
  await check('bob', 'wonderland', request)
  t.equal(watch.runs.length, 2)
  await t.rejects(async () => check('alice', 'wrong', request))
  t.equal(tools.stats().remembered.size, 1)

  const off = toolsOf({ credentialCache: false })
  const always = off.credentialCheck(service, 'password', 'basic')
  const before = watch.runs.length
  await always('alice', 'wonderland', request)
  await always('alice', 'wonderland', request)
  t.equal(watch.runs.length - before, 2)
})

t.test('hashes of the cost that new ones have are always accepted', async (t) => {
  const settings = (hashing: AuthnOptions['hashing']): unknown => {
    const tree: SharedTools = { hashing: null, throttles: [] }
    toolsOf({ hashing }, tree)
    return tree.hashing?.settings
  }
  t.match(settings({ cost: 15 }), { cost: 15, maxCost: 15 })
  t.match(settings({ cost: 12, maxCost: 12 }), { cost: 12, maxCost: 12 })
  for (const [hashing, cost] of [
    [{ cost: 12, maxCost: 11 }, 12],
    [{ maxCost: 9 }, 10],
  ] as const) {
    const { code, message } = thrownBy(() => settings(hashing))
    t.equal(code, 'ERR_AUTH_OPTION')
    t.equal(
      message,
      `fastify-authn: option "hashing.maxCost": found ${hashing.maxCost}, but new hashes have the cost ${cost} and would not be accepted. Raise "hashing.maxCost", or lower "hashing.cost".`,
    )
  }
})

t.test('the numbers of the throttle are those of the options', async (t) => {
  const rows: [throttle: AuthnOptions['throttle'], failures: number, sameName: boolean][] = [
    [undefined, 10, true],
    [undefined, 100, false],
    [{}, 10, true],
    [{ perUsername: 2 }, 2, true],
    [{ perAddress: 3 }, 3, false],
    [{ perUsername: undefined, window: 60, keyPrefix: 'other' }, 10, true],
  ]
  for (const [throttle, failures, sameName] of rows) {
    const tools = toolsOf({ throttle, hashing: { cost: 4 } })
    const check = tools.credentialCheck(service, 'password', 'login')
    const { request } = fakeRequest()
    const attempt = async (count: number): Promise<object> =>
      check(sameName ? 'nobody' : `nobody${count}`, 'wrong', request)
    for (let count = 0; count < failures; count += 1) {
      await t.rejects(attempt(count), { code: 'ERR_AUTH_INVALID_CREDENTIALS' })
    }
    t.equal(tools.stats().throttled, 0)
    await t.rejects(attempt(failures), { code: 'ERR_AUTH_TOO_MANY_ATTEMPTS' })
    t.equal(tools.stats().throttled, 1)
  }
})

t.test(
  'registrations over the same users share one throttle, or one could guess twice',
  async (t) => {
    const tree: SharedTools = { hashing: null, throttles: [] }
    const hashing = { cost: 4 }
    const throttle = { perUsername: 2 }
    const shared = { userService: service, hashing, throttle }
    const { request } = fakeRequest()
    const statusOf = async (tools: PasswordTools): Promise<unknown> => {
      const check = tools.credentialCheck(service, 'password', 'login')
      try {
        return await check('alice', 'wrong', request)
      } catch (error) {
        return (error as { statusCode: number }).statusCode
      }
    }
    const [first, second] = [toolsOf(shared, tree), toolsOf({ ...shared }, tree)]
    t.strictSame([await statusOf(first), await statusOf(second)], [401, 401])
    t.strictSame([await statusOf(first), await statusOf(second)], [429, 429])
    t.strictSame([first.stats().throttled, second.stats().throttled], [2, 2])

    const others: Record<string, AuthnOptions> = {
      'other users': { ...shared, userService: serviceOf(() => stored) },
      'other numbers': { ...shared, throttle: { perUsername: 3 } },
      'another window': { ...shared, throttle: { ...throttle, window: 60 } },
      'another prefix': { ...shared, throttle: { ...throttle, keyPrefix: 'other' } },
      'none at all': { ...shared, throttle: false },
    }
    for (const [name, options] of Object.entries(others)) {
      t.equal(await statusOf(toolsOf(options, tree)), 401, name)
    }
    t.equal(await statusOf(toolsOf(shared)), 401, 'another app')
    t.equal(await statusOf(first), 429)
  },
)

t.test('without a throttle one may guess', async (t) => {
  const tools = toolsOf({ throttle: false, hashing: { cost: 4 } })
  const check = tools.credentialCheck(service, 'password', 'login')
  const { request } = fakeRequest()
  for (let count = 0; count < 120; count += 1) {
    await t.rejects(async () => check('alice', 'wrong', request), {
      code: 'ERR_AUTH_INVALID_CREDENTIALS',
    })
  }
})

t.test('registrations of one tree share one gate, those of others do not', async (t) => {
  const watch = watchBcrypt(t, true)
  const tree: SharedTools = { hashing: null, throttles: [] }
  const hashing = { concurrency: 1, maxQueue: 3, maxWait: 60, cost: 4 }
  const [first, second] = [toolsOf({ hashing }, tree), toolsOf({ hashing: { cost: 4 } }, tree)]
  const [third, apart] = [toolsOf({}, tree), toolsOf({ hashing })]
  const all = [first, second, third, apart].map(async (tools) =>
    tools.credentialCheck(service, 'password', 'login')(
      'alice',
      'wonderland',
      fakeRequest().request,
    ),
  )
  await until(() => watch.running.length === 2, 'one runs in each tree')
  await settle()
  t.equal(watch.running.length, 2)
  for (const tools of [first, second, third]) {
    t.strictSame(tools.stats().hashing, { running: 1, waiting: 2, refused: 0 })
  }
  t.strictSame(apart.stats().hashing, { running: 1, waiting: 0, refused: 0 })
  watch.hold(false)
  t.strictSame(await Promise.all(all), [stored, stored, stored, stored])
  t.equal(watch.peak, 2)
})

t.test('registrations that want different gates stop the boot', async (t) => {
  const first = { cost: 5, maxCost: 13, concurrency: 2, maxQueue: 7, maxWait: 1.5 }
  for (const [name, value] of Object.entries(first)) {
    const tree: SharedTools = { hashing: null, throttles: [] }
    toolsOf({ hashing: first }, tree)
    toolsOf({ hashing: { [name]: value } }, tree)
    const { code, message } = thrownBy(() => toolsOf({ hashing: { [name]: 9 } }, tree))
    t.equal(code, 'ERR_AUTH_OPTION')
    t.equal(
      message,
      `fastify-authn: option "hashing.${name}": found 9, but an earlier registration in this app has ${value}. All registrations of an app share one gate: set "hashing" in the first one.`,
    )
  }
  const defaults: Record<string, string> = {
    cost: '10',
    maxCost: '14',
    concurrency: 'the default',
    maxQueue: '64',
    maxWait: '5',
  }
  for (const [name, value] of Object.entries(defaults)) {
    const tree: SharedTools = { hashing: null, throttles: [] }
    toolsOf({}, tree)
    const { code, message } = thrownBy(() => toolsOf({ hashing: { [name]: 9 } }, tree))
    t.equal(code, 'ERR_AUTH_OPTION')
    t.match(message, `found 9, but an earlier registration in this app has ${value}.`)
  }
})
