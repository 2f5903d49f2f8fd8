import bcrypt from 'bcrypt'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import {
  anyOf,
  authn,
  basicAuthenticator,
  configBasicAuthenticator,
  jwtAuthenticator,
  storedUser,
  type Authenticator,
  type AuthnOptions,
} from '../../lib/index.js'
import { userFromContext } from '../../lib/request/context.js'
import {
  appWith,
  basic,
  bearer,
  logLines,
  passwords,
  secret,
  standardOptions,
  users,
} from '../helpers/app.js'
import { serviceOf } from '../helpers/flows.js'

const hash = users[0]?.password ?? ''

/** Every handler that a newcomer might write. */
function declareLeaks(app: FastifyInstance, auth: string | readonly string[]): void {
  const config = { auth: { use: auth } }
  const properties = { name: { type: 'string' }, password: { type: 'string' } }
  const listed = { type: 'object', properties }
  app.get('/returned', { config }, (request) => request.user)
  app.get('/async', { config }, async (request) => request.user)
  app.get('/sent', { config }, (request, reply) => reply.send(request.user))
  app.get('/nested', { config }, (request) => ({ user: request.user }))
  app.get('/list', { config }, (request) => [request.user])
  app.get('/spread', { config }, (request) => ({ ...request.user }))
  app.get('/assigned', { config }, (request) => Object.assign({}, request.user))
  app.get('/text', { config }, (request) => JSON.stringify(request.user))
  app.get('/entries', { config }, (request) => Object.entries(request.user))
  app.get('/context', { config }, () => userFromContext())
  app.get('/schema', { config, schema: { response: { 200: listed } } }, (request) => request.user)
  app.get(
    '/nested-schema',
    { config, schema: { response: { 200: { type: 'object', properties: { user: listed } } } } },
    (request) => ({ user: request.user }),
  )
  app.get(
    '/loose-schema',
    {
      config,
      schema: { response: { 200: { type: 'object', additionalProperties: true } } },
    },
    (request) => request.user,
  )
  app.get('/stored', { config }, (request) => ({ same: storedUser(request) }))
}

const urls = [
  '/returned',
  '/async',
  '/sent',
  '/nested',
  '/list',
  '/spread',
  '/assigned',
  '/text',
  '/entries',
  '/context',
  '/schema',
  '/nested-schema',
  '/loose-schema',
]

class Entity {
  id = 1
  name = 'alice'
  password = hash
  get greeting(): string {
    return `Hello ${this.name}`
  }
}

class WithToJson extends Entity {
  toJSON(): object {
    return { ...Object.fromEntries(Object.entries(this)), seen: true }
  }
}

class WithOwnToJson extends Entity {
  toJSON = (): object => ({ id: this.id, name: this.name, password: this.password })
}

