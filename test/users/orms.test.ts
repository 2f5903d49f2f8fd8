import { inspect } from 'node:util'
import mongoose from 'mongoose'
import pg from 'pg'
import { DataTypes, Sequelize } from 'sequelize'
import t from 'tap'
import { BaseEntity, DataSource, EntitySchema } from 'typeorm'
import type { AuthUser } from '../../lib/index.js'
import { appWith, bearer, logLines, secret, users } from '../helpers/app.js'

// None of the ORMs connects to a database.

const hash = users[0]?.password ?? ''
/** No known algorithm: only the name of its field shows that it is secret. */
const unusual = 'sha1:0123456789abcdef'

const noIndexes = { autoIndex: false, autoCreate: false }
const address = { city: String }
const schema = new mongoose.Schema(
  { name: String, password: String, pin: String, roles: [String], address },
  noIndexes,
)
schema.virtual('label').get(function (this: { name?: string | null }) {
  return `label of ${this.name}`
})
schema.method('greet', function (this: { name?: string | null }, word: string) {
  return `${word} ${this.name}`
})
const Document = mongoose.model('OrmUser', schema)
const author = { type: mongoose.Schema.Types.ObjectId, ref: 'OrmUser' }
const Post = mongoose.model('OrmPost', new mongoose.Schema({ author }, noIndexes))

const sequelize = new Sequelize('postgres://127.0.0.1:1/none', { dialectModule: pg })
const Instance = sequelize.define('OrmUser', {
  name: DataTypes.STRING,
  password: DataTypes.STRING,
  pin: DataTypes.STRING,
  roles: DataTypes.ARRAY(DataTypes.STRING),
})
const SingleRole = sequelize.define('OrmRole', { name: DataTypes.STRING, role: DataTypes.STRING })

class Entity extends BaseEntity {
  name!: string
  password!: string
  pin!: string
  roles!: string[]
  toObject(): object {
    return Object.assign({}, this)
  }
}
const columns = {
  name: { type: String, primary: true },
  password: { type: String },
  pin: { type: String },
  roles: { type: 'simple-array' },
} as const
const entity = new EntitySchema<Entity>({ name: 'OrmUser', target: Entity, columns })
const dataSource = new DataSource({ type: 'postgres', entities: [entity] })
// What connecting does before it connects.
await (dataSource as unknown as { buildMetadatas(): Promise<void> }).buildMetadatas()
Entity.useDataSource(dataSource)

/** A user as an ORM reads it from the database; the pin is a hash under a name of its own. */
const row = (password: string) => ({ name: 'alice', password, pin: hash, roles: ['editor'] })
const makers: Record<string, (password: string) => AuthUser> = {
  Mongoose: (password) => {
    const _id = new mongoose.Types.ObjectId()
    return Document.hydrate({ _id, ...row(password), address: { city: 'Oxford' } })
  },
  Sequelize: (password) => Instance.build(row(password), { raw: true, isNewRecord: false }),
  TypeORM: (password) => Entity.create({ ...row(password) }),
}

type User = Record<string, (...args: unknown[]) => unknown>
const hidden = ['password', 'pin']

const everywhere: Record<string, (user: User) => unknown> = {
  itself: (user) => user,
  'in a list': (user) => ({ users: [user] }),
  spread: (user) => ({ ...user }),
  'spread and printed': (user) => inspect({ ...user }, { depth: 9, showHidden: true }),
  assigned: (user) => Object.assign({}, user),
  toJSON: (user) => user.toJSON?.() ?? user,
  descriptors: (user) => [user.name, Object.getOwnPropertyDescriptors(user)],
}

/** What handlers send, for each ORM. */
const sent: Record<string, typeof everywhere> = {
  Mongoose: {
    ...everywhere,
    toObject: (user) => user.toObject?.(),
    'toObject with options': (user) => user.toObject?.({ virtuals: true, depopulate: true }),
    inspect: (user) => user.inspect?.(),
    clone: (user) => user.$clone?.(),
    'a spread clone': (user) => ({ ...(user.$clone?.() as object) }),
    string: (user) => `user: ${user as unknown as string}`,
    _doc: (user) => user._doc,
    changes: (user) => [user.name, user.$getChanges?.()],
    'earlier values': ({ name, $__: internals }) => [
      name,
      { ...(internals as { savedState?: object } | undefined)?.savedState },
    ],
    get: (user) => [user.name, ...hidden.map((key) => user.get?.(key))],
    $__getValue: (user) => [user.name, ...hidden.map((key) => user.$__getValue?.(key))],
  },
  Sequelize: {
    ...everywhere,
    'get()': (user) => user.get?.(),
    'get({ plain })': (user) => user.get?.({ plain: true }),
    get: (user) => [user.name, ...hidden.map((key) => user.get?.(key))],
    'get({ raw })': (user) => [user.name, ...hidden.map((key) => user.get?.(key, { raw: true }))],
    getDataValue: (user) => [user.name, ...hidden.map((key) => user.getDataValue?.(key))],
    dataValues: (user) => user.dataValues,
    'earlier values': (user) => [user.name, user._previousDataValues, user.previous?.()],
    previous: (user) => [user.name, ...hidden.map((key) => user.previous?.(key))],
  },
  TypeORM: { ...everywhere, toObject: (user) => user.toObject?.() },
}

