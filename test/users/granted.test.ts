import t from 'tap'
import { rolesOf, scopesOf } from '../../lib/users/granted.js'

const rolesIn = (user: object): string[] => [...rolesOf(user, () => undefined)]

t.test('the scopes of one token are read once', async (t) => {
  const claims = Object.freeze({
    scope: Array.from({ length: 10_000 }, (_, i) => `s${i}`).join(' '),
  })
  const first = scopesOf(claims)
  t.equal(first.size, 10_000)
  t.equal(scopesOf(claims), first)
})

t.test('roles: an array of texts, which alone counts; otherwise a text', async (t) => {
  t.strictSame(rolesIn({ roles: ['editor', 'admin'] }), ['editor', 'admin'])
  t.strictSame(rolesIn({ role: 'editor' }), ['editor'])
  t.strictSame(rolesIn({ role: 'two words' }), ['two words'])
  t.strictSame(rolesIn({ roles: [], role: 'admin' }), [])
  for (const roles of [null, 'admin', { admin: true }, ['admin', null]]) {
    t.strictSame(rolesIn({ roles, role: 'admin' }), [], JSON.stringify(roles))
  }
  t.strictSame(rolesIn({ role: ['admin'] }), [])
  t.strictSame(rolesIn({ roles: undefined, role: 'editor' }), ['editor'], 'a schema declares both')
  t.strictSame(rolesIn({ roles: ['editor'], role: undefined }), ['editor'])
  t.strictSame(rolesIn({}), [])
  t.strictSame(rolesIn(Object.create({ roles: ['admin'] }) as object), ['admin'], 'of its class')
  t.strictSame(rolesIn({ roles: new Set(['a', 'b']) }), ['a', 'b'])
  t.strictSame(rolesIn({ roles: new Set(['a', 1]) }), [])
})

t.test('what a polluted Object.prototype has is no role', async (t) => {
  const prototype = Object.prototype as { roles?: unknown }
  prototype.roles = ['admin']
  t.teardown(() => delete prototype.roles)
  t.strictSame(rolesIn({}), [])
  t.strictSame(rolesIn(new Date()), [])
  t.strictSame(rolesIn({ roles: ['author'] }), ['author'])
})
