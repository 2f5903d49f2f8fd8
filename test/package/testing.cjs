// The test kit in CommonJS, as jest loads it.
'use strict'

const assert = require('node:assert/strict')
const { test } = require('node:test')
const fastify = require('fastify')
const authn = require('fastify-authn')
const { actingAs, authAttacks, authnTesting, mintToken } = require('fastify-authn/testing')

async function build() {
  const app = fastify()
  await app.register(authnTesting)
  await app.register(authn, {
    userService: { findByUsername: (name) => (name === 'alice' ? { name } : null) },
    jwt: { secret: 'secret-secret-secret-secret-secret' },
  })
  app.get('/me', { config: { auth: true } }, (request) => request.user)
  return app
}

test('acting, minting, attacking', async (t) => {
  const app = await build()
  t.after(() => app.close())
  const acting = await app.inject({ url: '/me', ...actingAs({ name: 'bob' }) })
  assert.deepEqual([acting.statusCode, acting.json()], [200, { name: 'bob' }])
  for (const [broken, status] of [
    [undefined, 200],
    ['expired', 401],
  ]) {
    const authorization = `Bearer ${mintToken(app, { sub: 'alice', broken })}`
    assert.equal((await app.inject({ url: '/me', headers: { authorization } })).statusCode, status)
  }
  assert.deepEqual((await authAttacks(app, { url: '/me', sub: 'alice' })).problems, [])
})

test('it has no default export to stumble over', () => {
  const kit = require('fastify-authn/testing')
  assert.equal(kit.default, undefined)
  assert.equal(kit.__esModule, true)
})
