import bcrypt from 'bcrypt'
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
} from '../helpers/flows.js'
import {
  fateOf,
  hashAtOnce,
  login,
  movableClock,
  settle,
  tally,
  tooMany,
  until,
  watchBcrypt,
} from '../helpers/load.js'

const hash = (password: string): string => bcrypt.hashSync(password, cost)
const people = (): [TestUser, TestUser] => [
  { id: 1, name: 'alice', password: hash('wonderland') },
  { id: 2, name: 'bob', password: hash('le bricoleur') },
]
const alice = basic('alice', 'wonderland')
const bob = basic('bob', 'le bricoleur')
const wrong = basic('alice', 'wrong')

/** An app with a route for Basic, and what runs of bcrypt; `held` keeps them under way. */
async function setting(t: Test, more: AuthnOptions = {}, held = false, atOnce = 2) {
  hashAtOnce(t, atOnce)
  const watch = watchBcrypt(t, held)
  const list = people()
  const service = userService(list)
  const { handler, take } = probe()
  const app = await appWith(
    t,
    { userService: service, jwt: { secret }, ...more },
    (app) => void app.get('/', { config: { auth: { use: 'basic' } } }, handler),
  )
  const get = (headers: Record<string, string>, remoteAddress = '127.0.0.1') =>
    app.inject({ url: '/', headers, remoteAddress })
  const cached = (): object => app.authn.stats().credentials
  /** How often bcrypt runs for a request that passes. */
  const runsOf = async (headers: Record<string, string>): Promise<number> => {
    const before = watch.runs.length
    t.equal((await get(headers)).statusCode, 200)
    return watch.runs.length - before
  }
  return { app, get, take, watch, list, service, cached, runsOf }
}

const rejected = { error: messages.invalid, challenge: basicChallenge }

t.test('the second request with the same credentials runs no bcrypt', async (t) => {
  const { get, take, watch, service, cached, runsOf } = await setting(t)
  for (const count of [1, 2, 3]) {
    isWelcome(t, await get(alice), 'alice')
    t.equal(take(), 1)
    t.equal(watch.runs.length, 1)
    t.equal(service.asked.length, count, 'the user service is asked every time')
  }
  t.strictSame(cached(), { hits: 2, misses: 1, size: 1 })
  isRejection(t, await get(wrong), rejected, 'another password is compared')
  t.equal(watch.runs.length, 2)
  t.equal(await runsOf(bob), 1, 'and another user')
  t.equal(take(), 1)
})

t.test('cached credentials get a 401 at once when the hash changes', async (t) => {
  const { get, take, watch, list } = await setting(t)
  const [user] = list
  isWelcome(t, await get(alice), 'alice')
  user.password = hash('through the looking-glass')
  take()
  isRejection(t, await get(alice), rejected, 'the old password')
  t.equal(take(), 0)
  isWelcome(t, await get(basic('alice', 'through the looking-glass')), 'alice', 'the new one')
  user.password = hash('wonderland')
  isWelcome(t, await get(alice), 'alice', 'a new hash of the old password')
  t.equal(watch.runs.length, 4, 'each compared anew')
})

t.test('cached credentials of a deleted user get a 401 at once', async (t) => {
  const { get, take, watch, list } = await setting(t)
  isWelcome(t, await get(alice), 'alice')
  t.equal(take(), 1)
  const [user] = list.splice(0, 1)
  isRejection(t, await get(alice), rejected, 'deleted')
  t.equal(watch.runs.length, 2, 'after the same work as any wrong password')
  list.push({ ...(user as TestUser), password: null as unknown as string })
  isRejection(t, await get(alice), rejected, 'without a password')
  t.equal(take(), 0)
  Object.assign(list.at(-1) as TestUser, user)
  isWelcome(t, await get(alice), 'alice', 'back again')
})

t.test('a login runs bcrypt each time, and caches nothing', async (t) => {
  const { app, watch, runsOf } = await setting(t)
  t.equal(await runsOf(alice), 1)
  for (const count of [2, 3]) {
    t.equal((await login(app, 'alice', 'wonderland')).statusCode, 200)
    t.equal(watch.runs.length, count)
  }
  t.equal((await login(app, 'bob', 'le bricoleur')).statusCode, 200)
  t.equal(await runsOf(bob), 1)
})

