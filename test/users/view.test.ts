import { inspect } from 'node:util'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import { authn, storedUser } from '../../lib/index.js'
import { viewOf } from '../../lib/users/view.js'
import { logLines } from '../helpers/app.js'

const hash = '$2b$10$the-hash-that-nobody-may-see'
const hidden = new Set(['password'])

type Fields = Record<PropertyKey, unknown>

function view(user: object, fields: ReadonlySet<string> = hidden): Fields {
  return viewOf(user, fields) as Fields
}

/** Everything that tells of a field, and every way in which an object is sent. */
function assertHidden(t: Test, shown: Fields, fields: readonly string[] = ['password']): void {
  for (const field of fields) {
    t.equal(shown[field], undefined, `${field}: read`)
    t.notOk(field in shown, `${field}: in`)
    t.notOk(Object.hasOwn(shown, field), `${field}: hasOwn`)
    t.equal(Object.getOwnPropertyDescriptor(shown, field), undefined, `${field}: descriptor`)
    t.notOk(Reflect.ownKeys(shown).includes(field), `${field}: ownKeys`)
    t.notOk(Object.keys(Object.getOwnPropertyDescriptors(shown)).includes(field), field)
    const { [field]: taken, ...rest } = shown
    t.equal(taken, undefined, `${field}: destructured`)
    const inherited: unknown[] = []
    // oxlint-disable-next-line guard-for-in -- what is inherited must not be listed either
    for (const key in shown) inherited.push(key)
    t.notOk(inherited.includes(field), `${field}: for … in`)
    t.notMatch(JSON.stringify(rest), hash)
  }
  const texts = {
    'JSON.stringify': JSON.stringify(shown),
    nested: JSON.stringify({ user: shown, users: [shown] }),
    spread: JSON.stringify({ ...shown }),
    'Object.assign': JSON.stringify(Object.assign({}, shown)),
    'Object.entries': JSON.stringify(Object.entries(shown)),
    'Object.values': JSON.stringify(Object.values(shown)),
    inspect: inspect(shown, { depth: 5 }),
    'inspect, nested': inspect({ user: shown }, { depth: 5, showHidden: true, showProxy: false }),
  }
  for (const [way, text] of Object.entries(texts)) t.notOk(text.includes(hash), `${way}: ${text}`)
}

t.test('a user without such a field is passed on as it is', async (t) => {
  class User {
    name = 'alice'
  }
  for (const user of [
    { name: 'alice' },
    Object.freeze({}),
    new User(),
    new Map([['password', 1]]),
  ]) {
    t.equal(viewOf(user, hidden), user)
  }
  const withHash = { password: hash }
  t.equal(viewOf(withHash, new Set()), withHash, 'nothing is hidden')
  t.equal(viewOf(withHash, new Set(['Password', 'pass'])), withHash, 'names are exact')
})

t.test('a plain object is copied without the field', async (t) => {
  const tag = Symbol('tag')
  const inner = { a: 1 }
  const user = { id: 1, password: hash, inner, [tag]: 'x' }
  const shown = view(user)
  t.strictSame(shown, { id: 1, inner: { a: 1 }, [tag]: 'x' })
  t.equal(shown.inner, inner, 'shallow')
  t.equal(Object.getPrototypeOf(shown), Object.prototype)
  assertHidden(t, shown)
  t.equal(user.password, hash, 'the stored one keeps it')
  shown.id = 2
  t.equal(user.id, 1, 'a copy')
})

t.test('plain objects of all kinds', async (t) => {
  const bare = Object.assign(Object.create(null) as Fields, { id: 1, password: hash })
  const withGetter = {
    id: 1,
    get password() {
      return hash
    },
  }
  const unlisted = Object.defineProperty({ id: 1 }, 'password', { value: hash })
  const empty = { id: 1, password: null }
  const parsed = JSON.parse(`{"__proto__":{"a":1},"id":1,"password":"${hash}"}`) as Fields
  for (const user of [
    bare,
    Object.freeze({ id: 1, password: hash }),
    withGetter,
    unlisted,
    empty,
  ]) {
    t.strictSame({ ...view(user) }, { id: 1 })
    assertHidden(t, view(user))
  }
  view(bare).id = 2
  t.equal(bare.id, 1, 'a copy')
  t.strictSame(Object.keys(view(parsed)).toSorted(), ['__proto__', 'id'])
  assertHidden(t, view(parsed))
})

