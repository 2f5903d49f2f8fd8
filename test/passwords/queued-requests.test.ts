// program: requests
import bcrypt from 'bcrypt'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import type { AuthnOptions } from '../../lib/index.js'
import { appWith, basic, cost, secret, userService } from '../helpers/app.js'
import {
  deferred,
  isRejection,
  isWelcome,
  listen,
  probe,
  send,
  type AnyResponse,
  type Probe,
} from '../helpers/flows.js'
import {
  busy,
  busyInGerman,
  fateOf,
  hashAtOnce,
  login,
  settle,
  tally,
  until,
  watchBcrypt,
} from '../helpers/load.js'

/** As many users as a test needs, each with a password of its own. */
const people = Array.from({ length: 8 }, (_, id) => ({
  id,
  name: `user${id}`,
  password: bcrypt.hashSync(`password${id}`, cost),
}))

const options = (hashing?: AuthnOptions['hashing'], more: AuthnOptions = {}): AuthnOptions => ({
  userService: userService(people),
  jwt: { secret },
  hashing,
  ...more,
})

const signIn = (
  app: FastifyInstance,
  id: number,
  more: Parameters<typeof login>[3] = {},
): ReturnType<typeof login> => login(app, `user${id}`, `password${id}`, more)
const header = (id: number): { authorization: string } => basic(`user${id}`, `password${id}`)
const loginOf = (id: number): Parameters<typeof send>[1] => ({
  method: 'POST',
  path: '/login',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ username: `user${id}`, password: `password${id}` }),
})

const stats = (app: FastifyInstance): object => app.authn.stats().hashing
const waitingIn = (app: FastifyInstance): number => app.authn.stats().hashing.waiting
const basicRoute = (handler: Probe['handler']) => (app: FastifyInstance) =>
  app.get('/', { config: { auth: { use: 'basic' } } }, handler)

t.test('login and Basic together run as many bcrypts at once as there are places', async (t) => {
  for (const atOnce of [1, 3]) {
    await t.test(`${atOnce} at once`, async (t) => {
      hashAtOnce(t, atOnce)
      const watch = watchBcrypt(t, true)
      const { handler, take } = probe()
      const app = await appWith(t, options(), basicRoute(handler))
      const all = people.map(async ({ id }) =>
        id % 2 === 0 ? signIn(app, id) : app.inject({ url: '/', headers: header(id) }),
      )
      for (let left = people.length; left > 0; left -= 1) {
        const running = Math.min(left, atOnce)
        await until(() => watch.running.length === running, 'the next one runs')
        await until(() => waitingIn(app) === left - running, 'the others have come to the queue')
        t.match(stats(app), { running, waiting: left - running, rejected: 0 })
        watch.running[0]?.finish()
        await settle()
      }
      t.strictSame(tally(await Promise.all(all)), { 200: people.length })
      t.equal(take(), people.length / 2)
      t.equal(watch.runs.length, people.length)
      t.equal(watch.peak, atOnce)
      t.strictSame(stats(app), { running: 0, waiting: 0, rejected: 0, memory: 0, replaced: 0 })
    })
  }
})

t.test('a comparison reserves its memory, and waits for it within hashing.maxMemory', async (t) => {
  const gate = deferred()
  const migrateFrom = [
    { pattern: /^old:/, verify: () => gate.promise.then(() => true), sample: 'old:hash' },
  ]
  // 4 MiB for each.
  hashAtOnce(t, 3)
  const hashing = { algorithm: 'scrypt', cost: 12, maxMemory: 8192, migrateFrom }
  const old = people.map(({ id, name }) => ({ id, name, password: 'old:hash' }))
  const more = { userService: userService(old), credentialCache: false as const }
  const { handler } = probe()
  const app = await appWith(t, options(hashing as never, more), basicRoute(handler))
  const all = [0, 1, 2].map(async (id) =>
    id === 1 ? app.inject({ url: '/', headers: header(id) }) : signIn(app, id),
  )
  await until(() => waitingIn(app) === 1, 'the third one waits')
  t.match(stats(app), { running: 2, waiting: 1, memory: 8192 })
  gate.resolve()
  t.strictSame(tally(await Promise.all(all)), { 200: 3 })
  t.match(stats(app), { running: 0, waiting: 0, memory: 0 })
})