t.test('credentialCache decides how many credentials are cached, and for how long', async (t) => {
  const off = await setting(t, { credentialCache: false })
  t.strictSame([await off.runsOf(alice), await off.runsOf(alice)], [1, 1])
  t.strictSame(off.cached(), { hits: 0, misses: 0, size: 0 })

  const { runsOf, cached } = await setting(t, { credentialCache: { max: 1 } })
  const runs = []
  for (const headers of [alice, alice, bob, alice]) runs.push(await runsOf(headers))
  t.strictSame(runs, [1, 0, 1, 1])
  t.match(cached(), { size: 1 })

  const clock = movableClock(t)
  for (const [ttl, seconds] of [
    [undefined, 60],
    [7, 7],
  ] as const) {
    const { runsOf } = await setting(t, { credentialCache: { ttl } })
    await runsOf(alice)
    await clock.advance(seconds * 1000 - 2000)
    t.equal(await runsOf(alice), 0, `cached for ${seconds} s`)
    await clock.advance(3000)
    t.equal(await runsOf(alice), 1, 'and no longer')
  }
})

for (const [name, headers] of Object.entries({ right: alice, wrong })) {
  t.test(`64 concurrent requests with one ${name} password run bcrypt once`, async (t) => {
    const { app, get, take, watch, cached } = await setting(t, { throttle: false }, true)
    const all = Array.from({ length: 64 }, () => get(headers))
    await until(() => watch.running.length === 1, 'one runs')
    await settle(20)
    t.match(app.authn.stats().hashing, { running: 1, waiting: 0, rejected: 0 })
    watch.hold(false)
    for (const response of await Promise.all(all)) {
      if (headers === alice) isWelcome(t, response, 'alice')
      else isRejection(t, response, rejected)
    }
    t.equal(take(), headers === alice ? 64 : 0)
    t.equal(watch.runs.length, 1)
    t.match(cached(), { size: headers === alice ? 1 : 0 })
  })
}

t.test('a failure that requests share counts for each of them', async (t) => {
  const { get, watch } = await setting(t, {}, true)
  const all = Array.from({ length: 10 }, () => get(wrong))
  await until(() => watch.running.length === 1, 'one runs')
  await settle(20)
  watch.hold(false)
  t.strictSame(tally(await Promise.all(all)), { 401: 10 })
  t.equal(watch.runs.length, 1)
  isRejection(t, await get(alice), { status: 429, error: tooMany, challenge: null })
})

t.test('requests with unknown names share no bcrypt run', async (t) => {
  const { get, take, watch } = await setting(t, {}, true, 8)
  const names = ['nobody', 'somebody', 'nobody', 'alice']
  const all = names.map((name) => get(basic(name, 'the same password')))
  await until(() => watch.running.length === 3, 'one runs for each name')
  await settle(20)
  t.equal(watch.running.length, 3)
  watch.hold(false)
  for (const response of await Promise.all(all)) isRejection(t, response, rejected)
  t.equal(take(), 0)
})

t.test('requests that share a bcrypt run are answered if the first client leaves', async (t) => {
  const { app, take, watch } = await setting(t, {}, true, 1)
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
  const more = { throttle: { perUsername: 1 } }
  const { app, get, take, watch } = await setting(t, more, true, 1)
  const attacker = '192.0.2.66'
  const blocker = get(bob)
  await until(() => watch.running.length === 1, 'another one runs')
  const guesses = ['one', 'two'].map((guess) => get(basic('alice', guess), attacker))
  await until(() => app.authn.stats().hashing.waiting === 2, 'guesses wait')
  const leader = get(alice, attacker)
  await until(() => app.authn.stats().hashing.waiting === 3, 'and a request of the same address')
  const follower = get(alice)
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

t.test('all requests that share a failed bcrypt run get a 500', async (t) => {
  const { get, take, watch } = await setting(t, {}, true)
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
  const staff = basicAuthenticator({ userService: other })
  const options = { userService: userService(people()), authenticators: { staff } }
  const app = await appWith(t, options, (app) => {
    for (const use of ['basic', 'staff']) app.get(`/${use}`, { config: { auth: { use } } }, handler)
  })
  const known = { basic: alice, staff: basic('alice', 'of the staff') }
  for (const [url, headers] of Object.entries(known)) {
    isWelcome(t, await app.inject({ url: `/${url}`, headers }), 'alice', url)
    const elsewhere = url === 'basic' ? 'staff' : 'basic'
    isRejection(t, await app.inject({ url: `/${elsewhere}`, headers }), rejected, elsewhere)
  }
  t.equal(watch.runs.length, 4)
})
