// Corners that no test of a subject reaches.
import bcrypt from 'bcrypt'
import Fastify from 'fastify'
import fp from 'fastify-plugin'
import t from 'tap'
import { authn, type JwtServiceLike } from '../../lib/index.js'
import { resolveOptions } from '../../lib/options.js'
import { Throttle } from '../../lib/throttle.js'
import { viewOf } from '../../lib/user-view.js'
import { appWith, basic, secret } from '../helpers/app.js'
import { rejectionOf, thrownBy } from '../helpers/errors.js'

const options = { basic: { username: 'a', password: 'b' } }
const hash = `$2b$10$${'a'.repeat(53)}`
const hidden = new Set(['password'])

t.test('an i18n plugin that fails gives a fault, not a crash', async (t) => {
  let calls = 0
  const app = Fastify()
  t.teardown(() => app.close())
  app.decorateRequest('lang', {
    getter(): string {
      throw new Error('no catalogue')
    },
  })
  await app.register(authn, options)
  app.get('/', { config: { auth: true } }, () => (calls += 1))
  const response = await app.inject('/')
  t.equal(response.statusCode, 500)
  t.notMatch(response.body, /catalogue/)
  t.equal(calls, 0)
})

t.test('a name where there is no authenticator at all', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(authn, {})
  app.get('/', { config: { auth: { use: 'jwt' } } }, () => 'open')
  const error = await rejectionOf(Promise.resolve(app.ready()))
  t.match(error.message, /use names "jwt".*Known: none\./)
})

t.test('an address is forgotten after the window', async (t) => {
  const settings = { perUsername: 1, perAddress: 1, window: 60, keyPrefix: 'test' }
  const throttle = new Throttle(settings, {} as never)
  const request = { ip: '192.0.2.1' } as never
  await throttle.failed('alice', request)
  await throttle.failed('alice', { ip: '192.0.2.5' } as never)
  await t.rejects(Promise.resolve(throttle.check('alice', request)))
  const start = performance.now()
  t.intercept(performance, 'now', { value: () => start + 61_000 })
  t.equal(throttle.check('alice', request), undefined)
  await throttle.failed('alice', { ip: '192.0.2.3' } as never)
  t.equal(throttle.check('alice', { ip: '192.0.2.5' } as never), undefined, 'not kept')
  t.equal(throttle.mayForget(request), false)
})

t.test('registered with a function, or as a module', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(authn, () => ({ ...options, auth: true }))
  app.get('/', () => 'for users')
  t.equal((await app.inject('/')).statusCode, 401)
  t.equal((await app.inject({ url: '/', headers: basic('a', 'b') })).statusCode, 200)

  const routes = { default: fp(async () => undefined) }
  const other = Fastify()
  t.teardown(() => other.close())
  await other.register(authn, options)
  const error = thrownBy(() => other.register(routes as never, { auth: true } as object))
  t.equal(error.code, 'ERR_AUTH_MARK')

  const nothing = Fastify()
  const { code } = await rejectionOf((async () => nothing.register(undefined as never))())
  t.match(code, /^AVV_/, 'the error of Fastify itself')
})

t.test('options that are none', async (t) => {
  const error = thrownBy(() => resolveOptions(5))
  t.equal(error.code, 'ERR_AUTH_OPTION')
  t.match(error.message, /option "options": found 5, expected an object/)
  const inner = thrownBy(() => resolveOptions({ languages: { de: { 'auth.jwt-expired': 5 } } }))
  t.match(inner.message, /option "languages.de.auth.jwt-expired": found 5, expected/)
})