t.test('several fields, and a name of its own', async (t) => {
  const fields = new Set(['hash', 'pin', 'absent'])
  const user = { id: 1, hash, pin: hash, password: 'shown' }
  t.strictSame(view(user, fields), { id: 1, password: 'shown' })
  class User {
    id = 1
    hash = hash
    pin = hash
    password = 'shown'
  }
  const shown = view(new User(), fields)
  t.strictSame({ ...shown }, { id: 1, password: 'shown' })
  assertHidden(t, shown, ['hash', 'pin'])
})

t.test('an object of another realm, as vm makes them', async (t) => {
  const { runInNewContext } = await import('node:vm')
  const user = runInNewContext(`({ id: 1, password: ${JSON.stringify(hash)} })`) as object
  const shown = view(user)
  t.strictSame({ ...shown }, { id: 1 })
  assertHidden(t, shown)
})

/** An entity with a state of its own that only its own methods can read. */
class Account {
  static kind = 'account'
  #logins = 0
  #nickname = 'al'
  id = 1
  name = 'alice'
  password = hash
  own = (): string => `own of ${this.name}`

  get logins(): number {
    return this.#logins
  }
  get nickname(): string {
    return this.#nickname
  }
  set nickname(nickname: string) {
    this.#nickname = nickname.trim()
  }
  login(times = 1): number {
    this.#logins += times
    return this.#logins
  }
  checks(text: string): boolean {
    return this.password === text
  }
  save(): this {
    return this
  }
  async reload(): Promise<this> {
    await Promise.resolve()
    return this
  }
  async failing(): Promise<never> {
    throw new Error(`no ${this.#nickname}`)
  }
  async count(): Promise<number> {
    return this.#logins
  }
}

t.test('an instance: fields, getters, setters and methods of its own', async (t) => {
  const account = new Account()
  const shown = viewOf(account, hidden) as Account
  assertHidden(t, shown as unknown as Fields)
  t.ok(shown instanceof Account)
  t.equal(shown.constructor, Account)
  t.equal((shown.constructor as typeof Account).kind, 'account')
  t.equal(Object.getPrototypeOf(shown), Account.prototype)
  t.strictSame(Object.keys(shown), ['id', 'name', 'own'])
  t.ok('name' in shown && 'logins' in shown && 'login' in shown && !('other' in shown))

  t.equal(shown.logins, 0, 'a getter of a private field')
  t.equal(shown.login(), 1)
  t.equal(shown.login(2), 3, 'with its arguments')
  t.equal(account.logins, 3, 'on the stored one')
  t.equal(shown.own(), 'own of alice')
  t.ok(shown.checks(hash), 'a method still knows the hash')
  t.equal(await shown.count(), 3)
  await t.rejects(shown.failing(), { message: 'no al' })

  shown.nickname = ' lice '
  t.equal(account.nickname, 'lice', 'through the setter')
  shown.name = 'alison'
  t.equal(account.name, 'alison')
  Object.assign(shown, { colour: 'red' })
  t.equal((account as unknown as Fields).colour, 'red')
  t.equal(Reflect.deleteProperty(shown, 'colour'), true)
  t.notOk('colour' in account)
})

t.test('an instance: a method that returns its own instance returns the view', async (t) => {
  const account = new Account()
  const shown = viewOf(account, hidden) as Account
  t.equal(shown.save(), shown)
  t.equal(await shown.reload(), shown)
  t.equal(shown.save().save(), shown, 'chained')
  t.notMatch(JSON.stringify(shown.save()), hash)
})

t.test('an instance: the hash can be set, and is not shown for it', async (t) => {
  const account = new Account()
  const shown = viewOf(account, hidden) as Account
  shown.password = `${hash}, a new one`
  t.equal(account.password, `${hash}, a new one`)
  assertHidden(t, shown as unknown as Fields)
})

