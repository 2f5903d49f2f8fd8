import bcrypt from 'bcrypt'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { basicAuthenticator, type AuthnOptions } from '../../lib/index.js'
import { appWith, basic, cost, secret, userService, type TestUser } from '../helpers/app.js'
import {
  basicChallenge,
  isRejection,
  isWelcome,
  listen,
  probe,
  send,
  messages,
  type Probe,
} from '../helpers/flows.js'
import {
  busy,
  fateOf,
  login,
  movableClock,
  settle,
  tally,
  tooMany,
  until,
  watchBcrypt,
} from '../helpers/load.js'

const hash = (password: string): string => bcrypt.hashSync(password, cost)
const people = (): TestUser[] => [
  { id: 1, name: 'alice', password: hash('wonderland') },
  { id: 2, name: 'bob', password: hash('le bricoleur') },
]
const alice = basic('alice', 'wonderland')
const bob = basic('bob', 'le bricoleur')
const wrong = basic('alice', 'wrong')

interface Setting extends Probe {
  readonly app: FastifyInstance
  readonly get: (
    headers: Record<string, string>,
    remoteAddress?: string,
  ) => Promise<LightMyRequestResponse>
}

/** An app with a route that asks for Basic. */
async function setting(t: Test, more: AuthnOptions = {}, list = people()): Promise<Setting> {
  const handled = probe()
  const app = await appWith(
    t,
    {
      userService: userService(list),
      jwt: { secret },
      hashing: { cost, concurrency: 2 },
      ...more,
    },
    (app) => void app.get('/', { config: { auth: { use: 'basic' } } }, handled.handler),
  )
  const get: Setting['get'] = (headers, remoteAddress = '127.0.0.1') =>
    app.inject({ url: '/', headers, remoteAddress })
  return { ...handled, app, get }
}

const refused = { error: messages.invalid, challenge: basicChallenge }
const cached = (app: FastifyInstance): object => app.authn.stats().credentials

t.test('the second request with the same credentials runs no bcrypt', async (t) => {
  const watch = watchBcrypt(t)
  const service = userService(people())
  const { app, get, take } = await setting(t, { userService: service })
  for (const count of [1, 2, 3]) {
    isWelcome(t, await get(alice), 'alice')
    t.equal(take(), 1)
    t.equal(watch.runs.length, 1)
    t.equal(service.asked.length, count, 'the user service is asked every time')
  }
  t.strictSame(cached(app), { hits: 2, misses: 1, size: 1 })
  isRejection(t, await get(wrong), refused, 'another password is compared')
  t.equal(watch.runs.length, 2)
  isWelcome(t, await get(bob), 'bob', 'and another user')
  t.equal(watch.runs.length, 3)
  t.equal(take(), 1)
})

t.test('cached credentials get a 401 at once when the hash changes', async (t) => {
  const watch = watchBcrypt(t)
  const list = people()
  const { get, take } = await setting(t, {}, list)
  isWelcome(t, await get(alice), 'alice')
  Object.assign(list[0] as TestUser, { password: hash('through the looking-glass') })
  take()
  isRejection(t, await get(alice), refused, 'the old password')
  t.equal(take(), 0)
  isWelcome(t, await get(basic('alice', 'through the looking-glass')), 'alice', 'the new one')
  Object.assign(list[0] as TestUser, { password: hash('wonderland') })
  isWelcome(t, await get(alice), 'alice', 'a new hash of the old password')
  t.equal(watch.runs.length, 4, 'each compared anew')
})

t.test('cached credentials of a deleted user get a 401 at once', async (t) => {
  const watch = watchBcrypt(t)
  const list = people()
  const { get, take } = await setting(t, {}, list)
  isWelcome(t, await get(alice), 'alice')
  isWelcome(t, await get(alice), 'alice')
  t.equal(take(), 2)
  const [first] = list.splice(0, 1)
  isRejection(t, await get(alice), refused, 'deleted')
  t.equal(watch.runs.length, 2, 'after the same work as any wrong password')
  list.push({ ...(first as TestUser), password: null as unknown as string })
  isRejection(t, await get(alice), refused, 'without a password')
  t.equal(take(), 0)
  Object.assign(list.at(-1) as TestUser, first)
  isWelcome(t, await get(alice), 'alice', 'back again')
})