t.test('no handler can send or log a hash of an instance of an ORM', async (t) => {
  for (const [orm, make] of Object.entries(makers)) {
    for (const password of [hash, unusual]) {
      for (const isChanged of [false, true]) {
        const find = (): AuthUser => {
          const user = make(password) as unknown as Record<string, unknown>
          if (!isChanged) return user
          // A document that has been saved keeps earlier values, and one whose nested object was read the whole record.
          const { $__: internals } = user
          if (internals instanceof Object) Object.assign(internals, { savedState: {} })
          t.ok(orm !== 'Mongoose' || user.address)
          user.password = `${password}X`
          return user
        }
        const { lines, stream } = logLines()
        const config = { auth: true } as const
        const app = await appWith(
          t,
          { userService: { findByUsername: find }, jwt: { secret } },
          (app) =>
            app.get<{ Params: { way: string } }>('/:way', { config }, ({ user, params, log }) => {
              log.info({ user }, 'asked')
              return { sent: sent[orm]?.[params.way]?.(user as unknown as User) }
            }),
          { logger: { level: 'info', stream } },
        )
        const headers = bearer(app.jwtService.generateToken('alice'))
        for (const way of Object.keys(sent[orm] ?? {})) {
          // A string may hold what has an unusual form.
          if (way === 'string' && password === unusual) continue
          const url = `/${encodeURIComponent(way)}`
          const { statusCode, body } = await app.inject({ url, headers })
          const title = `${orm}, ${way}${isChanged ? ', changed' : ''}`
          t.equal(statusCode, 200, title)
          t.match(body, 'alice', title)
          t.notMatch(body, /\$2[aby]\$|sha1:/, title)
        }
        t.notMatch(JSON.stringify(lines), /\$2[aby]\$|sha1:/, orm)
      }
    }
  }
})

t.test('methods, virtuals and changes of instances of ORMs work in handlers', async (t) => {
  let stored = makers.Mongoose?.(hash)
  const answers: unknown[] = []
  const options = { userService: { findByUsername: () => stored ?? null }, jwt: { secret } }
  const app = await appWith(t, options, (app) => {
    app.get('/', { config: { auth: true } }, (request) => {
      const user = request.user as unknown as User
      if (stored instanceof Document) {
        const post = new Post({ author: user })
        const query = user.updateOne?.({ name: 'alison' }) as { exec?: unknown }
        answers.push(
          [user.label, user.greet?.('hello'), user.isModified?.('password')],
          [typeof query.exec, String(post.toObject({ depopulate: true }).author)],
        )
      }
      user.set?.('name', 'alison')
      user.set?.('password', 'new')
      return {}
    })
  })
  const headers = bearer(app.jwtService.generateToken('alice'))
  t.equal((await app.inject({ url: '/', headers })).statusCode, 200)
  const document = stored as unknown as { id: string; name: string; password: string }
  t.strictSame(answers, [
    ['label of alice', 'hello alice', false],
    ['function', document.id],
  ])
  t.strictSame([document.name, document.password], ['alison', 'new'])
  stored = makers.Sequelize?.(hash)
  t.equal((await app.inject({ url: '/', headers })).statusCode, 200)
  t.match(stored, { dataValues: { name: 'alison', password: 'new' } })
})

class Account {
  readonly #roles = new Set(['editor'])
  get roles(): ReadonlySet<string> {
    return this.#roles
  }
}

t.test('roles count if they are an array or Set of strings, and role if it is one', async (t) => {
  const rows: [title: string, user: AuthUser | undefined, status: number, found?: string][] = [
    ['Mongoose', makers.Mongoose?.(hash), 200],
    ['Mongoose, none', Document.hydrate({ name: 'alice', roles: ['author'] }), 403],
    ['Sequelize', makers.Sequelize?.(hash), 200],
    ['Sequelize, one', SingleRole.build({ role: 'editor' }), 200],
    ['Sequelize, null', Instance.build({ roles: null }), 403, 'null'],
    ['TypeORM', makers.TypeORM?.(hash), 200],
    ['a getter of a class', new Account(), 200],
    ['a Set', { roles: new Set(['editor']) }, 200],
    ['a Set in a class with a hash', Object.assign(new Account(), { password: hash }), 200],
    ['an empty Set', { roles: new Set() }, 403],
    ['a string', { roles: 'editor' }, 403, 'string'],
    ['one role', { role: 'editor' }, 200],
    ['no roles beside a role', { roles: [], role: 'editor' }, 403],
    ['null beside a role', { roles: null, role: 'editor' }, 403, 'null'],
    ['undefined beside a role', { roles: undefined, role: 'editor' }, 200],
    ['a list with null', { roles: ['editor', null] }, 403, 'array with object'],
    ['a Set with a number', { roles: new Set(['editor', 1]) }, 403, 'set with number'],
    ['an object', { roles: { editor: true } }, 403, 'object'],
    ['a Map', { roles: new Map([['editor', true]]) }, 403, 'map'],
    ['objects', { roles: [{ name: 'editor' }] }, 403, 'array with object'],
    ['a list as the one role', { role: ['editor'] }, 403, 'array'],
    ['no field', {}, 403],
  ]
  for (const [title, user, status, found] of rows) {
    const { lines, stream } = logLines()
    const app = await appWith(
      t,
      { userService: { findByUsername: () => user }, jwt: { secret } },
      (app) => app.get('/', { config: { auth: { role: 'editor' } } }, () => 'in'),
      { logger: { level: 'warn', stream } },
    )
    const headers = bearer(app.jwtService.generateToken('alice'))
    for (const _ of [1, 2])
      t.equal((await app.inject({ url: '/', headers })).statusCode, status, title)
    // Once a minute.
    t.strictSame(
      lines.map((line) => line.found),
      found === undefined ? [] : [found],
      title,
    )
  }
})
