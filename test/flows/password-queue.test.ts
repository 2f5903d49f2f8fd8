import { connect } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { availableParallelism } from 'node:os'
import bcrypt from 'bcrypt'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { authn, hashPassword, type AuthnOptions } from '../../lib/index.js'
import { appWith, basic, cost, secret, userService } from '../helpers/app.js'
import { bootError, deferred, isRefusal, isWelcome, listen, probe, send } from '../helpers/flows.js'
import {
  busy,
  busyInGerman,
  fateOf,
  login,
  retryAfterOf,
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

t.test('login and Basic together: no more bcrypt runs at once than the option says', async (t) => {
  for (const concurrency of [1, 2, 3]) {
    await t.test(`${concurrency}`, async (t) => {
      const watch = watchBcrypt(t, true)
      const { handler, take } = probe()
      const app = await appWith(
        t,
        options({ concurrency }),
        (app) => void app.get('/', { config: { auth: { use: 'basic' } } }, handler),
      )
      const all = people.map(async ({ id }) =>
        id % 2 === 0 ? signIn(app, id) : app.inject({ url: '/', headers: header(id) }),
      )
      for (let left = people.length; left > 0; left -= 1) {
        const running = Math.min(left, concurrency)
        await until(() => watch.running.length === running, 'the next one runs')
        await until(
          () => app.authn.stats().hashing.waiting === left - running,
          'the others have come to the gate',
        )
        t.strictSame(stats(app), { running, waiting: left - running, refused: 0 })
        watch.running[0]?.finish()
        await settle()
      }
      t.strictSame(tally(await Promise.all(all)), { 200: people.length })
      t.equal(take(), people.length / 2)
      t.equal(watch.runs.length, people.length)
      t.equal(watch.peak, concurrency)
      t.strictSame(stats(app), { running: 0, waiting: 0, refused: 0 })
    })
  }
})

t.test('without the option: one a core, less than the pool, for all apps together', async (t) => {
  const pool = Number(process.env.UV_THREADPOOL_SIZE) || 4
  const expected = Math.max(1, Math.min(availableParallelism(), pool - 1))
  const watch = watchBcrypt(t, true)
  const apps = [await appWith(t, options()), await appWith(t, options({ maxQueue: 100 }))]
  const responses = people.map(({ id }) => signIn(apps[id % 2] as FastifyInstance, id))
  const hashes = ['one', 'two'].map((word) => hashPassword(word, { cost: 4 }))
  const waiting = (): number =>
    apps.reduce((sum, app) => sum + app.authn.stats().hashing.waiting, 0)
  await until(() => waiting() > 0 && watch.running.length === expected, 'they wait')
  await settle(20)
  t.equal(watch.running.length, expected)
  while (watch.runs.length < people.length + 2 || watch.running.length > 0) {
    watch.running[0]?.finish()
    await settle()
  }
  t.equal(watch.peak, expected)
  t.strictSame(tally(await Promise.all(responses)), { 200: people.length })
  t.equal((await Promise.all(hashes)).filter((hash) => bcrypt.getRounds(hash) === 4).length, 2)
  for (const app of apps) t.strictSame(stats(app), { running: 0, waiting: 0, refused: 0 })
})

t.test('a full queue: 503, localized, at once; those that wait are answered', async (t) => {
  const watch = watchBcrypt(t, true)
  const { handler, take } = probe()
  const app = await appWith(
    t,
    options({ concurrency: 1, maxQueue: 1, maxWait: 30 }),
    (app) => void app.get('/', { config: { auth: { use: 'basic' } } }, handler),
  )
  const running = signIn(app, 0)
  await until(() => watch.running.length === 1, 'one runs')
  const waiting = signIn(app, 1)
  await until(() => app.authn.stats().hashing.waiting === 1, 'one waits')

  const refusedLogin = await signIn(app, 2)
  const refusal = { status: 503, error: busy, challenge: null }
  isRefusal(t, refusedLogin, refusal, 'login')
  t.equal(refusedLogin.headers['retry-after'], '30')
  const german = { 'accept-language': 'de-AT, en;q=0.5' }
  const inGerman = { ...refusal, error: busyInGerman, language: 'de' }
  isRefusal(t, await signIn(app, 2, { headers: german }), inGerman, 'login, in German')
  const refusedBasic = await app.inject({ url: '/', headers: header(3) })
  isRefusal(t, refusedBasic, refusal, 'Basic')
  t.equal(refusedBasic.headers['retry-after'], '30')
  isRefusal(
    t,
    await app.inject({ url: '/', headers: { ...header(3), ...german } }),
    inGerman,
    'Basic, in German',
  )
  t.equal(take(), 0)
  t.strictSame(stats(app), { running: 1, waiting: 1, refused: 4 })

  watch.hold(false)
  t.strictSame(tally(await Promise.all([running, waiting])), { 200: 2 })
  t.strictSame(watch.passwords(), ['password0', 'password1'], 'the refused cost nothing')
  isWelcome(t, await app.inject({ url: '/', headers: header(3) }), 'user3')
  t.equal(take(), 1)
})

t.test('also under the mark "try" a full queue is a 503, not nobody', async (t) => {
  const watch = watchBcrypt(t, true)
  const { handler, take } = probe()
  const app = await appWith(t, options({ concurrency: 1, maxQueue: 0 }), (app) => {
    app.get('/try', { config: { auth: { mode: 'try', use: 'basic' } } }, handler)
  })
  const running = signIn(app, 0)
  await until(() => watch.running.length === 1, 'one runs')
  const response = await app.inject({ url: '/try', headers: header(1) })
  isRefusal(t, response, { status: 503, error: busy, challenge: null })
  t.equal(take(), 0)
  isWelcome(t, await app.inject('/try'), null, 'without credentials nothing is waited for')
  watch.hold(false)
  t.equal((await running).statusCode, 200)
})

t.test('who waits too long gets a 503', async (t) => {
  const watch = watchBcrypt(t, true)
  const app = await appWith(t, options({ concurrency: 1, maxWait: 0.02 }))
  const running = signIn(app, 0)
  await until(() => watch.running.length === 1, 'one runs')
  const response = await signIn(app, 1)
  isRefusal(t, response, { status: 503, error: busy, challenge: null })
  t.equal(response.headers['retry-after'], '1')
  t.strictSame(stats(app), { running: 1, waiting: 0, refused: 1 })
  watch.hold(false)
  t.equal((await running).statusCode, 200)
  t.equal((await signIn(app, 1)).statusCode, 200, 'later there is a place again')
  t.strictSame(watch.passwords(), ['password0', 'password1'])
})

t.test('the default wait is told to the client', async (t) => {
  const watch = watchBcrypt(t, true)
  const app = await appWith(t, options({ concurrency: 1, maxQueue: 0 }))
  const running = signIn(app, 0)
  await until(() => watch.running.length === 1, 'one runs')
  t.equal(retryAfterOf(await signIn(app, 1)), 5)
  watch.hold(false)
  t.equal((await running).statusCode, 200)
})

for (const use of ['login', 'basic'] as const) {
  t.test(`${use}: a client that leaves while it waits is dropped without its run`, async (t) => {
    const watch = watchBcrypt(t, true)
    const { handler, take } = probe()
    const app = await appWith(
      t,
      options({ concurrency: 1 }),
      (app) => void app.get('/', { config: { auth: { use: 'basic' } } }, handler),
    )
    const port = await listen(app)
    const ask = (id: number, signal?: AbortSignal): ReturnType<typeof send> =>
      send(port, {
        ...(use === 'login' ? loginOf(id) : { path: '/', headers: header(id) }),
        ...(signal && { signal }),
      })
    const waiting = (): number => app.authn.stats().hashing.waiting
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
    t.strictSame(stats(app), { running: 0, waiting: 0, refused: 0 })
    t.equal(take(), use === 'login' ? 0 : 2)
    t.equal((await ask(1)).statusCode, 200, 'and may come again')
  })
}

t.test('a client that leaves while its user is looked up is dropped', async (t) => {
  const watch = watchBcrypt(t)
  const service = userService(people)
  const found = deferred()
  const asked = deferred()
  const left = deferred()
  const app = await appWith(
    t,
    options(
      { concurrency: 1 },
      {
        userService: {
          findByUsername: async (name, request) => {
            if (name === 'user0') {
              request.raw.socket.once('close', () => left.resolve())
              asked.resolve()
              await found.promise
            }
            return service.findByUsername(name, request)
          },
        },
      },
    ),
  )
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

t.test('HTTP/2: a stream that is closed while it waits, and not its neighbours', async (t) => {
  const watch = watchBcrypt(t, true)
  const app = Fastify({ http2: true })
  t.teardown(() => app.close())
  const { handler } = probe()
  await app.register(authn, options({ concurrency: 1 }))
  app.get('/', { config: { auth: { use: 'basic' } } }, handler as never)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const session = connect(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`)
  t.teardown(() => session.destroy())
  const ask = (
    id: number,
  ): { stream: ReturnType<typeof session.request>; status: Promise<unknown> } => {
    const stream = session.request({ ':path': '/', ...header(id) })
    const status = new Promise((resolve) => {
      stream.on('response', (headers) => resolve(headers[':status']))
      stream.on('error', () => resolve('closed'))
      stream.on('close', () => resolve('closed'))
    })
    stream.resume()
    stream.end()
    return { stream, status }
  }
  const stats = (): { waiting: number } => app.authn.stats().hashing
  const first = ask(0)
  await until(() => watch.running.length === 1, 'one runs')
  const second = ask(1)
  await until(() => stats().waiting === 1, 'one waits')
  const third = ask(2)
  await until(() => stats().waiting === 2, 'another one waits')
  second.stream.close(8)
  await until(() => stats().waiting === 1, 'the server has seen that it is closed')
  watch.hold(false)
  t.strictSame(await Promise.all([first.status, second.status, third.status]), [200, 'closed', 200])
  t.strictSame(watch.passwords(), ['password0', 'password2'])
  session.close()
})

t.test('registrations in one tree share one gate', async (t) => {
  const watch = watchBcrypt(t, true)
  const app = Fastify()
  t.teardown(() => app.close())
  const scopes: FastifyInstance[] = []
  const { userService } = options()
  const scope =
    (hashing?: AuthnOptions['hashing']) =>
    async (scope: FastifyInstance): Promise<void> => {
      await scope.register(authn, { ...options(hashing), userService })
      scopes.push(scope)
    }
  await app.register(scope({ concurrency: 1, maxQueue: 2 }), { prefix: '/a' })
  await app.register(scope(), { prefix: '/b' })
  await app.register(async (outer) => outer.register(scope({ concurrency: 1 })), {
    prefix: '/c',
  })
  const responses = ['/a', '/b', '/c'].map((prefix, id) =>
    signIn(app, id, { url: `${prefix}/login` }),
  )
  await until(
    () => scopes[0]?.authn.stats().hashing.waiting === 2,
    'one of the three runs, the others wait',
  )
  t.equal(watch.running.length, 1)
  t.equal(scopes.length, 3)
  for (const scope of scopes) t.strictSame(stats(scope), { running: 1, waiting: 2, refused: 0 })
  t.equal((await signIn(app, 3, { url: '/b/login' })).statusCode, 503, 'and one queue')
  watch.hold(false)
  t.strictSame(tally(await Promise.all(responses)), { 200: 3 })
  t.equal(watch.peak, 1)
})

t.test('registrations that want different gates stop the boot', async (t) => {
  const rows: [first: AuthnOptions['hashing'], second: AuthnOptions['hashing'], named: RegExp][] = [
    [{ concurrency: 1 }, { concurrency: 2 }, /"hashing\.concurrency": found 2, .* has 1\./],
    [undefined, { concurrency: 2 }, /"hashing\.concurrency": found 2, .* has the default\./],
    [{ maxQueue: 5 }, { maxQueue: 6 }, /"hashing\.maxQueue": found 6, .* has 5\./],
    [{ maxWait: 1 }, { maxWait: 2 }, /"hashing\.maxWait": found 2, .* has 1\./],
    [{ cost: 11 }, { cost: 12 }, /"hashing\.cost": found 12, .* has 11\./],
    [{ cost: 11 }, { cost: 10 }, /"hashing\.cost": found 10, .* has 11\./],
  ]
  for (const [first, second, named] of rows) {
    const app = Fastify()
    t.teardown(() => app.close())
    await app.register(async (scope) => scope.register(authn, options(first)), {
      prefix: '/a',
    })
    const error = await bootError(() =>
      app.register(async (scope) => scope.register(authn, options(second)), {
        prefix: '/b',
      }),
    )
    t.equal(error?.code, 'ERR_AUTH_OPTION')
    t.match(error?.message, named)
  }
})

t.test('apps with numbers of their own do not wait for each other', async (t) => {
  const watch = watchBcrypt(t, true)
  const apps = await Promise.all(
    [0, 1].map(() => appWith(t, options({ concurrency: 1, maxQueue: 0 }))),
  )
  const responses = apps.map((app, id) => signIn(app, id))
  await until(() => watch.running.length === 2, 'one runs in each')
  for (const app of apps) t.strictSame(stats(app), { running: 1, waiting: 0, refused: 0 })
  watch.hold(false)
  t.strictSame(tally(await Promise.all(responses)), { 200: 2 })
})

t.test(
  'app.close() during logins in flight: they finish or are refused, nothing hangs',
  async (t) => {
    const watch = watchBcrypt(t, true)
    const app = await appWith(t, options({ concurrency: 1, maxQueue: 3, maxWait: 30 }))
    const port = await listen(app)
    const all = people.map(({ id }) => send(port, loginOf(id)))
    const fates = all.map((response) => fateOf(response))
    await until(
      () => app.authn.stats().hashing.refused === people.length - 4,
      'one runs, three wait, the others are refused',
    )
    const closed = fateOf(app.close())
    await until(() => !app.server.listening, 'the server takes no more connections')
    await t.rejects(send(port, loginOf(0)), { code: 'ECONNREFUSED' }, 'new ones are not let in')
    t.equal(closed.state, 'pending', 'it waits for those in flight')
    watch.hold(false)
    await until(() => closed.state === 'resolved', 'it is closed')
    await until(() => fates.every(({ state }) => state === 'resolved'), 'everybody has an answer')
    t.strictSame(tally(await Promise.all(all)), { 200: 4, 503: people.length - 4 })
    t.equal(watch.runs.length, 4)
    t.strictSame(stats(app), { running: 0, waiting: 0, refused: people.length - 4 })
  },
)

t.test('app.close() with clients that do not leave, and a bcrypt that is slow', async (t) => {
  const watch = watchBcrypt(t, true)
  const app = await appWith(t, options({ concurrency: 1, maxWait: 0.3 }))
  const port = await listen(app)
  const first = send(port, loginOf(0))
  await until(() => watch.running.length === 1, 'one runs')
  const second = send(port, loginOf(1))
  await until(() => {
    const { waiting, refused } = app.authn.stats().hashing
    return waiting + refused === 1
  }, 'one waits, or has waited already')
  const closed = fateOf(app.close())
  isRefusal(t, await second, { status: 503, error: busy, challenge: null }, 'in its time')
  t.equal(closed.state, 'pending')
  watch.hold(false)
  t.equal((await first).statusCode, 200)
  await until(() => closed.state === 'resolved', 'it is closed')
})