t.test('an instance that is frozen', async (t) => {
  const account = Object.freeze(new Account())
  const shown = viewOf(account, hidden) as Account
  assertHidden(t, shown as unknown as Fields)
  t.equal(shown.name, 'alice')
  t.equal(shown.login(), 1, 'private state is not frozen')
  t.throws(() => {
    shown.name = 'bob'
  }, TypeError)
  t.throws(() => {
    ;(shown as unknown as Fields).other = 1
  }, TypeError)
  t.equal(Reflect.deleteProperty(shown, 'name'), false)
  t.strictSame(Object.keys(shown), ['id', 'name', 'own'])
  const [one, other] = [Object.getOwnPropertyDescriptors(shown), Object.assign({}, shown)]
  t.strictSame([one.name.value, other.name], ['alice', 'alice'])
})

t.test(
  'the view of an instance cannot be frozen, or given properties past its setters',
  async (t) => {
    const fresh = (): Fields => view(new Account())
    t.throws(() => Object.freeze(fresh()), TypeError, 'freeze')
    t.throws(() => Object.seal(fresh()), TypeError, 'seal')
    t.throws(() => Object.preventExtensions(fresh()), TypeError, 'preventExtensions')
    const extra = { value: 1, configurable: true, enumerable: true }
    t.throws(() => Object.defineProperty(fresh(), 'extra', extra), TypeError, 'defineProperty')
  },
)

t.test('an instance shows in console.log as it shows in JSON', async (t) => {
  const printed = inspect(viewOf(new Account(), hidden))
  t.match(printed, "name: 'alice'")
  t.notMatch(printed, hash)
})

t.test('an instance whose hash is a getter', async (t) => {
  class User {
    #password = hash
    id = 1
    get password(): string {
      return this.#password
    }
    toString(): string {
      return `User ${this.id}`
    }
  }
  const shown = viewOf(new User(), hidden) as User
  assertHidden(t, shown as unknown as Fields)
  t.equal(String(shown), 'User 1')
  t.equal(JSON.stringify(shown), '{"id":1}')
})

t.test('built-in classes with internal slots', async (t) => {
  class Row extends Map<string, string> {
    password = hash
  }
  const shown = viewOf(new Row([['name', 'alice']]), hidden) as Row
  t.strictSame([shown.size, shown.get('name'), [...shown.keys()]], [1, 'alice', ['name']])
  t.equal(shown.set('a', 'b'), shown)
  assertHidden(t, shown as unknown as Fields)
})

t.test('an instance with symbols', async (t) => {
  const tag = Symbol('tag')
  const user = Object.assign(new Account(), { [tag]: 'x' })
  const shown = view(user)
  t.equal(shown[tag], 'x')
  t.ok(tag in shown && Reflect.ownKeys(shown).includes(tag))
})

t.test('toJSON', async (t) => {
  class Base {
    id = 1
    password = hash
  }
  class Inner {
    nested = true
    password = hash
  }
  const cases: [string, object, unknown][] = [
    [
      'returns a plain object',
      new (class extends Base {
        toJSON() {
          return Object.assign({}, this, { kind: 'user' })
        }
      })(),
      { id: 1, kind: 'user' },
    ],
    [
      'returns an object without prototype',
      new (class extends Base {
        toJSON() {
          return Object.assign(Object.create(null) as object, this)
        }
      })(),
      { id: 1 },
    ],
    [
      'returns an instance',
      new (class extends Base {
        toJSON() {
          return new Inner()
        }
      })(),
      { nested: true },
    ],
    [
      'returns a string',
      new (class extends Base {
        toJSON() {
          return `user:${this.id}`
        }
      })(),
      'user:1',
    ],
    [
      'returns null',
      new (class extends Base {
        toJSON() {
          return null
        }
      })(),
      null,
    ],
    [
      'returns an array',
      new (class extends Base {
        toJSON() {
          return ['id', this.id]
        }
      })(),
      ['id', 1],
    ],
    [
      'returns itself',
      new (class extends Base {
        toJSON() {
          return this
        }
      })(),
      { id: 1 },
    ],
    [
      'returns a frozen object',
      new (class extends Base {
        toJSON() {
          return Object.freeze(Object.assign({}, this))
        }
      })(),
      { id: 1 },
    ],
    [
      'is a function of the instance',
      new (class extends Base {
        toJSON = function (this: Base): object {
          return Object.assign({}, this)
        }
      })(),
      { id: 1 },
    ],
    [
      'is an arrow function of the instance',
      new (class extends Base {
        toJSON = (): object => Object.assign({}, this)
      })(),
      { id: 1 },
    ],
  ]
  for (const [title, user, expected] of cases) {
    await t.test(title, async (t) => {
      const shown = view(user)
      t.strictSame(JSON.parse(JSON.stringify(shown)), expected)
      t.strictSame(JSON.parse(JSON.stringify({ user: [shown] })), { user: [expected] })
      t.notMatch(JSON.stringify({ ...shown }), hash, 'spread')
      assertHidden(t, shown)
    })
  }
})