/** Fields are getters of the prototype over private data, as in several ORMs. */
class Model {
  readonly #data = { id: 1, name: 'alice', password: hash }
  get name(): string {
    return this.#data.name
  }
  get password(): string {
    return this.#data.password
  }
  toJSON(): object {
    return { ...this.#data }
  }
}

/** Only its JSON has the field. */
class Sealed {
  readonly #data = { id: 1, name: 'alice', password: hash }
  get name(): string {
    return this.#data.name
  }
  toJSON(): object {
    return this.#data
  }
}

const records: Record<string, () => object> = {
  'a plain object': () => ({ id: 1, name: 'alice', password: hash }),
  'a frozen object': () => Object.freeze({ id: 1, name: 'alice', password: hash }),
  'an object without prototype': () =>
    Object.assign(Object.create(null) as object, { name: 'alice', password: hash }),
  'an object with toJSON': () => ({
    name: 'alice',
    password: hash,
    toJSON(this: { name: string; password: string }): object {
      return { name: this.name, password: this.password }
    },
  }),
  'an instance': () => new Entity(),
  'a frozen instance': () => Object.freeze(new Entity()),
  'an instance with toJSON': () => new WithToJson(),
  'an instance with its own toJSON': () => new WithOwnToJson(),
  'a model': () => new Model(),
  'a child of an object with the field': () =>
    Object.assign(Object.create({ password: hash }) as object, { name: 'alice' }),
}

async function assertHidden(
  t: Test,
  app: FastifyInstance,
  headers: Record<string, string>,
  prefix = '',
  name = '',
): Promise<void> {
  for (const url of urls) {
    const title = `${name} ${prefix}${url}`
    const response = await app.inject({ url: prefix + url, headers })
    t.equal(response.statusCode, 200, title)
    t.notMatch(response.body, /password|\$2[aby]\$/, title)
    if (!/spread|assigned|entries/.test(url)) t.match(response.body, 'alice', `${title}: the rest`)
  }
}

t.test('jwt, basic and a custom authenticator, for records of every kind', async (t) => {
  const recordOf = (name: unknown): object => records[String(name)]?.() ?? {}
  const custom: Authenticator = { authenticate: ({ headers }) => recordOf(headers['x-record']) }
  const app = await appWith(
    t,
    { userService: serviceOf(recordOf), jwt: { secret }, authenticators: { custom } },
    async (app) => {
      for (const use of ['jwt', 'basic', 'custom']) {
        await app.register(async (app) => declareLeaks(app, use), { prefix: `/${use}` })
      }
    },
  )
  for (const name of Object.keys(records)) {
    await assertHidden(t, app, bearer(app.jwtService.generateToken(name)), '/jwt', name)
    await assertHidden(t, app, basic(name, passwords.alice), '/basic', name)
    await assertHidden(t, app, { 'x-record': name }, '/custom', name)
  }
})

t.test('a record whose JSON alone has the field', async (t) => {
  const app = await appWith(
    t,
    { userService: serviceOf(() => new Sealed()), jwt: { secret } },
    (app) => declareLeaks(app, 'jwt'),
  )
  await assertHidden(t, app, bearer(app.jwtService.generateToken('alice')))
})

t.test('anyOf and wrapped authenticators', async (t) => {
  const inner = basicAuthenticator()
  const options: AuthnOptions = {
    userService: serviceOf(() => ({ name: 'alice', password: hash })),
    jwt: { secret },
    authenticators: {
      any: anyOf(jwtAuthenticator(), basicAuthenticator()),
      wrapped: { ...inner, authenticate: (request) => inner.authenticate(request) },
      both: configBasicAuthenticator({ username: 'alice', password: 'x' }),
    },
  }
  const password = basic('alice', passwords.alice)
  for (const [use, headers] of [
    ['any', password],
    ['wrapped', password],
    [['jwt', 'basic'], password],
    ['both', basic('alice', 'x')],
  ] as const) {
    const app = await appWith(t, options, (app) => declareLeaks(app, use))
    await assertHidden(t, app, headers)
  }
})

t.test('other names of the field', async (t) => {
  const record = { name: 'alice', password: 'my favourite', hash, pin: hash }
  const everybody = serviceOf(() => record)
  const app = await appWith(
    t,
    {
      userService: everybody,
      jwt: { secret },
      passwordField: 'hash',
      authenticators: { pin: basicAuthenticator({ passwordField: 'pin' }) },
    },
    async (app) => {
      app.get('/', { config: { auth: true } }, (request) => request.user)
      await app.register(
        async (app) => {
          await app.register(authn, {
            userService: everybody,
            jwt: { secret },
            passwordField: 'pin',
            login: false,
          })
          app.get('/', { config: { auth: true } }, (request) => request.user)
        },
        { prefix: '/inner' },
      )
    },
  )
  const headers = bearer(app.jwtService.generateToken('alice'))
  const outer = await app.inject({ url: '/', headers })
  t.equal(outer.statusCode, 200)
  t.strictSame(outer.json(), { name: 'alice', password: 'my favourite' })
  const inner = await app.inject({ url: '/inner', headers })
  t.strictSame(inner.json(), { name: 'alice', password: 'my favourite' }, 'a hash by its shape')
})

t.test('the stored record is there for those who ask', async (t) => {
  const record = new Entity()
  const seen: unknown[] = []
  const app = await appWith(
    t,
    {
      userService: serviceOf(() => record),
      jwt: { secret },
      login: {
        tokenFunc: (request: FastifyRequest, user: object) => {
          seen.push(user === record, request.user)
          return 'token'
        },
      },
    },
    (app) => {
      app.get('/', { config: { auth: true } }, (request) => {
        seen.push(storedUser(request) === record, request.user === userFromContext())
        return {}
      })
      app.get('/open', (request) => ({ stored: storedUser(request), user: request.user }))
      app.get('/try', { config: { auth: 'try' } }, (request) => ({ stored: storedUser(request) }))
    },
  )
  const payload = { username: 'alice', password: passwords.alice }
  const login = await app.inject({ method: 'POST', url: '/login', payload })
  t.equal(login.body, '{"token":"token"}')
  const headers = bearer(app.jwtService.generateToken('alice'))
  t.equal((await app.inject({ url: '/', headers })).statusCode, 200)
  t.strictSame(seen, [true, null, true, true])
  t.strictSame((await app.inject({ url: '/open', headers })).json(), { stored: null, user: null })
  t.strictSame((await app.inject('/try')).json(), { stored: null })
})

t.test('instances go on working', async (t) => {
  const saved: unknown[] = []
  class User extends Entity {
    #visits = 0
    visit(): this {
      this.#visits += 1
      return this
    }
    get visits(): number {
      return this.#visits
    }
    async save(): Promise<this> {
      saved.push(Object.fromEntries(Object.entries(this)))
      return this
    }
    verify(password: string): boolean {
      return bcrypt.compareSync(password, this.password)
    }
  }
  const record = new User()
  const app = await appWith(t, { userService: serviceOf(() => record), jwt: { secret } }, (app) => {
    app.get('/', { config: { auth: true } }, async () => {
      const user = userFromContext<User>() as User
      user.name = 'alicia'
      const again = await user.visit().visit().save()
      return {
        again: again === user,
        isUser: user instanceof User,
        isEntity: user instanceof Entity,
        constructor: user.constructor === User,
        greeting: user.greeting,
        visits: user.visits,
        verify: [user.verify(passwords.alice), user.verify('x')],
        password: String(user.password),
        has: 'password' in user,
        keys: Object.keys(user),
      }
    })
  })
  const response = await app.inject({
    url: '/',
    headers: bearer(app.jwtService.generateToken('alice')),
  })
  t.equal(response.statusCode, 200)
  t.strictSame(response.json(), {
    again: true,
    isUser: true,
    isEntity: true,
    constructor: true,
    greeting: 'Hello alicia',
    visits: 2,
    verify: [true, false],
    password: 'undefined',
    has: false,
    keys: ['id', 'name'],
  })
  t.strictSame(saved, [{ id: 1, name: 'alicia', password: hash }], 'the record keeps its hash')
})

t.test('what an app puts into request.user is shown as it is', async (t) => {
  const app = await appWith(t, standardOptions(), (app) => {
    app.addHook('preHandler', async (request) => {
      if (request.user !== null) request.user = { name: 'impersonated' } as never
    })
    app.get('/', { config: { auth: true } }, (request) => request.user)
  })
  const headers = bearer(app.jwtService.generateToken('alice'))
  t.strictSame((await app.inject({ url: '/', headers })).json(), { name: 'impersonated' })
})

t.test('a user that is logged has no hash', async (t) => {
  for (const record of [{ name: 'alice', password: hash }, new Entity(), new Model()]) {
    const { lines, stream } = logLines()
    const app = await appWith(
      t,
      { userService: serviceOf(() => record), jwt: { secret } },
      (app) => {
        app.get('/', { config: { auth: true } }, (request) => {
          request.log.info({ user: request.user }, 'seen')
          request.log.info(request.user)
          return {}
        })
      },
      { logger: { level: 'trace', stream } },
    )
    const headers = bearer(app.jwtService.generateToken('alice'))
    t.equal((await app.inject({ url: '/', headers })).statusCode, 200)
    t.match(JSON.stringify(lines), 'alice')
    t.notMatch(JSON.stringify(lines), /\$2[aby]\$/)
  }
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

t.test('a user whose toJSON is its own', async (t) => {
  const user = { name: 'a', toJSON: () => ({ name: 'a', password: hash }) }
  const app = await appWith(t, { authenticator: { authenticate: () => user } }, (app) => {
    app.get('/', { config: { auth: true } }, (request) => request.user)
  })
  t.strictSame((await app.inject('/')).json(), { name: 'a' })
})

t.test('hashes under other names, and a user that hangs on itself', async (t) => {
  const hash = `$2b$10$${'a'.repeat(53)}`
  class Circle {
    password = hash
    self = { user: this as unknown }
  }
  const users: Record<string, object> = {
    circle: new Circle(),
    'another name': { name: 'a', passwordHash: hash },
    'another name in a class': new (class {
      digest = hash
    })(),
  }
  for (const [name, user] of Object.entries(users)) {
    const app = await appWith(t, { authenticator: { authenticate: () => user } }, (app) => {
      app.get('/', { config: { auth: true } }, (request) => ({
        user: name === 'circle' ? Object.keys(request.user) : request.user,
      }))
    })
    const response = await app.inject('/')
    t.equal(response.statusCode, 200, name)
    t.notMatch(response.body, hash.slice(0, 20), name)
  }
})