t.test('a login runs bcrypt each time, and caches nothing', async (t) => {
  const watch = watchBcrypt(t)
  const { app, get } = await setting(t)
  isWelcome(t, await get(alice), 'alice')
  for (const count of [2, 3]) {
    t.equal((await login(app, 'alice', 'wonderland')).statusCode, 200)
    t.equal(watch.runs.length, count)
  }
  t.equal((await login(app, 'bob', 'le bricoleur')).statusCode, 200)
  isWelcome(t, await get(bob), 'bob')
  t.equal(watch.runs.length, 5)
})

t.test('false switches it off', async (t) => {
  const watch = watchBcrypt(t)
  const { app, get } = await setting(t, { credentialCache: false })
  for (const count of [1, 2, 3]) {
    isWelcome(t, await get(alice), 'alice')
    t.equal(watch.runs.length, count)
  }
  t.strictSame(cached(app), { hits: 0, misses: 0, size: 0 })
})

t.test('max', async (t) => {
  const watch = watchBcrypt(t)
  const { app, get } = await setting(t, { credentialCache: { max: 1 } })
  const runsOf = async (headers: Record<string, string>): Promise<number> => {
    const before = watch.runs.length
    t.equal((await get(headers)).statusCode, 200)
    return watch.runs.length - before
  }
  t.strictSame(
    [await runsOf(alice), await runsOf(alice), await runsOf(bob), await runsOf(alice)],
    [1, 0, 1, 1],
  )
  t.match(cached(app), { size: 1 })
})

t.test('ttl, 60 seconds unless it is set', async (t) => {
  for (const [ttl, seconds] of [
    [undefined, 60],
    [7, 7],
  ] as const) {
    await t.test(`${ttl}`, async (t) => {
      const clock = movableClock(t)
      const watch = watchBcrypt(t)
      const { get } = await setting(t, { credentialCache: { ttl } })
      await get(alice)
      await clock.advance(seconds * 1000 - 2000)
      isWelcome(t, await get(alice), 'alice')
      t.equal(watch.runs.length, 1)
      await clock.advance(3000)
      isWelcome(t, await get(alice), 'alice')
      t.equal(watch.runs.length, 2)
    })
  }
})

t.test('64 concurrent requests with the same credentials run bcrypt once', async (t) => {
  for (const headers of [alice, wrong]) {
    await t.test(headers === alice ? 'right' : 'wrong', async (t) => {
      const watch = watchBcrypt(t, true)
      const { app, get, take } = await setting(t, { throttle: false })
      const all = Array.from({ length: 64 }, () => get(headers))
      await until(() => watch.running.length === 1, 'one runs')
      await settle(20)
      t.strictSame(app.authn.stats().hashing, { running: 1, waiting: 0, refused: 0 })
      watch.hold(false)
      const responses = await Promise.all(all)
      for (const response of responses) {
        if (headers === alice) isWelcome(t, response, 'alice')
        else isRejection(t, response, refused)
      }
      t.equal(take(), headers === alice ? 64 : 0)
      t.equal(watch.runs.length, 1)
      t.match(cached(app), { size: headers === alice ? 1 : 0 })
    })
  }
})

t.test('a failure that requests share counts for each of them', async (t) => {
  const watch = watchBcrypt(t, true)
  const { get } = await setting(t)
  const all = Array.from({ length: 10 }, () => get(wrong))
  await until(() => watch.running.length === 1, 'one runs')
  await settle(20)
  watch.hold(false)
  t.strictSame(tally(await Promise.all(all)), { 401: 10 })
  t.equal(watch.runs.length, 1)
  isRejection(t, await get(alice), { status: 429, error: tooMany, challenge: null })
})

t.test('requests with unknown names share no bcrypt run', async (t) => {
  const watch = watchBcrypt(t, true)
  const { get, take } = await setting(t, { hashing: { cost, concurrency: 8 } })
  const names = ['nobody', 'somebody', 'nobody', 'alice']
  const all = names.map((name) => get(basic(name, 'the same password')))
  await until(() => watch.running.length === 3, 'one runs for each name')
  await settle(20)
  t.equal(watch.running.length, 3)
  t.equal(new Set(watch.runs.map(({ against }) => against)).size, 3)
  watch.hold(false)
  for (const response of await Promise.all(all)) isRejection(t, response, refused)
  t.equal(take(), 0)
})

const loopback = '127.0.0.1'