t.test('toJSON of a plain object', async (t) => {
  const closing: Fields = { id: 1, password: hash }
  closing.toJSON = () => ({ ...closing })
  const cases: [string, object][] = [
    [
      'a method',
      {
        id: 1,
        password: hash,
        toJSON() {
          return { ...this }
        },
      },
    ],
    ['a closure', closing],
  ]
  for (const [title, user] of cases) {
    t.equal(JSON.stringify(view(user)), '{"id":1}', title)
  }
})

t.test('like Sequelize: accessors on the prototype over dataValues, and toJSON', async (t) => {
  class Model {
    dataValues: Fields
    constructor(values: Fields) {
      this.dataValues = values
    }
    get(): Fields {
      return { ...this.dataValues }
    }
    toJSON(): Fields {
      return this.get()
    }
    async save(): Promise<this> {
      return this
    }
  }
  class User extends Model {}
  for (const field of ['id', 'name', 'password']) {
    Object.defineProperty(User.prototype, field, {
      configurable: true,
      get(this: Model) {
        return this.dataValues[field]
      },
      set(this: Model, value: unknown) {
        this.dataValues[field] = value
      },
    })
  }
  const stored = new User({ id: 1, name: 'alice', password: hash })
  const shown = viewOf(stored, hidden) as User & Fields
  t.strictSame([shown.id, shown.name, shown.password], [1, 'alice', undefined])
  t.notOk('password' in shown)
  t.equal(JSON.stringify({ user: shown }), '{"user":{"id":1,"name":"alice"}}')
  t.equal(await shown.save(), shown)
  shown.name = 'alison'
  t.equal(stored.dataValues.name, 'alison')
  shown.password = 'new'
  t.equal(stored.dataValues.password, 'new')
})

t.test('like Mongoose: accessors, toJSON over _doc, and an id getter', async (t) => {
  class Document {
    _doc = { _id: 7, name: 'alice', password: hash }
    $isNew = false
    get id(): string {
      return String(this._doc._id)
    }
    get name(): string {
      return this._doc.name
    }
    get password(): string {
      return this._doc.password
    }
    toObject(): object {
      return { ...this._doc }
    }
    toJSON(): object {
      return this.toObject()
    }
  }
  const shown = viewOf(new Document(), hidden) as Document
  t.strictSame([shown.id, shown.name, shown.password], ['7', 'alice', undefined])
  t.equal(JSON.stringify([shown]), '[{"_id":7,"name":"alice"}]')
})

t.test('like TypeORM: an entity that is a class with fields', async (t) => {
  class BaseEntity {
    hasId(): boolean {
      return 'id' in this
    }
  }
  class User extends BaseEntity {
    id = 1
    name = 'alice'
    password = hash
    posts = [{ title: 'a' }]
  }
  const shown = viewOf(new User(), hidden) as User
  t.ok(shown.hasId())
  t.strictSame(Object.assign({}, shown), { id: 1, name: 'alice', posts: [{ title: 'a' }] })
  assertHidden(t, shown as unknown as Fields)
})

/** An app in which everybody is a given user, whose hash is in `password`. */
async function appOf(
  t: Test,
  user: object,
  declare: (app: FastifyInstance) => void,
  stream?: { write(line: string): void },
): Promise<FastifyInstance> {
  const app = Fastify(stream === undefined ? {} : { logger: { level: 'info', stream } })
  t.teardown(() => app.close())
  await app.register(authn, { authenticator: { authenticate: () => user } })
  declare(app)
  return app
}

