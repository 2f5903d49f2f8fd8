import t from 'tap'
import { rolesOf, scopesOf } from '../../lib/users/granted.js'

const rolesIn = (user: object): string[] => [...rolesOf(user, () => undefined)]

t.test('the scopes of a token are parsed once and cached', async (t) => {
  const claims = Object.freeze({
    scope: Array.from({ length: 10_000 }, (_, i) => `s${i}`).join(' '),
  })
  const first = scopesOf(claims)
  t.equal(first.size, 10_000)
  t.equal(scopesOf(claims), first)
})

t.test('roles of a polluted Object.prototype are ignored', async (t) => {
  const prototype = Object.prototype as { roles?: unknown }
  prototype.roles = ['admin']
  t.teardown(() => delete prototype.roles)
  t.strictSame(rolesIn({}), [])
  t.strictSame(rolesIn(new Date()), [])
  t.strictSame(rolesIn({ roles: ['author'] }), ['author'])
})
