// program: requests
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import t, { type Test } from 'tap'
import { authn, type AuthnOptions } from '../../lib/index.js'
import {
  appWith,
  basic,
  cost,
  fastify,
  passwords,
  secret,
  standardOptions,
  userService,
} from '../helpers/app.js'
import { FakeRedis } from '../helpers/fake-redis.js'
import {
  basicChallenge,
  isRejection,
  isWelcome,
  probe,
  messages,
  type AnyResponse,
} from '../helpers/flows.js'
import {
  hashAtOnce,
  login,
  retryAfterOf,
  settle,
  tally,
  tooMany,
  tooManyInGerman,
  until,
  watchBcrypt,
} from '../helpers/load.js'

interface Asking {
  readonly ip?: string
  readonly headers?: Record<string, string>
}

type Setting = Awaited<ReturnType<typeof setting>>

const uses = ['login', 'basic'] as const

async function setting(
  t: Test,
  use: (typeof uses)[number],
  throttle?: AuthnOptions['throttle'],
  server: FastifyServerOptions = {},
  more: AuthnOptions = {},
  atOnce = 2,
) {
  hashAtOnce(t, atOnce)
  const service = userService()
  const handled = probe()
  const app = await appWith(
    t,
    { userService: service, jwt: { secret }, throttle, ...more },
    (app) => {
      app.get('/token', { config: { auth: true } }, handled.handler)
      for (const mode of [true, 'try', 'optional'] as const)
        app.get(`/${mode}`, { config: { auth: { mode, use: 'basic' } } }, handled.handler)
    },
    server,
  )
  const enter = async (
    username: string,
    password: string,
    { ip = '192.0.2.1', headers = {} }: Asking = {},
  ): Promise<AnyResponse> =>
    use === 'login'
      ? login(app, username, password, { remoteAddress: ip, headers })
      : app.inject({
          url: '/true',
          remoteAddress: ip,
          headers: { ...basic(username, password), ...headers },
        })
  return { ...handled, app, service, enter }
}

/** Fails so many times, and makes sure that each of them is a 401. */
async function guess(
  t: Test,
  enter: Setting['enter'],
  times: number,
  username: string | ((count: number) => string) = 'alice',
  asking: Asking = {},
): Promise<void> {
  const statuses: number[] = []
  for (let count = 0; count < times; count += 1) {
    const name = typeof username === 'string' ? username : username(count)
    statuses.push((await enter(name, `guess ${count}`, asking)).statusCode)
  }
  t.strictSame(statuses, Array<number>(times).fill(401), `${times} failures`)
}

const tooManyAttempts = { status: 429, error: tooMany, challenge: null }

