import Fastify from 'fastify'
import authn from 'fastify-authn'
import { actingAs, authAttacks, authnTesting } from 'fastify-authn/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'

const app = Fastify()
beforeAll(async () => {
  await app.register(authn, {
    userService: { findByUsername: (name) => (name === 'alice' ? { id: 1, name } : null) },
    jwt: { secret: 'a secret of this test alone, which no app shares' },
  })
  app.get('/me', { config: { auth: true } }, (request) => request.user)
  await app.register(authnTesting)
})
afterAll(() => app.close())

test('a user sees the own account', async () => {
  const response = await app.inject({ url: '/me', ...actingAs({ id: 1, name: 'alice' }) })
  expect(response.json()).toEqual({ id: 1, name: 'alice' })
})

test('no attack passes', async () => {
  const report = await authAttacks(app, { url: '/me', sub: 'alice' })
  report.assert()
})
