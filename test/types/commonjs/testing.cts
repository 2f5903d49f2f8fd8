// The test kit, by `require`.
import fastify = require('fastify')
import authn = require('fastify-authn')
import kit = require('fastify-authn/testing')

const app = fastify()
app.register(authn, { jwt: { secret: 'secret' } })
app.register(kit.authnTesting)
export const response = app.inject({ url: '/', ...kit.actingAs({ id: 1, name: 'alice' }) })
export const token: string = kit.mintToken(app, { sub: 'alice', broken: 'none' })
export const report: Promise<kit.AttackReport> = kit.authAttacks(app, { url: '/', sub: 'alice' })
// @ts-expect-error -- no user without a name
kit.actingAs({ id: 1 })