for (const use of uses) {
  t.test(`${use}: the 11th guess of a name from an address gets a 429, known or not`, async (t) => {
    const answers: object[] = []
    for (const name of ['alice', 'nobody']) {
      const watch = watchBcrypt(t)
      const { app, enter, service, take } = await setting(t, use)
      await guess(t, enter, 10, name)
      const response = await enter(name, 'wonderland')
      isRejection(t, response, tooManyAttempts, 'even with the right password')
      const seconds = retryAfterOf(response)
      t.ok(seconds > 0 && seconds <= 900, `Retry-After: ${seconds}`)
      const inGerman = { ...tooManyAttempts, error: tooManyInGerman, language: 'de' }
      isRejection(t, await enter(name, 'guess', { headers: { 'accept-language': 'de' } }), inGerman)
      t.equal(watch.runs.length, 10, 'no bcrypt')
      t.equal(service.asked.length, 10, 'and the user service is not asked')
      t.equal(take(), 0)
      t.equal(app.authn.stats().throttled, 2)
      const { date: _date, 'retry-after': _after, ...rest } = response.headers
      answers.push(rest)
    }
    t.strictSame(answers[0], answers[1], 'known and unknown names do not differ')
  })

  t.test(`${use}: an address gets a 429 after 100 failures, whatever the names`, async (t) => {
    const watch = watchBcrypt(t)
    const { enter } = await setting(t, use)
    await guess(t, enter, 100, (count) => `name${count}`)
    for (const name of ['alice', 'new', 'name1']) {
      isRejection(t, await enter(name, 'wonderland'), tooManyAttempts, name)
    }
    t.equal(watch.runs.length, 100)
    t.equal((await enter('alice', 'wonderland', { ip: '192.0.2.2' })).statusCode, 200)
  })

  t.test(`${use}: a success resets the failures of its name, not of its address`, async (t) => {
    const more = { credentialCache: false } as const
    const { enter } = await setting(t, use, { perUsername: 4, perAddress: 10 }, {}, more)
    await guess(t, enter, 3)
    await guess(t, enter, 3, 'bob')
    t.equal((await enter('alice', 'wonderland')).statusCode, 200)
    await guess(t, enter, 3)
    await guess(t, enter, 1, 'bob')
    t.equal((await enter('bob', 'le bricoleur')).statusCode, 429, 'not that of another name')
    t.equal((await enter('alice', 'wonderland', { ip: '192.0.2.2' })).statusCode, 200)
    t.equal((await enter('alice', 'wonderland')).statusCode, 429, 'the address is full')
  })

  t.test(`${use}: concurrent guesses exceed it by at most those hashed at once`, async (t) => {
    const [atOnce, sent] = [3, 40]
    for (const name of ['alice', 'nobody']) {
      const watch = watchBcrypt(t, true)
      const hashing = { cost, maxQueue: 4 * sent }
      const { app, enter } = await setting(t, use, undefined, {}, { hashing }, atOnce)
      const all = Array.from({ length: sent }, (_, count) => enter(name, `guess ${count}`))
      const waiting = sent - atOnce
      await until(() => app.authn.stats().hashing.waiting === waiting, 'all have come')
      while (app.authn.stats().hashing.running > 0) {
        for (const run of watch.running) run.finish(false)
        await settle(1)
      }
      const { 401: checked = 0, 429: rejected = 0 } = tally(await Promise.all(all))
      t.equal(checked + rejected, sent)
      t.ok(checked >= 10 && checked <= 10 + atOnce, `${checked} were checked`)
      t.equal(watch.runs.length, checked)
      t.equal(app.authn.stats().throttled, rejected)
    }
  })
}

t.test('failures count for X-Forwarded-For only if the proxy is trusted', async (t) => {
  const proxy = '10.0.0.1'
  const via = (client: string): Asking => ({ ip: proxy, headers: { 'x-forwarded-for': client } })
  const { enter } = await setting(t, 'login', { perUsername: 2 }, { trustProxy: proxy })
  await guess(t, enter, 2, 'alice', via('192.0.2.1'))
  const status = async (asking: Asking) => (await enter('alice', 'wonderland', asking)).statusCode
  t.equal(await status(via('192.0.2.1')), 429)
  t.equal(await status(via('203.0.113.9, 192.0.2.1')), 429, 'what the client itself sent')
  t.equal(await status(via('192.0.2.2')), 200)
  // Fastify trusts no proxy where it gets their number: all clients share the address of the proxy.
  for (const trustProxy of [false, 1]) {
    const server = { trustProxy: trustProxy as boolean }
    const direct = await setting(t, 'login', { perUsername: 2 }, server)
    await guess(t, direct.enter, 1, 'alice', via('192.0.2.1'))
    await guess(t, direct.enter, 1, 'alice', via('192.0.2.2'))
    isRejection(t, await direct.enter('alice', 'wonderland', via('192.0.2.3')), tooManyAttempts)
  }
})

t.test('failures at the login and of Basic count together', async (t) => {
  const { app, enter } = await setting(t, 'login', { perUsername: 4 })
  const byBasic: Setting['enter'] = (name, password) =>
    app.inject({ url: '/true', remoteAddress: '192.0.2.1', headers: basic(name, password) })
  await guess(t, enter, 2)
  await guess(t, byBasic, 2)
  isRejection(t, await enter('alice', 'wonderland'), tooManyAttempts, 'login')
  isRejection(t, await byBasic('alice', 'wonderland'), tooManyAttempts, 'Basic')
})