class Entity {
  id = 1
  name = 'alice'
  password = hash
}
class JsonEntity extends Entity {
  toJSON(): object {
    return Object.assign({}, this)
  }
}
const kinds: Record<string, () => object> = {
  'a plain object': () => ({ id: 1, name: 'alice', password: hash }),
  'a frozen object': () => Object.freeze({ id: 1, name: 'alice', password: hash }),
  'an instance': () => new Entity(),
  'an instance with toJSON': () => new JsonEntity(),
}
const properties = {
  id: { type: 'number' },
  name: { type: 'string' },
  password: { type: 'string' },
}

for (const [title, make] of Object.entries(kinds)) {
  t.test(`through Fastify: ${title}`, async (t) => {
    const { lines, stream } = logLines()
    const config = { auth: true } as const
    const schema = (response: object): object => ({ response: { 200: response } })
    const open = { type: 'object', additionalProperties: true }
    const seen: unknown[] = []
    const app = await appOf(
      t,
      make(),
      (app) => {
        const handler = async (request: FastifyRequest): Promise<unknown> => request.user
        app.get('/plain', { config }, handler)
        app.get('/nested', { config }, async ({ user }) => ({ user, users: [user] }))
        app.get('/spread', { config }, async ({ user }) => ({ ...user }))
        app.get('/schema', { config, schema: schema({ type: 'object', properties }) }, handler)
        app.get('/any', { config, schema: schema(open) }, handler)
        app.get(
          '/required',
          { config, schema: schema({ type: 'object', properties, required: ['password'] }) },
          handler,
        )
        app.get('/log', { config }, async (request) => {
          request.log.info({ user: request.user, users: [request.user] }, 'seen')
          request.log.info(request.user, 'merged')
          seen.push(storedUser(request))
          return {}
        })
      },
      stream,
    )
    const alice = { id: 1, name: 'alice' }
    const expected: [string, number, unknown][] = [
      ['/plain', 200, alice],
      ['/nested', 200, { user: alice, users: [alice] }],
      ['/spread', 200, alice],
      ['/schema', 200, alice],
      ['/any', 200, alice],
      ['/log', 200, {}],
    ]
    for (const [url, status, body] of expected) {
      const response = await app.inject({ url })
      t.strictSame([response.statusCode, response.json()], [status, body], url)
    }
    t.match(seen, [{ password: hash }], 'storedUser() has it')
    const required = await app.inject({ url: '/required' })
    t.equal(required.statusCode, 500, 'a schema that insists on the hash')
    t.notOk(required.body.includes(hash))
    const logged = lines.find(({ msg }) => msg === 'seen')
    t.match(logged, { user: { name: 'alice' }, users: [{ name: 'alice' }] })
    t.notOk(JSON.stringify(lines).includes(hash), 'not in a line of the log')
  })
}

t.test('a flat record is passed on as it is, unless there is a hash in it', async (t) => {
  const flat = { id: 1, name: 'alice', isAdmin: false, since: null, note: undefined, size: 1n }
  t.equal(viewOf(flat, hidden), flat)

  const failing = {
    id: 1,
    get orders(): never {
      throw new Error('not loaded')
    },
  }
  t.throws(() => viewOf(failing, hidden), { message: 'not loaded' }, 'a fault of the app')

  const unlisted = Object.defineProperty({ id: 1 }, 'password', { value: hash, enumerable: false })
  t.notOk('password' in viewOf(unlisted, hidden), 'a field that is not enumerable')

  const speaking = { id: 1, toJSON: () => ({ id: 1, password: hash }) }
  t.notOk(JSON.stringify(viewOf(speaking, hidden)).includes(hash), 'toJSON')
})