t.test('hashes at any depth of what toJSON returns, and nothing else', async (t) => {
  const date = new Date(0)
  class User {
    password: string | null = hash
    when = date
    inner = { a: 1 }
    get digest() {
      return hash
    }
    toJSON() {
      return {
        date,
        plain: [1, 'a', { b: 1 }],
        texts: ['a', hash],
        deep: [{ password: 'x', c: 1 }, { d: hash }],
      }
    }
    toString() {
      return `user ${String(this.password)}`
    }
    toObject() {
      return { user: this }
    }
  }
  const user = new User()
  const view = viewOf(user, hidden) as User
  t.strictSame(JSON.parse(JSON.stringify(view)), {
    date: '1970-01-01T00:00:00.000Z',
    plain: [1, 'a', { b: 1 }],
    texts: ['a', null],
    deep: [{ c: 1 }, {}],
  })
  t.equal(view.when, date)
  t.equal(view.inner, user.inner, 'nothing in it to hide')
  t.equal(view.digest, undefined, 'a getter that tells a hash')
  t.equal((view as unknown as Record<symbol, unknown>)[Symbol('x')], undefined)
  t.equal(view.toString(), 'user ')
  user.password = null
  t.equal(view.toString(), 'user null')
  const accessor = Object.defineProperty(new User(), 'age', {
    get: () => 7,
    enumerable: true,
    configurable: true,
  })
  t.match({ ...viewOf(accessor, hidden) }, { age: 7 })
  t.type(Object.getOwnPropertyDescriptor(viewOf(accessor, hidden), 'age')?.get, 'function')
})

t.test('the record that an ORM keeps inside of its instance', async (t) => {
  class Row {
    dataValues = { name: 'a', password: 'x', digest: hash, age: 7 }
  }
  const view = viewOf(new Row(), hidden) as Row
  t.strictSame({ ...view.dataValues }, { name: 'a', age: 7 })
  t.strictSame(JSON.parse(JSON.stringify(view)), { dataValues: { name: 'a', age: 7 } })
})

t.test('a route that is marked when the app runs, where nothing can judge', async (t) => {
  let calls = 0
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(async (inner) => {
    await inner.register(authn, options)
  })
  app.get('/', (request) => {
    request.routeOptions.config.auth = true
    return (calls += 1)
  })
  t.equal((await app.inject('/')).statusCode, 200)
  const response = await app.inject('/')
  t.equal(response.statusCode, 500)
  t.notMatch(response.body, /config\.auth/)
  t.equal(calls, 1)
})

t.test('hashes in what hangs on a user, however deep', async (t) => {
  class Company {
    owner: object | null = null
    name = 'acme'
  }
  class Person {
    company = new Company()
    password = hash
    friends = [{ name: 'c', password: hash }]
  }
  const plain = { name: 'a', x: { y: [{ z: { digest: hash, n: 1 } }] }, when: new Date(0) }
  const shown = viewOf(plain, hidden) as typeof plain
  t.strictSame(shown, { name: 'a', x: { y: [{ z: { n: 1 } }] }, when: plain.when })
  t.equal(plain.x.y[0]?.z.digest, hash, 'the original keeps it')

  const person = new Person()
  const owner = new Person()
  person.company.owner = owner
  const text = JSON.stringify(viewOf(person, hidden))
  t.notMatch(text, /2b|password/)
  t.match(text, /acme/)
  const view = viewOf(person, hidden) as Person
  t.equal((view.company.owner as Person).password, undefined)
  t.ok(view.company instanceof Company)

  const circle: Record<string, unknown> = { name: 'a', password: hash, tag: Symbol('x') }
  circle['self'] = { of: circle, list: [circle] }
  const round = viewOf(circle, hidden) as { self: { of: object; list: object[] } }
  t.equal(round.self.of, round.self.list[0])
  t.notOk('password' in round.self.of)
  owner.company.owner = owner
  const loop = viewOf(owner, hidden) as Person
  t.equal(loop.company.owner, loop, 'so that JSON.stringify finds the circle')

  const harmless: Record<string, unknown> = { name: 'a' }
  harmless['self'] = harmless
  t.equal(viewOf(harmless, hidden), harmless, 'a circle without a hash')

  const many = { list: Array.from({ length: 2000 }, () => ({ name: 'a' })) }
  t.strictSame(viewOf(many, hidden), many)
  const bytes = { name: 'a', avatar: Buffer.alloc(100_000) }
  t.equal(viewOf(bytes, hidden), bytes)
  const secret = Symbol('hash')
  t.strictSame(viewOf({ password: hash, [secret]: hash }, hidden), {})
})

