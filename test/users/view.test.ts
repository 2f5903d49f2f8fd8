import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import { viewOf } from '../../lib/users/view.js'

const hash = `$2b$10$${'a'.repeat(53)}`
const hidden = new Set(['password'])

/** As other frameworks and programs store them. */
const foreignHashes = [
  `pbkdf2_sha256$600000$${'s'.repeat(22)}$${'k'.repeat(43)}=`,
  `argon2$argon2id$v=19$m=102400,t=2,p=8$${'s'.repeat(22)}$${'k'.repeat(43)}`,
  `bcrypt_sha256$$2b$12$${'k'.repeat(53)}`,
  `bcrypt$$2b$12$${'k'.repeat(53)}`,
  `scrypt$${'s'.repeat(22)}$16384$8$5$${'k'.repeat(86)}==`,
  `md5$salt$${'0'.repeat(32)}`,
  `sha1$$${'0'.repeat(40)}`,
  `scrypt:32768:8:1$salt$${'0'.repeat(128)}`,
  `pbkdf2:sha256:600000$salt$${'0'.repeat(64)}`,
  `sha256$salt$${'0'.repeat(64)}`,
  `{SSHA}${'k'.repeat(32)}`,
  `{SHA512}${'k'.repeat(86)}==`,
  `{SHA512-CRYPT}$6$salt$${'k'.repeat(86)}`,
  `{CRYPT}$1$salt$${'k'.repeat(22)}`,
  `{pbkdf2@SpringSecurity_v5_8}${'0'.repeat(96)}`,
  `{bcrypt}$2a$10$${'k'.repeat(53)}`,
  '{noop}wonderland',
  `$1$salt$${'k'.repeat(22)}`,
  `$5$rounds=5000$salt$${'k'.repeat(43)}`,
  `$6$salt$${'k'.repeat(86)}`,
  `$y$j9T$${'s'.repeat(22)}$${'k'.repeat(43)}`,
  `$apr1$salt$${'k'.repeat(22)}`,
  `$P$B${'k'.repeat(30)}`,
  `$S$D${'k'.repeat(51)}`,
  `$wp$2y$10$${'k'.repeat(53)}`,
  `$bcrypt$v=98$r=10$${'s'.repeat(22)}$${'k'.repeat(31)}`,
  `SCRAM-SHA-256$4096:${'s'.repeat(22)}==$${'k'.repeat(43)}=:${'k'.repeat(43)}=`,
  `AQAAAAIAAYagAAAAE${'k'.repeat(67)}`,
  `${'0'.repeat(32)}:${'f'.repeat(128)}`,
]

const ordinary = [
  'scrypt',
  'pbkdf2-sha256',
  'pbkdf2:sha256',
  'bcrypt: a study of the cost of guessing, in $',
  'sha256 of a file',
  '{name} has $5 and {sha} of them',
  '{sha}',
  '$5 or $6, not $1',
  '$5$6$7$8 as prices of a list in a shop',
  '0'.repeat(64),
  `sha256:${'0'.repeat(64)}`,
  `sha512-${'k'.repeat(86)}==`,
  'AQAAAA==',
  'alice.in.wonderland+books$@example.com',
  'https://example.com/?$filter=name$eq$alice&$top=10',
]

type Fields = Record<PropertyKey, unknown>

function view(user: object, fields: ReadonlySet<string> = hidden): Fields {
  return viewOf(user, fields) as Fields
}

/** Everything that tells of a field, and every way in which an object is sent. */
function assertHidden(t: Test, shown: Fields, title: string): void {
  t.notOk('password' in shown || Object.hasOwn(shown, 'password'), title)
  t.notOk(Reflect.ownKeys(shown).includes('password'), title)
  const sent = [
    shown.password,
    JSON.stringify(shown),
    JSON.stringify({ user: shown, users: [shown] }),
    JSON.stringify({ ...shown }),
    JSON.stringify(Object.assign({}, shown)),
    JSON.stringify(Object.entries(shown)),
    inspect(Object.getOwnPropertyDescriptors(shown)),
    inspect({ user: shown }, { depth: 5, showHidden: true }),
  ]
  for (const text of sent) t.notOk(text?.toString().includes(hash), `${title}: ${String(text)}`)
}

class Entity {
  id = 1
  name = 'alice'
  password = hash
}