t.test('a flat record with a hash, and what makes it none', async (t) => {
  const real = `$2b$10$${'a'.repeat(53)}`
  const mark = Symbol('mark')
  const orders = ['one']
  const records: Record<string, [Fields, Fields]> = {
    flat: [
      { id: 1, password: hash, since: null, note: undefined },
      { id: 1, since: null, note: undefined },
    ],
    'a second hash': [{ password: hash, id: 1, other: real }, { id: 1 }],
    'a hash under another name': [{ id: 1, other: real }, { id: 1 }],
    'a list': [
      { id: 1, password: hash, orders },
      { id: 1, orders },
    ],
    'a symbol': [
      { id: 1, password: hash, [mark]: 2 },
      { id: 1, [mark]: 2 },
    ],
    'a hash under a symbol': [{ id: 1, password: hash, [mark]: real }, { id: 1 }],
    'the name of a method of all objects': [
      { id: 1, password: hash, valueOf: 3 },
      { id: 1, valueOf: 3 },
    ],
  }
  for (const [title, [user, expected]] of Object.entries(records)) {
    const shown = view(user)
    t.strictSame(Reflect.ownKeys(shown), Reflect.ownKeys(expected), title)
    for (const key of Reflect.ownKeys(expected)) t.equal(shown[key], expected[key], title)
    t.equal(Object.getPrototypeOf(shown), Object.prototype, title)
    assertHidden(t, shown)
  }
})

t.test("what hangs on a user is the app's own", async (t) => {
  const friend = { name: 'bob', password: hash }
  class Company {
    owner = friend
  }
  const user = { name: 'alice', password: hash, friends: [friend], company: new Company(), friend }
  const shown = viewOf(user, hidden) as typeof user
  t.equal(shown.friends, user.friends)
  t.equal(shown.company, user.company)
  t.equal(shown.friend, friend)
  t.notOk('password' in shown)

  class User {
    name = 'alice'
    password = hash
    friends = [friend]
    company = new Company()
    profile = { age: 7 }
  }
  const instance = new User()
  const own = viewOf(instance, hidden) as User
  t.equal(own.friends, instance.friends)
  t.equal(own.company, instance.company)
  t.equal(own.profile, instance.profile)

  const circle: Fields = { name: 'a', password: hash }
  circle.self = circle
  t.equal(view(circle).self, circle)
  let reads = 0
  const deep = {
    name: 'a',
    get rows() {
      reads += 1
      return Array.from({ length: 3 }, () => ({
        get password(): never {
          throw new Error('looked for')
        },
      }))
    },
  }
  t.equal(viewOf(deep, hidden), deep)
  t.equal(reads, 1, 'nothing is looked for below the fields')
})

t.test('what an ORM keeps in an object of its own, in the fields of its instance', async (t) => {
  const real = `$2b$10$${'a'.repeat(53)}`
  class Row {
    dataValues = { name: 'a', password: 'x', digest: real, age: 7 }
    get password(): string {
      return this.dataValues.password
    }
  }
  const shown = viewOf(new Row(), hidden) as Row
  t.strictSame({ ...shown.dataValues }, { name: 'a', age: 7 })
  t.strictSame(JSON.parse(JSON.stringify(Object.assign({}, shown))), {
    dataValues: { name: 'a', age: 7 },
  })
  t.notMatch(inspect(shown), '$2b$')
})

t.test('hashes under other names, in instances and in what their toJSON returns', async (t) => {
  const real = `$2b$10$${'a'.repeat(53)}`
  const when = new Date(0)
  let queries = 0
  class User {
    name = 'alice'
    pin = real
    when = when
    get digest(): string {
      return real
    }
    toJSON(): object {
      return { name: this.name, when, pin: this.pin, password: 'x', deep: [{ pin: 1 }] }
    }
  }
  const user = Object.defineProperty(new User(), 'posts', {
    get: () => (queries += 1),
    enumerable: true,
    configurable: true,
  })
  const shown = viewOf(user, hidden) as User
  t.equal(queries, 0, 'a getter that asks a database is not called for this')
  t.strictSame([shown.pin, shown.digest, shown.when], [undefined, undefined, when])
  t.notOk('pin' in shown)
  t.strictSame(JSON.parse(JSON.stringify(shown)), {
    name: 'alice',
    when: '1970-01-01T00:00:00.000Z',
    deep: [{ pin: 1 }],
  })
  t.match(Object.assign({}, shown), { posts: 1 })
  const bytes = Buffer.alloc(1000)
  t.equal(viewOf(new Uint8Array(bytes), hidden).constructor, Uint8Array)
})

t.test('own fields that are named as what all objects inherit', async (t) => {
  const user = { name: 'a', constructor: 'McLaren', toString: 'x', password: hash }
  t.strictSame({ ...view(user) }, { name: 'a', constructor: 'McLaren', toString: 'x' })
})