t.test('a JWT service of the app is never asked for what cannot be a token', async (t) => {
  const asked: string[] = []
  const jwtService: Partial<JwtServiceLike> = {
    signingMethod: 'HS256',
    load: async () => jwtService as never,
    canSign: () => false,
    canVerify: () => true,
    verifier: () => (token) => {
      asked.push(token)
      return { sub: 'alice' }
    },
  }
  const users = { findByUsername: () => ({ name: 'alice' }) }
  const app = await appWith(t, { userService: users, jwtService: jwtService as never }, (app) => {
    app.get('/', { config: { auth: true } }, () => 'in')
  })
  for (const token of ['a,b', 'a b', 'ä', '=']) {
    const headers = { authorization: `Bearer ${token}` }
    t.equal((await app.inject({ url: '/', headers })).statusCode, 401, token)
  }
  t.strictSame(asked, [])
  const headers = { authorization: 'Bearer a.b' }
  t.equal((await app.inject({ url: '/', headers })).statusCode, 200)
  t.strictSame(asked, ['a.b'])
})

t.test('a user that cannot be shown is a fault, at login too', async (t) => {
  const target = { name: 'a', password: bcrypt.hashSync('b', 4) }
  const user = new Proxy(target, {
    ownKeys() {
      throw new Error('the keys of the vault')
    },
  })
  const userOptions = { userService: { findByUsername: () => user }, jwt: { secret } }
  const app = await appWith(t, { ...userOptions, authenticator: 'basic' }, (app) => {
    app.get('/', { config: { auth: true } }, () => 'in')
  })
  const payload = { username: 'a', password: 'b' }
  const login = await app.inject({ method: 'POST', url: '/login', payload })
  const protectedRoute = await app.inject({ url: '/', headers: basic('a', 'b') })
  for (const response of [login, protectedRoute]) {
    t.equal(response.statusCode, 500)
    t.notMatch(response.body, /vault|token/)
  }
})

t.test('own fields that are named as what all objects inherit', async (t) => {
  const user = { name: 'a', constructor: 'McLaren', toString: 'x', password: hash }
  const view = viewOf(user, hidden)
  t.strictSame({ ...view }, { name: 'a', constructor: 'McLaren', toString: 'x' })
})

t.test('a user whose toJSON is its own', async (t) => {
  const user = { name: 'a', toJSON: () => ({ name: 'a', password: hash }) }
  const app = await appWith(t, { authenticator: { authenticate: () => user } }, (app) => {
    app.get('/', { config: { auth: true } }, (request) => request.user)
  })
  t.strictSame((await app.inject('/')).json(), { name: 'a' })
})

t.test('a route that is marked when the app runs', async (t) => {
  const app = await appWith(t, options, (app) => {
    app.get('/', (request) => {
      request.routeOptions.config.auth = { mode: true, use: 'configBasic' }
      return 'for users, from now on'
    })
  })
  t.equal((await app.inject('/')).statusCode, 200)
  t.equal((await app.inject('/')).statusCode, 401)
  t.equal((await app.inject({ url: '/', headers: basic('a', 'b') })).statusCode, 200)
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
    const throttle = new Throttle({ ...settings, redis }, log)
    await throttle.checkShared('alice', request)
    t.equal(lines.length, 1, 'reported once, and this process counts alone')
    await throttle.succeeded('nobody', request, true)
    await throttle.failedHere('alice', request)
    await throttle.succeeded('alice', request, true)
    t.equal(throttle.mayForget(request, true), true, 'the address stays')
  }
})