/** Accessors of the prototype over a record in a field, as Sequelize and Mongoose have them. */
class Model {
  dataValues: Fields = { id: 1, name: 'alice', password: hash, pin: hash }
  get password(): unknown {
    return this.dataValues.password
  }
  toObject(): Fields {
    return { ...this.dataValues }
  }
}

const toJSON = (make: () => unknown): object => Object.assign(new Entity(), { toJSON: make })

t.test('no kind of user shows its hash, and other fields are sent', async (t) => {
  const parsed = JSON.parse(`{"__proto__":{"isAdmin":true},"id":1,"password":"${hash}"}`) as Fields
  const kinds: [title: string, user: object, json: unknown][] = [
    ['plain', { id: 1, password: hash, since: null }, { id: 1, since: null }],
    ['frozen', Object.freeze({ id: 1, password: hash }), { id: 1 }],
    ['no prototype', Object.assign(Object.create(null) as Fields, { password: hash }), {}],
    ['a getter', Object.defineProperty({ id: 1 }, 'password', { get: () => hash }), { id: 1 }],
    ['not enumerable', Object.defineProperty({ id: 1 }, 'password', { value: hash }), { id: 1 }],
    ['inherited', Object.assign(Object.create({ password: hash }) as object, { id: 1 }), { id: 1 }],
    ['own __proto__', parsed, { id: 1 }],
    ['hashes under other names', { id: 1, a: hash, b: '$argon2id$v=19$m=1' }, { id: 1 }],
    ['other algorithms', { a: '$scrypt$ln=16', b: '$pbkdf2-sha256$1', c: '$2y$10$x' }, {}],
    ['arrays of hashes', { id: 1, a: [hash], b: ['', null, hash], c: ['x'] }, { id: 1, c: ['x'] }],
    ['an array of hashes, in a class', Object.assign(new Map(), { a: [hash] }), {}],
    ...foreignHashes.flatMap((stored): [string, object, object][] => [
      [stored, { id: 1, legacy: stored, earlier: [stored] }, { id: 1 }],
      [`${stored}, in a class`, Object.assign(new Map(), { legacy: stored }), {}],
    ]),
    ...ordinary.map((text): [string, object, object] => [text, { text }, { text }]),
    ['dollars', { price: '$25', note: '$2 off', x: '$' }, { price: '$25', note: '$2 off', x: '$' }],
    ['toJSON of a plain object', { id: 1, toJSON: () => ({ password: hash }) }, {}],
    ['a class', new Entity(), { id: 1, name: 'alice' }],
    ['a hash under another name, in a class', Object.assign(new Map(), { digest: hash }), {}],
    ['a model', new Model(), { dataValues: { id: 1, name: 'alice' } }],
    ['toJSON: an object', toJSON(() => ({ id: 2, password: hash, pin: hash })), { id: 2 }],
    ['toJSON: an instance', toJSON(() => new Entity()), { id: 1, name: 'alice' }],
    ['toJSON: a string', toJSON(() => 'user:1'), 'user:1'],
    ['toJSON: null', toJSON(() => null), null],
  ]
  for (const [title, user, json] of kinds) {
    t.strictSame(JSON.parse(JSON.stringify(view(user))), json, title)
    assertHidden(t, view(user), title)
  }
  t.notOk('isAdmin' in view(parsed), 'its __proto__ is not assigned')
  t.strictSame(view({ id: 1, hash, password: 'x' }, new Set(['hash'])), { id: 1, password: 'x' })
})

t.test('a user without a hash is passed on as it is', async (t) => {
  class User {
    name = 'alice'
  }
  for (const user of [{ name: 'alice' }, Object.freeze({}), new User(), new Map([['password', 1]])])
    t.equal(viewOf(user, hidden), user)
  const plain = { id: 1, password: hash }
  view(plain).id = 2
  t.strictSame(plain, { id: 1, password: hash }, 'the stored one keeps it, since it is copied')
})

t.test('objects in the fields of a user are not changed', async (t) => {
  const friend = { name: 'bob', password: hash }
  const user = Object.assign(new Entity(), { friends: [friend], when: new Date(0) })
  const plain = { password: hash, friend, friends: [friend] }
  t.strictSame([view(plain).friend, view(plain).friends], [friend, plain.friends])
  t.equal(view(user).friends, user.friends)
  t.equal(view(user).when, user.when)
  const circle: Fields = new Entity() as never
  circle.self = circle
  const shown = view(circle)
  t.equal(shown.self, shown)
})

