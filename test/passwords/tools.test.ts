import bcrypt from 'bcrypt'
import t from 'tap'
import { resolveOptions } from '../../lib/options/resolve.js'
import { CredentialCache } from '../../lib/passwords/credential-cache.js'
import { createPasswordTools, type SharedHashing } from '../../lib/passwords/tools.js'
import { createAttempts, type SharedThrottles } from '../../lib/throttle/attempts.js'
import { authn, type AuthnOptions } from '../../lib/index.js'
import { fastify } from '../helpers/app.js'
import { rejectionOf } from '../helpers/errors.js'
import { serviceOf } from '../helpers/flows.js'
import { fakeRequest, hashAtOnce, settle, until, watchBcrypt } from '../helpers/load.js'

const stored = { name: 'alice', password: bcrypt.hashSync('wonderland', 4) }
const service = serviceOf((name) => (name === 'alice' ? stored : null))
type App = SharedHashing & SharedThrottles
const newApp = (): App => ({ hashing: null, throttles: [] })

const { log } = fakeRequest().request
async function toolsOf(options: AuthnOptions = {}, app = newApp()) {
  const resolved = resolveOptions(options)
  const { credentialCache } = resolved
  const cache = credentialCache === false ? null : new CredentialCache(credentialCache)
  const attempts = await createAttempts(resolved, '/login', app, cache, log)
  const { throttle } = attempts
  const passwords = await createPasswordTools(resolved, app, { throttle, cache }, log)
  return { ...passwords, stats: () => ({ ...passwords.stats(), ...attempts.stats() }) }
}
type PasswordTools = Awaited<ReturnType<typeof toolsOf>>

const enter = async (tools: PasswordTools, name: string, password: string): Promise<object> => {
  const check = tools.loginCheck({ userService: service, passwordField: 'password' }, () => 0)
  return (await check(name, password, fakeRequest().request)).user
}

t.test('registrations with the same users and limits share one throttle', async (t) => {
  const app = newApp()
  const throttle = { perUsername: 2 }
  const shared = { userService: service, hashing: { cost: 4 }, throttle }
  const statusOf = (tools: PasswordTools): Promise<unknown> =>
    enter(tools, 'alice', 'wrong').catch((error: { statusCode: number }) => error.statusCode)
  const [first, second] = [await toolsOf(shared, app), await toolsOf({ ...shared }, app)]
  t.strictSame([await statusOf(first), await statusOf(second)], [401, 401])
  t.strictSame([await statusOf(first), await statusOf(second)], [429, 429])
  const others: Record<string, AuthnOptions> = {
    'other users': { ...shared, userService: serviceOf(() => stored) },
    'other numbers': { ...shared, throttle: { perUsername: 3 } },
    'another window': { ...shared, throttle: { ...throttle, window: 60 } },
    'another prefix': { ...shared, throttle: { ...throttle, keyPrefix: 'other' } },
    'none at all': { ...shared, throttle: false },
  }
  for (const [name, options] of Object.entries(others)) {
    t.equal(await statusOf(await toolsOf(options, app)), 401, name)
  }
  t.equal(await statusOf(await toolsOf(shared)), 401, 'another app')
  t.equal(await statusOf(first), 429)
})

t.test('registrations of one app share the bcrypt queue of the first one', async (t) => {
  const watch = watchBcrypt(t, true)
  const app = newApp()
  hashAtOnce(t, 1)
  const hashing = { maxQueue: 3, maxWait: 60, cost: 4 }
  const first = await toolsOf({ hashing }, app)
  const second = await toolsOf({ hashing: { maxQueue: 3 } }, app)
  const apart = await toolsOf({ hashing })
  const all = [first, second, apart].map((tools) => enter(tools, 'alice', 'wonderland'))
  await until(() => watch.running.length === 2, 'one runs in each app')
  await settle()
  for (const tools of [first, second]) {
    t.strictSame(tools.stats().hashing, {
      running: 1,
      waiting: 1,
      rejected: 0,
      memory: 0,
      replaced: 0,
    })
  }
  t.strictSame(apart.stats().hashing, {
    running: 1,
    waiting: 0,
    rejected: 0,
    memory: 0,
    replaced: 0,
  })
  watch.hold(false)
  t.strictSame(await Promise.all(all), [stored, stored, stored])
})

t.test('startup fails for members of the shared queue that differ from its own', async (t) => {
  const start = async (first: AuthnOptions['hashing'], second: AuthnOptions['hashing']) => {
    const app = fastify(t)
    await app.register(authn, { ...(first && { hashing: first }) })
    return app.register(async (scope) => {
      await scope.register(authn, { hashing: second })
    })
  }
  const numbers = { maxMemory: 65_536, maxQueue: 10, maxWait: 3 } as const
  for (const [name, value] of Object.entries(numbers)) {
    for (const first of [undefined, {}, { ...numbers, [name]: value + 1 }]) {
      const error = await rejectionOf(start(first, { [name]: value }))
      t.equal(error.code, 'ERR_AUTH_OPTION')
      t.match(error.message, new RegExp(`"hashing\\.${name}": found ${value}, .*no effect`))
    }
    await start({ [name]: value }, { [name]: value })
    await start(numbers, { cost: 5 })
  }
  await start(undefined, { maxMemory: 262_144, maxQueue: 64, maxWait: 5 })
})

t.test('a registration without a cost has that of the first one', async (t) => {
  const watch = watchBcrypt(t)
  const app = newApp()
  await toolsOf({ hashing: { cost: 5 } }, app)
  for (const [hashing, cost] of [[undefined, 5] as const, [{ cost: 6 }, 6] as const]) {
    await t.rejects(enter(await toolsOf({ hashing }, app), 'nobody', 'guess'), {
      code: 'ERR_AUTH_INVALID_CREDENTIALS',
    })
    t.equal(bcrypt.getRounds(String(watch.runs.at(-1)?.against)), cost)
  }
})
