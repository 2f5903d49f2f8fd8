// The test kit.
import Fastify, { type InjectOptions } from 'fastify'
import authn from 'fastify-authn'
import { memoryApiKeys } from 'fastify-authn/api-keys'
import {
  accountAttacks,
  actingAs,
  apiKeyStoreSuite,
  authAttacks,
  authnTesting,
  mintApiKey,
  mintToken,
  type AttackProblem,
  type AttackReport,
  type BrokenApiKey,
  type BrokenToken,
} from 'fastify-authn/testing'
import { exactly } from '../exactly.js'
import { rows } from './user.js'

export async function tests(): Promise<void> {
  const app = Fastify({ logger: true })
  await app.register(authn, { jwt: { secret: 'x' } })
  await app.register(authnTesting)

  const options: InjectOptions = { url: '/me', ...actingAs({ id: 1, name: 'alice' }) }
  await app.inject(options)
  for (const row of rows) await app.inject({ url: '/me', ...actingAs(row) })
  actingAs({ id: 1, name: 'alice' }, { claims: { sub: 'alice' }, extra: { tenant: 'a' } })
  actingAs({ id: 1, name: 'alice' }, { scopes: ['a'], roles: [] })
  const names: readonly string[] | undefined = rows.map(({ name }) => name)
  actingAs({ id: 1, name: 'alice' }, { scopes: names })
  // @ts-expect-error -- a text is no list
  actingAs({ id: 1, name: 'alice' }, { scopes: 'a' })
  // @ts-expect-error -- that is the word of a mark
  actingAs({ id: 1, name: 'alice' }, { scope: ['a'] })
  // @ts-expect-error -- no user without a name
  actingAs({ id: 1 })
  // @ts-expect-error -- a promise is no user
  actingAs(Promise.resolve({ id: 1, name: 'alice' }))
  // @ts-expect-error -- no user
  actingAs(null)
  // @ts-expect-error -- a text is no claims set
  actingAs({ id: 1, name: 'alice' }, { claims: 'sub' })

  exactly<string>()(mintToken(app, { sub: 'alice' }))
  mintToken(app, { sub: 1, expiresIn: 60, notBefore: -60, algorithm: 'ES256', claims: { a: 1 } })
  const broken: BrokenToken = 'expired'
  mintToken(app, { sub: 'alice', broken, typ: 'reset+jwt' })
  // @ts-expect-error -- no such flaw
  mintToken(app, { sub: 'alice', broken: 'late' })
  // @ts-expect-error -- no algorithm
  mintToken(app, { sub: 'alice', algorithm: 'none' })

  actingAs({ id: 1, name: 'alice' }, { apiKey: { name: 'job', scopes: ['a'] } })
  // @ts-expect-error -- the owner is the user
  actingAs({ id: 1, name: 'alice' }, { apiKey: { owner: 'bob' } })
  exactly<Promise<string>>()(mintApiKey(app, { owner: 1 }))
  const flaw: BrokenApiKey = 'otherPrefix'
  await mintApiKey(app, { owner: 'alice', scopes: ['a'], expiresAt: null, broken: flaw })
  // @ts-expect-error -- no owner
  await mintApiKey(app, { scopes: [] })
  // @ts-expect-error -- no such flaw
  await mintApiKey(app, { owner: 'alice', broken: 'late' })
  for (const { name, run } of apiKeyStoreSuite((prefix) => memoryApiKeys({ prefix }))) {
    exactly<string>()(name)
    await run()
  }

  const report = await authAttacks(app, { method: 'POST', url: '/me', payload: {}, sub: 'alice' })
  exactly<AttackReport>()(report)
  exactly<AttackProblem[]>()(report.problems)
  exactly<number>()(report.cases)
  report.assert()
  await authAttacks(app, { url: '/me', good: { 'x-api-key': 'k' }, except: [/^token: /] })
  await authAttacks(Fastify({ http2: true }), { url: '/me', good: 'Basic x', rejections: [403] })
  await authAttacks(app, { url: '/me', claims: { scope: 'a' }, scope: { any: ['a', 'b'] } })
  // @ts-expect-error -- a bare array
  await authAttacks(app, { url: '/me', sub: 'alice', scope: ['a'] })
  exactly<AttackReport>()(await accountAttacks(app))
  await accountAttacks(app, { create: { role: 'member' }, loginFields: { code: '000000' } })
  // @ts-expect-error -- no such option
  await accountAttacks(app, { url: '/me' })
  // @ts-expect-error -- no URL
  await authAttacks(app, { sub: 'alice' })
}
