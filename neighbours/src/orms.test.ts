// Logins of users as ORMs read them. None of the ORMs connects to a database.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Fastify from 'fastify'
import authn, { configFromEnv, hashPassword } from 'fastify-authn'
import mongoose from 'mongoose'
import pg from 'pg'
import { DataTypes, Model, Sequelize } from 'sequelize'
import { credentials } from './users.js'

const password = await hashPassword(credentials.password, { cost: 4 })

/** The status of a login, and of a response that is the user. */
async function statusOf(user: object) {
  const app = Fastify()
  const userService = { findByUsername: () => user as never }
  await app.register(authn, { ...configFromEnv(), userService })
  app.get('/me', { config: { auth: true } }, (request) => request.user)
  const login = await app.inject({ method: 'POST', url: '/login', payload: credentials })
  const headers = { authorization: `Bearer ${app.jwtService.generateToken('alice')}` }
  const me = await app.inject({ url: '/me', headers })
  assert.ok(!me.body.includes('$2b$'))
  return [login.statusCode, me.statusCode]
}

test('a hash that a query leaves out, and an id that is no JSON', async () => {
  assert.deepEqual(await statusOf({ id: 1, name: 'alice', password }), [200, 200])
  assert.deepEqual(await statusOf({ id: 1, name: 'alice' }), [500, 200])
  assert.deepEqual(await statusOf({ id: 1n, name: 'alice', password }), [200, 500])
})

test('Mongoose: select and lowercase', async () => {
  const schema = new mongoose.Schema(
    { name: { type: String, lowercase: true }, password: { type: String, select: false } },
    { autoIndex: false, autoCreate: false },
  )
  const Member = mongoose.model('Member', schema)
  const _id = new mongoose.Types.ObjectId()
  assert.deepEqual(await statusOf(Member.hydrate({ _id, name: 'alice', password })), [200, 200])
  assert.deepEqual(await statusOf(Member.hydrate({ _id, name: 'alice' })), [401, 200])
  const query = Member.findOne({ name: 'ALICE' })
  assert.deepEqual(query.cast(Member, query.getFilter()), { name: 'alice' })
})

test('Sequelize: fields without declare hide those of the database', async () => {
  class Declared extends Model {
    declare name: string
    declare password: string
  }
  class Defined extends Model {
    name!: string
    password!: string
  }
  const sequelize = new Sequelize('postgres://127.0.0.1:1/none', {
    dialectModule: pg,
    logging: false,
  })
  const statuses = [Declared, Defined].map((Member) => {
    Member.init({ name: DataTypes.STRING, password: DataTypes.STRING }, { sequelize })
    return statusOf(Member.build({ name: 'alice', password }, { raw: true, isNewRecord: false }))
  })
  assert.deepEqual(await Promise.all(statuses), [
    [200, 200],
    [401, 200],
  ])
})
