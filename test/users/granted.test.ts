import * as fc from 'fast-check'
import t from 'tap'
import { namesOf, rolesOf, scopesOf } from '../../lib/users/granted.js'

const scopesIn = (claims: object | null): string[] => [...scopesOf(claims)]
const rolesIn = (user: object): string[] => [...rolesOf(user)]

t.test('scope: names between single spaces, and nothing else separates them', async (t) => {
  t.strictSame(scopesIn({ scope: 'notes:read notes:write' }), ['notes:read', 'notes:write'])
  t.strictSame(scopesIn({ scope: '  a   b ' }), ['a', 'b'])
  t.strictSame(scopesIn({ scope: 'a\tb\nc\u00a0d' }), ['a\tb\nc\u00a0d'])
  t.strictSame(scopesIn({ scope: '' }), [])
})

t.test('scp: a text like it, or an array of names as they stand', async (t) => {
  t.strictSame(scopesIn({ scp: 'a b' }), ['a', 'b'])
  t.strictSame(scopesIn({ scp: ['a b', 'c'] }), ['a b', 'c'])
  t.strictSame(scopesIn({ scp: ['a', 1] }), [], 'one that is no text: none at all')
  t.strictSame(scopesIn({ scp: { 0: 'a', length: 1 } }), [])
})

t.test('scope alone counts where it is there, even malformed', async (t) => {
  for (const scope of [null, undefined, 1, ['a'], { a: true }]) {
    t.strictSame(scopesIn({ scope, scp: ['a'] }), [], JSON.stringify(scope) ?? 'undefined')
  }
})

t.test('nobody has scopes without a token, or by inheritance', async (t) => {
  t.strictSame(scopesIn(null), [])
  t.strictSame(scopesIn(Object.create({ scope: 'a', scp: ['b'] }) as object), [])
  for (const name of ['constructor', '__proto__', 'toString']) {
    t.notOk(scopesOf({ scope: 'a' }).has(name), name)
  }
})

t.test('the scopes of one token are read once', async (t) => {
  const claims = Object.freeze({
    scope: Array.from({ length: 10_000 }, (_, i) => `s${i}`).join(' '),
  })
  const first = scopesOf(claims)
  t.equal(first.size, 10_000)
  t.equal(scopesOf(claims), first)
})

t.test('any list of names survives being joined', async () => {
  const name = fc.stringMatching(/^[\x21\x23-\x5b\x5d-\x7e]{1,12}$/)
  fc.assert(
    fc.property(fc.array(name), (names) => {
      const scopes = scopesOf({ scope: names.join(' ') })
      return names.every((each) => scopes.has(each)) && scopes.size === new Set(names).size
    }),
  )
})

t.test('roles: an array of texts, which alone counts; otherwise a text', async (t) => {
  t.strictSame(rolesIn({ roles: ['editor', 'admin'] }), ['editor', 'admin'])
  t.strictSame(rolesIn({ role: 'editor' }), ['editor'])
  t.strictSame(rolesIn({ role: 'two words' }), ['two words'])
  t.strictSame(rolesIn({ roles: [], role: 'admin' }), [])
  for (const roles of [null, undefined, 'admin', { admin: true }, ['admin', null]]) {
    t.strictSame(rolesIn({ roles, role: 'admin' }), [], JSON.stringify(roles) ?? 'undefined')
  }
  t.strictSame(rolesIn({ role: ['admin'] }), [])
  t.strictSame(rolesIn({}), [])
  t.strictSame(rolesIn(Object.create({ roles: ['admin'], role: 'admin' }) as object), [])
})

t.test('what the app returns: an iterable of texts, or nothing', async (t) => {
  t.strictSame([...namesOf(['a', 'b'], 'access.scopesOf')], ['a', 'b'])
  t.strictSame([...namesOf(new Set(['a']), 'access.scopesOf')], ['a'])
  t.strictSame([...namesOf(null, 'access.scopesOf')], [])
  t.strictSame([...namesOf(undefined, 'access.scopesOf')], [])
  for (const wrong of ['ab', 1, true, {}, () => ['a'], Symbol('a')]) {
    t.throws(() => namesOf(wrong, 'access.scopesOf'), { name: 'TypeError', message: /scopesOf/ })
  }
  t.throws(() => namesOf(['a', 1], 'access.rolesOf'), {
    message: 'access.rolesOf returned a list with a number, expected texts.',
  })
})
