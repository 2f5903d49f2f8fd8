// What docs/guides/api-keys.md says of the end of a key: what does not end it, and the recipe that does.
import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import { authn, hashPassword } from 'fastify-authn'
import { memoryApiKeys } from 'fastify-authn/api-keys'
import t, { type Test } from 'tap'
import { until } from '../../test/helpers/until.js'
import { revokeKeys } from './revoke-keys.js'

const password = 'a white rabbit in a waistcoat'
const next = 'a mad hatter without a tea'

async function shop(t: Test, prepare: (app: FastifyInstance) => void = () => undefined) {
  const alice = { id: 1, email: 'alice@shop.example', password: await hashPassword(password) }
  const users = new Map([[alice.id, alice]])
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(authn, {
    userService: {
      findByUsername: (name) =>
        [...users.values()].find(({ id, email }) => String(id) === String(name) || email === name),
    },
    jwt: { secret: randomBytes(64) },
    login: { usernameField: 'email', subject: (user) => user.id },
    sessions: true,
    apiKeys: { prefix: 'acme', store: memoryApiKeys() },
    accounts: {
      url: 'https://shop.example/account',
      create: () => undefined,
      update: (user, after) => Object.assign(user, { password: after.passwordHash }),
      remove: (user) => users.delete(user.id),
      sendMail: () => undefined,
    },
  })
  app.get('/notes', { config: { auth: { use: 'apiKey', scope: 'read' } } }, () => 'notes')
  prepare(app)
  await app.ready()
  const { apiKeys, sessions } = app.authn
  const scopes = ['read']
  const { key } = await apiKeys.issue({ owner: 1, name: 'job', scopes, expiresAt: null })
  const read = async () =>
    (await app.inject({ url: '/notes', headers: { authorization: `Bearer ${key}` } })).statusCode
  async function post(url: string, payload: object, token = '') {
    const headers = { authorization: `Bearer ${token}` }
    const response = await app.inject({ method: 'POST', url, payload, headers })
    await app.authn.accounts.settled()
    t.ok(response.statusCode < 300, `${url}: ${response.statusCode}`)
    return response.body === '' ? '' : (response.json<{ token?: string }>().token ?? '')
  }
  const logIn = (word: string) => post('/login', { email: alice.email, password: word })
  const settles = (status: number) => until(async () => (await read()) === status, `a ${status}`)
  return { app, sessions, read, settles, post, logIn }
}

t.test('neither a new password nor a logout everywhere ends a key', async (t) => {
  const { sessions, read, post, logIn } = await shop(t)
  await post(
    '/password/change',
    { currentPassword: password, password: next },
    await logIn(password),
  )
  await post('/logout', { everywhere: true }, await logIn(next))
  await sessions.revoke({ sub: '1' })
  t.equal(await read(), 200)
})

t.test('with the recipe, a new password ends it', async (t) => {
  const { settles, post, logIn } = await shop(t, revokeKeys)
  await post(
    '/password/change',
    { currentPassword: password, password: next },
    await logIn(password),
  )
  await settles(401)
})

t.test('with the recipe, a deletion revokes the keys, for whoever gets the id next', async (t) => {
  const { app, post, logIn } = await shop(t, revokeKeys)
  await post('/account/delete', { currentPassword: password }, await logIn(password))
  const { apiKeys } = app.authn
  await until(async () => Boolean((await apiKeys.list(1))[0]?.revokedAt), 'it is revoked')
})

t.test('the keys of a user of another registration with the same id stay', async (t) => {
  const staff = { id: 1, email: 'carol@shop.example', password: await hashPassword(password) }
  const register = (app: FastifyInstance) =>
    void app.register(
      async (scope) => {
        await scope.register(authn, {
          userService: { findByUsername: () => staff },
          jwt: { secret: randomBytes(64) },
          login: { usernameField: 'email', subject: (user) => user.id },
          sessions: { name: 'staff' },
          accounts: {
            url: 'https://shop.example/staff',
            create: () => undefined,
            update: (user, after) => Object.assign(user, { password: after.passwordHash }),
            sendMail: () => undefined,
          },
        })
      },
      { prefix: '/staff' },
    )
  const { read, post } = await shop(t, (app) => {
    revokeKeys(app)
    register(app)
  })
  const token = await post('/staff/login', { email: staff.email, password })
  await post('/staff/password/change', { currentPassword: password, password: next }, token)
  await setTimeout(50)
  t.equal(await read(), 200)
})