t.test('methods of an instance run on it, and what they return is a view too', async (t) => {
  class Account extends Entity {
    #logins = 0
    own = (): string => `own of ${this.name}`
    login(times = 1): number {
      this.#logins += times
      return this.#logins
    }
    save(): this {
      return this
    }
    async reload(): Promise<this> {
      return this
    }
  }
  const account = new Account()
  const shown = viewOf(account, hidden) as Account
  t.ok(shown instanceof Account && shown.constructor === Account)
  t.strictSame([shown.login(2), shown.login(), shown.own()], [2, 3, 'own of alice'])
  shown.name = 'alison'
  shown.password = 'new'
  t.strictSame([account.name, account.password, shown.password], ['alison', 'new', undefined])
  t.strictSame(['name' in shown, 'password' in shown, 'age' in shown], [true, false, false])
  t.ok(Reflect.deleteProperty(shown, 'id') && !('id' in account))
  t.equal(shown.save(), shown)
  t.equal(await shown.reload(), shown)
  t.match(inspect(shown), "name: 'alison'")
  const model = viewOf(new Model(), hidden) as Model
  t.strictSame(model.toObject(), { id: 1, name: 'alice' }, 'also without toJSON')
})

/** As Mongoose and Sequelize lay out what they have read; their own classes are tried in neighbours/. */
class Document {
  dataValues: Fields = { name: 'alice', password: hash }
  _previousDataValues: Fields = { name: 'alice', password: hash }
  $__ = { savedState: { password: hash }, session: null }
  get name(): unknown {
    return this.dataValues.name
  }
  get password(): unknown {
    return this.dataValues.password
  }
  get(field: string): unknown {
    return this.dataValues[field]
  }
  $getChanges(): object {
    return { $set: { name: 'alice', password: hash } }
  }
  $clone(): Document {
    return new Document()
  }
  toString(): string {
    return `the user alice, ${hash}`
  }
  earlier(): unknown {
    return [hash]
  }
  toJSON(): object {
    return Object.assign(new Entity(), this.dataValues)
  }
}

t.test('no way into a document of an ORM leads to its hash', async (t) => {
  const document = new Document()
  const shown = viewOf(document, hidden) as unknown as Document
  const internals = Reflect.get(shown, '$__') as Fields
  const ways: Fields = {
    itself: shown,
    spread: Object.assign({}, shown),
    clone: shown.$clone(),
    'spread clone': Object.assign({}, shown.$clone()),
    changes: shown.$getChanges(),
    internals: { ...internals, state: { ...(internals.savedState as Fields) } },
    record: [shown.dataValues, shown._previousDataValues],
    fields: [shown.get('name'), shown.get('password'), shown.password],
    text: `${shown.toString()} ${inspect(shown, { depth: 9, showHidden: true })}`,
    earlier: shown.earlier(),
    operator: view({ $set: { name: 'alice', password: hash }, $price: 5 }),
  }
  for (const [way, value] of Object.entries(ways)) {
    t.notMatch(JSON.stringify(value), '$2b$', way)
    t.notMatch(inspect(value, { depth: 9, showHidden: true }), '$2b$', way)
  }
  t.strictSame(shown.$getChanges(), { $set: { name: 'alice' } })
  t.strictSame(ways.operator, { $set: { name: 'alice' }, $price: 5 })
  t.strictSame([shown.get('name'), shown.toString()], ['alice', 'the user alice, '])
  t.strictSame(Object.keys(shown), ['dataValues', '_previousDataValues'])
  const dataValues = { name: 'alice', password: 'a form that no rule knows' }
  const unusual = viewOf(Object.assign(new Document(), { dataValues }), hidden) as Document
  t.strictSame([unusual.get('password'), unusual.password], [undefined, undefined])
  t.equal(Reflect.getOwnPropertyDescriptor(shown, 'nothing'), undefined)
})

t.test('JSON.stringify does not call an own getter, which may query a database', async (t) => {
  let queries = 0
  const user = Object.defineProperty(new Entity(), 'posts', { get: () => (queries += 1) })
  const shown = view(user)
  JSON.stringify(shown)
  t.equal(queries, 0)
  t.equal(shown.posts, 1)
})