t.test('guesses from an address do not lock out its user with cached credentials', async (t) => {
  const { app, enter, service } = await setting(t, 'basic', { perUsername: 4, perAddress: 40 })
  t.equal((await enter('alice', 'wonderland')).statusCode, 200)
  for (let round = 0; round < 3; round += 1) {
    await guess(t, enter, 4)
    isRejection(t, await enter('alice', 'guess'), tooManyAttempts)
    t.equal((await enter('alice', 'wonderland')).statusCode, 200, 'cached, which resets')
  }
  await guess(t, enter, 4)
  const atLogin = await login(app, 'alice', 'wonderland', { remoteAddress: '192.0.2.1' })
  isRejection(t, atLogin, tooManyAttempts, 'not at the login')
  const asked = service.asked.length
  // Of these, each is compared with the cached password, and so each counts for the address.
  for (let count = 19; count < 40; count += 1) {
    isRejection(t, await enter('alice', `guess ${count}`), tooManyAttempts)
  }
  isRejection(t, await enter('alice', 'wonderland'), tooManyAttempts, 'the address is full')
  t.equal(service.asked.length, asked, 'no user was looked up')
  const elsewhere = { ip: '192.0.2.9' }
  t.equal((await enter('alice', 'wonderland', elsewhere)).statusCode, 200)
})

t.test('credentials that are cached for another address get a 429 after guesses', async (t) => {
  const { enter } = await setting(t, 'basic', { perUsername: 4, perAddress: 6 })
  t.equal((await enter('alice', 'wonderland', { ip: '192.0.2.9' })).statusCode, 200)
  await guess(t, enter, 4)
  for (let count = 0; count < 10; count += 1) {
    isRejection(t, await enter('alice', 'wonderland'), tooManyAttempts)
  }
  t.equal((await enter('bob', 'le bricoleur')).statusCode, 200, 'the address is not full')
})

t.test('a failure on a route with basic and configBasic counts once', async (t) => {
  const options = {
    userService: userService(),
    authenticator: 'basic',
    basic: { username: 'robot', password: 'of the configuration' },
    hashing: { cost },
    throttle: { perUsername: 2 },
  }
  const app = await appWith(t, options, (app) => {
    app.get('/', { config: { auth: { use: ['basic', 'configBasic'] } } }, () => 'ok')
    app.get('/again', { config: { auth: { use: ['configBasic', 'basic'] } } }, () => 'ok')
  })
  const enter = async (url: string, name: string, password: string): Promise<number> =>
    (await app.inject({ url, headers: basic(name, password) })).statusCode
  for (const url of ['/', '/again']) {
    for (let count = 0; count < 4; count += 1) {
      t.equal(await enter(url, 'bob', 'le bricoleur'), 200)
      t.equal(await enter(url, 'robot', 'of the configuration'), 200)
    }
  }
  for (const name of ['bob', 'robot']) {
    for (const url of ['/', '/again']) t.equal(await enter(url, name, 'guess'), 401)
    t.equal(await enter('/', name, 'guess'), 429, 'each of them has counted, once')
  }
})

t.test('guesses of the configured password are throttled as all others', async (t) => {
  const credentials = { username: 'robot', password: 'of the configuration' }
  for (const redis of [undefined, new FakeRedis()]) {
    const throttle = redis === undefined ? {} : { redis, keyPrefix: 'test' }
    const app = await appWith(t, { basic: credentials, throttle }, (app) => {
      app.get('/', { config: { auth: true } }, () => 'ok')
    })
    const enter = (password: string, remoteAddress = '192.0.2.1'): Promise<AnyResponse> =>
      app.inject({ url: '/', remoteAddress, headers: basic('robot', password) })
    const right = credentials.password
    t.equal((await enter(right, '192.0.2.2')).statusCode, 200)
    for (let count = 0; count < 10; count += 1) {
      t.equal((await enter(`guess ${count}`)).statusCode, 401)
    }
    isRejection(t, await enter('guess'), tooManyAttempts)
    isRejection(t, await enter(right), tooManyAttempts, 'also when it is right')

    for (let count = 0; count < 10; count += 1) {
      t.equal((await enter(`guess ${count}`, '192.0.2.2')).statusCode, 401)
    }
    isRejection(t, await enter('guess', '192.0.2.2'), tooManyAttempts)
    t.equal((await enter(right, '192.0.2.2')).statusCode, 200, 'cached there')
    t.equal((await enter('guess', '192.0.2.2')).statusCode, 401, 'which resets')

    const all = Array.from({ length: 60 }, (_, count) => enter(`guess ${count}`, '192.0.2.3'))
    const counts = tally(await Promise.all([...all, enter(right, '192.0.2.3')]))
    t.strictSame(counts, { 401: 10, 429: 51 }, 'at the same time no more than one after another')
  }
})

