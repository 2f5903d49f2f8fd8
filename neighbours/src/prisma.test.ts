import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { PGlite } from '@electric-sql/pglite'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'
import { PrismaPg } from '@prisma/adapter-pg'
import { hashPassword } from 'fastify-authn'
import { createApp } from './prisma.js'
import { as, credentials } from './users.js'

const db = await PGlite.create()
await db.exec(`
  CREATE TABLE "Member" (id serial PRIMARY KEY, name text NOT NULL UNIQUE,
    password text NOT NULL, roles text[]);
`)
const server = new PGLiteSocketServer({ db, host: '127.0.0.1', port: 0 })
await server.start()
// PGlite has one connection.
const connectionString = `postgres://postgres@${server.getServerConn()}/postgres`
const { app, prisma } = await createApp(new PrismaPg({ connectionString, max: 1 }))
after(async () => {
  await app.close()
  await server.stop()
  await db.close()
})
const weak = await hashPassword(credentials.password, { cost: 4 })
await prisma.member.create({ data: { name: 'alice', password: weak, roles: ['editor'] } })
await prisma.member.create({ data: { name: 'bob', password: weak, roles: [] } })

test('Prisma: login by any spelling, no hash, roles, a stronger hash', async () => {
  const payload = { ...credentials, username: 'Alice' }
  const login = await app.inject({ method: 'POST', url: '/login', payload })
  const { token } = login.json<{ token: string }>()
  assert.equal(app.jwtService.verify(token).sub, 'alice')
  const headers = { authorization: `Bearer ${token}` }
  const me = await app.inject({ url: '/me', headers })
  assert.deepEqual(me.json(), { id: 1, name: 'alice', roles: ['editor'] })
  assert.equal((await app.inject({ url: '/desk', headers })).statusCode, 200)
  assert.equal((await app.inject({ url: '/desk', headers: as('bob', app) })).statusCode, 403)
  assert.equal((await app.inject({ url: '/me', headers: as('carol', app) })).statusCode, 401)

  const { rows } = await db.query<{ password: string }>(
    'SELECT password FROM "Member" WHERE id = 1',
  )
  assert.match(rows[0]?.password ?? '', /^\$2b\$10\$/)
})

test('Prisma: mode "insensitive" takes wildcards, and findFirst takes undefined', async () => {
  const equals = '_lic%'
  const found = await prisma.member.findFirst({
    where: { name: { equals, mode: 'insensitive' } },
  })
  assert.equal(found?.name, 'alice')
  const any = await prisma.member.findFirst({ where: { name: undefined as never } })
  assert.notEqual(any, null)
})
