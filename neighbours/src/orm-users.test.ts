// What handlers get of a user that is an instance of an ORM. None of the ORMs connects to a database.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { inspect } from 'node:util'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import authn, { hashPassword } from 'fastify-authn'
import mongoose from 'mongoose'
import pg from 'pg'
import { DataTypes, Sequelize } from 'sequelize'
import { BaseEntity, DataSource, EntitySchema } from 'typeorm'

const secret = randomBytes(64).toString('base64url')
const hash = await hashPassword('wonderland', { cost: 4 })
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
const makers: Record<string, (password: string) => object> = {
  Mongoose: (password) => {
    const _id = new mongoose.Types.ObjectId()
    return Document.hydrate({ _id, ...row(password), address: { city: 'Oxford' } })
  },
  Sequelize: (password) => Instance.build(row(password), { raw: true, isNewRecord: false }),
  TypeORM: (password) => Entity.create({ ...row(password) }),
}

/** An app whose users are what `find` returns, and the headers of one of them. */
async function appWith(
  t: TestContext,
  find: () => object | null,
  declare: (app: FastifyInstance) => void,
  server?: FastifyServerOptions,
) {
  const app = Fastify(server)
  t.after(() => app.close())
  const userService = { findByUsername: () => find() as never }
  await app.register(authn, { jwt: { secret }, userService })
  declare(app)
  await app.ready()
  const headers = { authorization: `Bearer ${app.jwtService.generateToken('alice')}` }
  const get = (url: string) => app.inject({ url, headers })
  return { get }
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

test('no handler can send or log a hash of an instance of an ORM', async (t) => {
  for (const [orm, make] of Object.entries(makers)) {
    for (const password of [hash, unusual]) {
      for (const isChanged of [false, true]) {
        const find = (): object => {
          const user = make(password) as unknown as Record<string, unknown>
          if (!isChanged) return user
          // A document that has been saved keeps earlier values, and one whose nested object was read the whole record.
          const { $__: internals } = user
          if (internals instanceof Object) Object.assign(internals, { savedState: {} })
          assert.ok(orm !== 'Mongoose' || user.address)
          user.password = `${password}X`
          return user
        }
        const lines: string[] = []
        const stream = { write: (line: string) => void lines.push(line) }
        const { get } = await appWith(
          t,
          find,
          (app) =>
            app.get<{ Params: { way: string } }>(
              '/:way',
              { config: { auth: true } },
              ({ user, params, log }) => {
                log.info({ user }, 'asked')
                return { sent: sent[orm]?.[params.way]?.(user as unknown as User) }
              },
            ),
          { logger: { level: 'info', stream } },
        )
        for (const way of Object.keys(sent[orm] ?? {})) {
          // A string may hold what has an unusual form.
          if (way === 'string' && password === unusual) continue
          const { statusCode, body } = await get(`/${encodeURIComponent(way)}`)
          const title = `${orm}, ${way}${isChanged ? ', changed' : ''}`
          assert.equal(statusCode, 200, title)
          assert.ok(body.includes('alice'), title)
          assert.doesNotMatch(body, /\$2[aby]\$|sha1:/, title)
        }
        assert.ok(lines.some((line) => line.includes('asked')))
        assert.doesNotMatch(lines.join(''), /\$2[aby]\$|sha1:/, orm)
      }
    }
  }
})

test('methods, virtuals and changes of instances of ORMs work in handlers', async (t) => {
  let stored = makers.Mongoose?.(hash)
  const answers: unknown[] = []
  const find = () => stored ?? null
  const { get } = await appWith(t, find, (app) => {
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
  assert.equal((await get('/')).statusCode, 200)
  const document = stored as unknown as { id: string; name: string; password: string }
  assert.deepEqual(answers, [
    ['label of alice', 'hello alice', false],
    ['function', document.id],
  ])
  assert.deepEqual([document.name, document.password], ['alison', 'new'])
  stored = makers.Sequelize?.(hash)
  assert.equal((await get('/')).statusCode, 200)
  const { dataValues } = stored as unknown as { dataValues: Record<string, unknown> }
  assert.deepEqual([dataValues.name, dataValues.password], ['alison', 'new'])
})

test('roles of instances of ORMs count', async (t) => {
  const rows: [title: string, user: object | undefined, status: number][] = [
    ['Mongoose', makers.Mongoose?.(hash), 200],
    ['Mongoose, none', Document.hydrate({ name: 'alice', roles: ['author'] }), 403],
    ['Sequelize', makers.Sequelize?.(hash), 200],
    ['Sequelize, one', SingleRole.build({ role: 'editor' }), 200],
    ['Sequelize, null', Instance.build({ roles: null }), 403],
    ['TypeORM', makers.TypeORM?.(hash), 200],
  ]
  for (const [title, user, status] of rows) {
    const find = () => user ?? null
    const { get } = await appWith(t, find, (app) =>
      app.get('/', { config: { auth: { role: 'editor' } } }, () => 'in'),
    )
    assert.equal((await get('/')).statusCode, status, title)
  }
})
