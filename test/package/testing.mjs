// The test kit in ESM, with node:test; then against an app and a kit in CommonJS: they are one kit.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import bcrypt from 'bcrypt'
import Fastify from 'fastify'
import authn from 'fastify-authn'
import * as kit from 'fastify-authn/testing'

const { actingAs, authAttacks, authnTesting, mintToken } = kit
const require = createRequire(import.meta.url)
const secret = 'secret-secret-secret-secret-secret'
const hash = await bcrypt.hash('wonderland', 4)
const alice = { id: 1, name: 'alice', password: 'hash' }

const builds = { esm: { authn, authnTesting }, cjs: commonJs() }

function commonJs() {
  return {
    authn: require('fastify-authn'),
    authnTesting: require('fastify-authn/testing').authnTesting,
  }
}

async function build(core, plugin) {
  const app = Fastify()
  await app.register(core, {
    userService: { findByUsername: (name) => (name === 'alice' ? alice : null) },
    jwt: { secret },
  })
  if (plugin) await app.register(plugin)
  app.get('/me', { config: { auth: true } }, (request) => request.user)
  return app
}

for (const [core, { authn: plugin }] of Object.entries(builds)) {
  for (const [testing, { authnTesting: kitPlugin }] of Object.entries(builds)) {
    test(`an app with the ${core} build, the kit from the ${testing} one`, async (t) => {
      const app = await build(plugin, kitPlugin)
      t.after(() => app.close())
      const me = await app.inject({ url: '/me', ...actingAs(alice) })
      assert.deepEqual([me.statusCode, me.json()], [200, { id: 1, name: 'alice' }])
      assert.equal((await app.inject('/me')).statusCode, 401)
      const rejected = await app.inject({
        url: '/me',
        headers: {
          authorization: `Bearer ${mintToken(app, { sub: 'alice', broken: 'withoutExp' })}`,
        },
      })
      assert.equal(rejected.statusCode, 401)
    })
  }
}

test('without the kit an acting request is rejected', async (t) => {
  const app = await build(authn)
  t.after(() => app.close())
  assert.equal((await app.inject({ url: '/me', ...actingAs(alice) })).statusCode, 401)
})

test('authAttacks() finds no problem', async (t) => {
  const app = await build(authn)
  t.after(() => app.close())
  const { problems, cases } = await authAttacks(app, { url: '/me', sub: 'alice' })
  assert.deepEqual(problems, [])
  assert.ok(cases > 60)
})

test('both builds have the same names', () => {
  const names = (module) => Object.keys(module).sort()
  assert.deepEqual(names(require('fastify-authn/testing')), names(kit))
})

for (const [build, { memorySessions, redisSessions, sqlSessions }] of Object.entries({
  esm: await import('fastify-authn/sessions'),
  cjs: require('fastify-authn/sessions'),
})) {
  test(`the ${build} build of the stores passes the suite, and works with the plugin`, async (t) => {
    assert.deepEqual([typeof redisSessions, typeof sqlSessions], ['function', 'function'])
    const cases = kit.sessionStoreSuite((prefix) => memorySessions({ prefix }))
    await Promise.all(cases.map(({ run }) => run()))
    const app = Fastify()
    t.after(() => app.close())
    await app.register(authn, {
      userService: { findByUsername: async () => ({ ...alice, password: hash }) },
      jwt: { secret },
      hashing: { cost: 4 },
      sessions: { store: memorySessions() },
    })
    const payload = { username: 'alice', password: 'wonderland' }
    const login = await app.inject({ method: 'POST', url: '/login', payload })
    const { refreshToken } = login.json()
    const again = await app.inject({
      method: 'POST',
      url: '/login/refresh',
      payload: { refreshToken },
    })
    assert.deepEqual([login.statusCode, again.statusCode], [200, 200])
  })
}