t.test('cached credentials ask Redis only where this process has counted a failure', async (t) => {
  const redis = new FakeRedis()
  const { enter } = await setting(t, 'basic', { redis, keyPrefix: 'test', perUsername: 3 })
  t.equal((await enter('alice', 'wonderland')).statusCode, 200)
  const commandsOf = async (): Promise<number> => {
    redis.commands.length = 0
    t.equal((await enter('alice', 'wonderland')).statusCode, 200)
    return redis.commands.length
  }
  t.equal(await commandsOf(), 0)
  await guess(t, enter, 1, 'bob')
  t.equal(await commandsOf(), 0, 'of another name at its address')
  for (let round = 0; round < 2; round += 1) {
    await guess(t, enter, 2)
    t.equal(await commandsOf(), 1, 'they are deleted')
  }
})

t.test('a throttled request gets a 429 in every mode, even try', async (t) => {
  const { app, take } = await setting(t, 'basic')
  for (let count = 0; count < 10; count += 1) {
    const headers = basic('alice', `guess ${count}`)
    isWelcome(t, await app.inject({ url: '/try', remoteAddress: '192.0.2.1', headers }), null)
  }
  t.equal(take(), 10, 'wrong credentials under the mark "try" count, too')
  for (const url of ['/true', '/try', '/optional']) {
    const headers = basic('alice', 'wonderland')
    const response = await app.inject({ url, remoteAddress: '192.0.2.1', headers })
    isRejection(t, response, tooManyAttempts, url)
    t.equal(take(), 0)
  }
  const anonymous = await app.inject({ url: '/try', remoteAddress: '192.0.2.1' })
  isWelcome(t, anonymous, null, 'a request without credentials is not throttled')
})

t.test('requests without a name and password, and wrong tokens, are not counted', async (t) => {
  const { app, enter, take } = await setting(t, 'basic', { perUsername: 1, perAddress: 1 })
  const ask = (headers: Record<string, string>, url = '/true'): Promise<AnyResponse> =>
    app.inject({ url, remoteAddress: '192.0.2.1', headers })
  for (let count = 0; count < 5; count += 1) {
    for (const authorization of ['Bearer abc.def.ghi', 'Basic', 'Basic !!!'])
      t.equal((await ask({ authorization })).statusCode, 401)
    for (const headers of [{}, basic('', 'x')]) t.equal((await ask(headers)).statusCode, 401)
    t.equal((await ask({ authorization: 'Bearer a.b.c' }, '/token')).statusCode, 401)
    t.equal((await login(app, '', 'x', { remoteAddress: '192.0.2.1' })).statusCode, 400)
  }
  isRejection(t, await ask({}), { error: messages.none, challenge: basicChallenge })
  t.equal((await enter('alice', 'wonderland')).statusCode, 200)
  t.equal(take(), 1)
})

t.test('an internal error counts as no failure', async (t) => {
  const service = userService()
  const answers = [1, 2, 3].map(() => () => {
    throw new Error('database is away')
  })
  const findByUsername: typeof service.findByUsername = (name, request) =>
    (answers.pop() ?? service.findByUsername)(name, request)
  const limits = { perUsername: 1, perAddress: 1 }
  const { enter } = await setting(t, 'login', limits, {}, { userService: { findByUsername } })
  const statuses: number[] = []
  for (let count = 0; count < 4; count += 1) {
    statuses.push((await enter('alice', 'wonderland')).statusCode)
  }
  t.strictSame(statuses, [500, 500, 500, 200])
})