t.test('a request to a full queue gets a localized 503 at once', async (t) => {
  const watch = watchBcrypt(t, true)
  const { handler, take } = probe()
  hashAtOnce(t, 1)
  const app = await appWith(t, options({ maxQueue: 1, maxWait: 29.2 }), (app) => {
    app.get('/', { config: { auth: { use: 'basic' } } }, handler)
    app.get('/try', { config: { auth: { mode: 'try', use: 'basic' } } }, handler)
  })
  const running = signIn(app, 0)
  await until(() => watch.running.length === 1, 'one runs')
  const waiting = signIn(app, 1)
  await until(() => waitingIn(app) === 1, 'one waits')

  const rejectedLogin = await signIn(app, 2)
  const rejection = { status: 503, error: busy, challenge: null }
  isRejection(t, rejectedLogin, rejection, 'login')
  t.equal(rejectedLogin.headers['retry-after'], '30')
  const german = { 'accept-language': 'de-AT, en;q=0.5' }
  const inGerman = { ...rejection, error: busyInGerman, language: 'de' }
  isRejection(t, await signIn(app, 2, { headers: german }), inGerman, 'login, in German')
  const rejectedBasic = await app.inject({ url: '/', headers: header(3) })
  isRejection(t, rejectedBasic, rejection, 'Basic')
  t.equal(rejectedBasic.headers['retry-after'], '30')
  const germanBasic = await app.inject({ url: '/', headers: { ...header(3), ...german } })
  isRejection(t, germanBasic, inGerman, 'Basic, in German')
  const tried = await app.inject({ url: '/try', headers: header(3) })
  isRejection(t, tried, rejection, 'in the mode try it is not anonymous')
  t.equal(take(), 0)
  isWelcome(t, await app.inject('/try'), null, 'without credentials nothing is waited for')
  t.equal(take(), 1)
  t.strictSame(stats(app), { running: 1, waiting: 1, rejected: 5, memory: 0, replaced: 0 })

  watch.hold(false)
  t.strictSame(tally(await Promise.all([running, waiting])), { 200: 2 })
  t.strictSame(watch.passwords(), ['password0', 'password1'], 'no bcrypt ran for the others')
  isWelcome(t, await app.inject({ url: '/', headers: header(3) }), 'user3')
  t.equal(take(), 1)
})

for (const use of ['login', 'basic'] as const) {
  t.test(`${use}: bcrypt does not run for a client that leaves while it waits`, async (t) => {
    const watch = watchBcrypt(t, true)
    const { handler, take } = probe()
    hashAtOnce(t, 1)
    const app = await appWith(t, options(), basicRoute(handler))
    const port = await listen(app)
    const ask = (id: number, signal?: AbortSignal): ReturnType<typeof send> =>
      send(port, {
        ...(use === 'login' ? loginOf(id) : { path: '/', headers: header(id) }),
        ...(signal && { signal }),
      })
    const waiting = (): number => waitingIn(app)
    const first = ask(0)
    await until(() => watch.running.length === 1, 'one runs')
    const client = new AbortController()
    const second = fateOf(ask(1, client.signal))
    await until(() => waiting() === 1, 'one waits')
    const third = ask(2)
    await until(() => waiting() === 2, 'another one waits')
    client.abort()
    await until(() => waiting() === 1, 'the server has seen that it left')
    t.match(second, { state: 'rejected', value: { name: 'AbortError' } })
    watch.hold(false)
    t.strictSame(tally(await Promise.all([first, third])), { 200: 2 })
    t.strictSame(watch.passwords(), ['password0', 'password2'])
    t.strictSame(stats(app), { running: 0, waiting: 0, rejected: 0, memory: 0, replaced: 0 })
    t.equal(take(), use === 'login' ? 0 : 2)
    t.equal((await ask(1)).statusCode, 200, 'and may come again')
  })
}