t.test('requests that share a bcrypt run are answered if the first client leaves', async (t) => {
  const watch = watchBcrypt(t, true)
  const { app, take } = await setting(t, { hashing: { cost, concurrency: 1 } })
  const port = await listen(app)
  const ask = (headers: Record<string, string>, signal?: AbortSignal): ReturnType<typeof send> =>
    send(port, { path: '/', headers, ...(signal && { signal }) })
  const { misses } = app.authn.stats().credentials
  const missed = (count: number): Promise<void> =>
    until(() => app.authn.stats().credentials.misses === misses + count, `${count} have come`)
  const blocker = ask(bob)
  await until(() => watch.running.length === 1, 'another one runs')
  const client = new AbortController()
  const leader = fateOf(ask(alice, client.signal))
  await missed(2)
  const followers = [ask(alice), ask(alice)]
  await missed(4)
  t.equal(app.authn.stats().hashing.waiting, 1, 'they wait as one')
  client.abort()
  await until(() => leader.state === 'rejected', 'it has left')
  await settle(20)
  watch.running[0]?.finish()
  await until(() => watch.running.length === 1, 'it runs for those that stayed')
  watch.hold(false)
  isWelcome(t, await blocker, 'bob')
  for (const response of await Promise.all(followers)) isWelcome(t, response, 'alice')
  t.equal(watch.runs.length, 2)
  t.equal(take(), 3, 'the handler never ran for the one that left')
})

t.test('a 429 for one address is not shared with requests of other addresses', async (t) => {
  const watch = watchBcrypt(t, true)
  const { app, get, take } = await setting(t, {
    hashing: { cost, concurrency: 1 },
    throttle: { perUsername: 1 },
  })
  const attacker = '192.0.2.66'
  const blocker = get(bob)
  await until(() => watch.running.length === 1, 'another one runs')
  const guesses = ['one', 'two'].map((guess) => get(basic('alice', guess), attacker))
  await until(() => app.authn.stats().hashing.waiting === 2, 'guesses wait')
  const leader = get(alice, attacker)
  await until(() => app.authn.stats().hashing.waiting === 3, 'and a request of the same address')
  const follower = get(alice, loopback)
  await until(() => app.authn.stats().credentials.misses === 5, 'which another one shares')
  while (app.authn.stats().hashing.running > 0) {
    watch.running[0]?.finish()
    await settle()
  }
  isWelcome(t, await blocker, 'bob')
  t.equal((await guesses[0])?.statusCode, 401)
  isRejection(t, await leader, { status: 429, error: tooMany, challenge: null })
  isWelcome(t, await follower, 'alice')
  t.equal(take(), 2)
})

t.test('all requests that share a place in a full queue get a 503', async (t) => {
  const watch = watchBcrypt(t, true)
  const { app, get } = await setting(t, { hashing: { cost, concurrency: 1, maxQueue: 0 } })
  const blocker = get(bob)
  await until(() => watch.running.length === 1, 'another one runs')
  const all = await Promise.all([get(alice), get(alice), get(alice)])
  for (const response of all) {
    isRejection(t, response, { status: 503, error: busy, challenge: null })
    t.equal(response.headers['retry-after'], '5')
  }
  t.equal(app.authn.stats().hashing.refused, 3)
  watch.hold(false)
  isWelcome(t, await blocker, 'bob')
})

t.test('all requests that share a failed bcrypt run get a 500', async (t) => {
  const watch = watchBcrypt(t, true)
  const { get, take } = await setting(t)
  const all = [get(alice), get(alice)]
  await until(() => watch.running.length === 1, 'it runs')
  await settle(20)
  watch.running[0]?.fail(new Error('no memory'))
  for (const response of await Promise.all(all)) {
    t.equal(response.statusCode, 500)
    t.match(response.json(), { code: 'ERR_AUTH_HASHING' })
    t.notMatch(response.body, 'no memory')
  }
  t.equal(take(), 0)
  watch.hold(false)
  isWelcome(t, await get(alice), 'alice')
})

t.test('cached credentials are not accepted for the users of another service', async (t) => {
  const watch = watchBcrypt(t)
  const { handler } = probe()
  const other = userService([{ id: 9, name: 'alice', password: hash('of the staff') }])
  const app = await appWith(
    t,
    {
      userService: userService(people()),
      hashing: { cost },
      authenticators: { staff: basicAuthenticator({ userService: other }) },
    },
    (app) => {
      app.get('/', { config: { auth: { use: 'basic' } } }, handler)
      app.get('/staff', { config: { auth: { use: 'staff' } } }, handler)
    },
  )
  isWelcome(t, await app.inject({ url: '/', headers: alice }), 'alice')
  isRejection(t, await app.inject({ url: '/staff', headers: alice }), refused)
  const staff = basic('alice', 'of the staff')
  isWelcome(t, await app.inject({ url: '/staff', headers: staff }), 'alice')
  isRejection(t, await app.inject({ url: '/', headers: staff }), refused)
  t.equal(watch.runs.length, 4)
})