for (const redis of [undefined, new FakeRedis()]) {
  const title = redis === undefined ? 'one process' : 'two processes'
  t.test(`one host locks out none of its IPv6 neighbours, in ${title}`, async (t) => {
    const shared = redis === undefined ? {} : { redis, keyPrefix: 'test' }
    const throttle = { perUsername: 2, perAddress: 4, ...shared }
    const apps = [await setting(t, 'login', throttle), await setting(t, 'login', throttle)]
    let turn = 0
    const guess = async (ip: string, name = `user${turn}`): Promise<number> => {
      turn += 1
      const { enter } = (redis === undefined ? apps[0] : apps[turn % 2]) as Setting
      return (await enter(name, 'guess', { ip })).statusCode
    }
    const failAll = async (addresses: string[]): Promise<void> => {
      for (const ip of addresses)
        for (let count = 0; count < 4; count += 1) t.equal(await guess(ip), 401, ip)
    }
    const hosts = (home: string): string[] => [1, 2, 3, 4].map((id) => `2001:db8:1:${home}${id}::1`)
    await failAll(['2001:db8:1:101::1'])
    t.equal(await guess('2001:db8:1:101::2'), 429, 'the /64 of the host')
    await failAll(hosts('10').slice(1))
    t.equal(await guess('2001:db8:1:1ff::1'), 429, 'the /56 of the home, once four hosts of it are')
    for (const home of ['20', '30', '40']) await failAll(hosts(home))
    t.equal(await guess('2001:db8:1:ff00::1'), 429, 'the /48, once four homes of it are')
    t.equal(await guess('2001:db8:2:101::1'), 401, 'another one')
    t.equal(await guess('192.0.2.1'), 401, 'IPv4')

    for (const ip of [1, 1, 2, 2, 3, 3, 4, 4].map((id) => `2001:db8:3:10${id}::1`))
      t.equal(await guess(ip, 'alice'), 401, ip)
    t.equal(await guess('2001:db8:3:1ff::1', 'alice'), 429, 'one name, from a /56')
    t.equal(await guess('2001:db8:3:201::1', 'alice'), 401, 'its neighbour')
  })
}

t.test('registrations with one Redis count apart, be it in one app or in two', async (t) => {
  const redis = new FakeRedis()
  const throttle = { perUsername: 2, redis, keyPrefix: 'test' }
  const at = (path = '/login') =>
    appWith(t, { ...standardOptions(), login: { path }, throttle }, (app) => {
      app.get('/', { config: { auth: { use: 'basic' } } }, () => 'ok')
    })
  const status = async (app: FastifyInstance, url: string, password: string): Promise<number> => {
    const { statusCode } = await app.inject({ url, headers: basic('alice', password) })
    return statusCode
  }
  const [shop, staff] = [await at(), await at('/staff/login')]
  for (const password of ['guess', passwords.alice, 'guess'])
    t.ok(await status(password === 'guess' ? shop : staff, '/', password))
  t.equal(
    await status(shop, '/', passwords.alice),
    429,
    'the login of another alice resets nothing',
  )
  t.equal(await status(await at(), '/', passwords.alice), 429, 'another process of the shop')
  t.equal(await status(staff, '/', passwords.alice), 200)

  const both = fastify(t)
  for (const prefix of ['/a', '/b'])
    await both.register(async (scope) => {
      await scope.register(authn, {
        userService: userService(),
        authenticator: 'basic',
        hashing: { cost },
        throttle,
      })
      scope.get(prefix, { config: { auth: { use: 'basic' } } }, () => 'ok')
    })
  for (let count = 0; count < 2; count += 1) await status(both, '/a', 'guess')
  t.equal(await status(both, '/a', passwords.alice), 429)
  t.equal(await status(both, '/b', passwords.alice), 200, 'nor scopes without a prefix')
})