t.test('bcrypt does not run for a client that leaves while its user is looked up', async (t) => {
  const watch = watchBcrypt(t)
  const service = userService(people)
  const found = deferred()
  const asked = deferred()
  const left = deferred()
  const slow: AuthnOptions['userService'] = {
    async findByUsername(name, request) {
      if (name === 'user0') {
        request.raw.socket.once('close', () => left.resolve())
        asked.resolve()
        await found.promise
      }
      return service.findByUsername(name, request)
    },
  }
  hashAtOnce(t, 1)
  const app = await appWith(t, options(undefined, { userService: slow }))
  const port = await listen(app)
  const client = new AbortController()
  const gone = fateOf(send(port, { ...loginOf(0), signal: client.signal }))
  await asked.promise
  t.equal((await send(port, loginOf(1))).statusCode, 200, 'others are not held up')
  client.abort()
  await left.promise
  found.resolve()
  await settle(10)
  t.match(gone, { state: 'rejected' })
  t.strictSame(watch.passwords(), ['password1'])
})

t.test('one client, also a /48, gets a quarter of the queue, others the rest', async (t) => {
  const watch = watchBcrypt(t, true)
  hashAtOnce(t, 1)
  const app = await appWith(t, options({ maxQueue: 8, maxWait: 60 }))
  const enter = (id: number, remoteAddress: string) => fateOf(signIn(app, id, { remoteAddress }))
  const waiting = (): number => app.authn.stats().hashing.waiting
  const rejected = (): number => app.authn.stats().hashing.rejected
  const greedy = [0, 1, 2, 3, 4].map((id) => enter(id, `2001:db8:0:${id}::1`))
  await until(() => waiting() === 2 && rejected() === 2, 'one runs, two wait, two are rejected')
  const others = [5, 6, 7].map((id) => enter(id, `192.0.2.${id}`))
  await until(() => waiting() === 5, 'others wait')
  watch.hold(false)
  await until(() => [...greedy, ...others].every(({ state }) => state === 'resolved'), 'all end')
  const statuses = [...greedy, ...others].map(({ value }) => (value as AnyResponse).statusCode)
  t.strictSame(statuses, [200, 200, 200, 503, 503, 200, 200, 200])
  t.equal((await signIn(app, 0, { remoteAddress: '2001:db8::9' })).statusCode, 200, 'they left')

  for (const [maxQueue, places] of [
    [0, 0],
    [1, 1],
    [3, 1],
  ] as const) {
    const held = watchBcrypt(t, true)
    const small = await appWith(t, options({ maxQueue, maxWait: 60 }))
    const all = [0, 1, 2].map((id) => signIn(small, id))
    await until(
      () => small.authn.stats().hashing.rejected === 2 - places,
      'the others are rejected',
    )
    held.hold(false)
    t.strictSame(tally(await Promise.all(all)), { 200: 1 + places, 503: 2 - places })
  }
})

t.test('logins in flight finish or are rejected when the app closes', async (t) => {
  const watch = watchBcrypt(t, true)
  hashAtOnce(t, 1)
  const app = await appWith(t, options({ maxQueue: 12, maxWait: 30 }))
  const port = await listen(app)
  const all = people.map(({ id }) => send(port, loginOf(id)))
  const fates = all.map((response) => fateOf(response))
  const isFull = (): boolean => app.authn.stats().hashing.rejected === people.length - 4
  await until(isFull, 'one runs, three wait, a quarter of twelve, the others are rejected')
  const closed = fateOf(app.close())
  await until(() => !app.server.listening, 'the server takes no more connections')
  await t.rejects(send(port, loginOf(0)), { code: 'ECONNREFUSED' }, 'new connections')
  t.equal(closed.state, 'pending', 'it waits for those in flight')
  watch.hold(false)
  await until(() => closed.state === 'resolved', 'it is closed')
  await until(() => fates.every(({ state }) => state === 'resolved'), 'each has an answer')
  t.strictSame(tally(await Promise.all(all)), { 200: 4, 503: people.length - 4 })
  t.equal(watch.runs.length, 4)
  t.match(stats(app), { running: 0, waiting: 0, rejected: people.length - 4 })
})
