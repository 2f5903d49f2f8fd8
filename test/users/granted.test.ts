import * as fc from 'fast-check'
import t from 'tap'
import { namesOf, rolesOf, scopesOf } from '../../lib/users/granted.js'

const scopesIn = (claims: object | null): string[] => [...scopesOf(claims)]
const rolesIn = (user: object): string[] => [...rolesOf(user, () => undefined)]

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
  t.strictSame(rolesIn(Object.create({ roles: ['admin'] }) as object), ['admin'], 'of its class')
  t.strictSame(rolesIn({ roles: new Set(['a', 'b']) }), ['a', 'b'])
  t.strictSame(rolesIn({ roles: new Set(['a', 1]) }), [])
})

t.test('what the app returns: an iterable of texts, or nothing', async (t) => {
  t.strictSame([...namesOf(['a', 'b'], 'access.scopesOf')], ['a', 'b'])
  t.strictSame([...namesOf(new Set(['a']), 'access.scopesOf')], ['a'])
  t.strictSame([...namesOf(null, 'access.scopesOf')], [])
  t.strictSame([...namesOf(undefined, 'access.scopesOf')], [])
  for (const wrong of ['ab', 1, true, {}, () => ['a'], Symbol('a'), ['a', 1]]) {
    t.throws(() => namesOf(wrong, 'access.scopesOf'), { name: 'TypeError' })
  }
})

t.test('what a polluted Object.prototype has is no role', async (t) => {
  const prototype = Object.prototype as { roles?: unknown }
  prototype.roles = ['admin']
  t.teardown(() => delete prototype.roles)
  t.strictSame(rolesIn({}), [])
  t.strictSame(rolesIn(new Date()), [])
  t.strictSame(rolesIn({ roles: ['author'] }), ['author'])
})

/** The rule once more, by single characters and plain loops. */
function hasScope(claims: Record<string, unknown>, name: string): boolean {
  const inText = (text: unknown): boolean => {
    if (typeof text !== 'string') return false
    let word = ''
    for (const character of `${text} `) {
      if (character !== ' ') word += character
      else if (word !== '' && word === name) return true
      else word = ''
    }
    return false
  }
  if (Object.keys(claims).includes('scope')) return inText(claims.scope)
  const { scp } = claims
  if (!Array.isArray(scp)) return Object.keys(claims).includes('scp') && inText(scp)
  for (const element of scp) if (typeof element !== 'string') return false
  return scp.includes(name)
}

const prototypeNames = Object.getOwnPropertyNames(Object.prototype)
const word = fc.oneof(
  fc.constantFrom(
    'a',
    'A',
    'ab',
    'notes',
    'notes:',
    'notes:write',
    'Notes:write',
    ...prototypeNames,
  ),
  fc.stringMatching(/^[\x21-\x7e]{1,3}$/),
)
const separator = fc.constantFrom(' ', '  ', '\t', '\n', '\u00a0', '\u3000', ',', '', ' \t ')
const line = fc.array(fc.tuple(word, separator)).map((parts) => parts.flat().join(''))
const value = fc.oneof(line, fc.array(fc.oneof(line, word)), fc.jsonValue())

t.test('whatever the claims hold: the names of the rule, and nothing else', async () => {
  const claims = fc.dictionary(
    fc.constantFrom('scope', 'scp', 'Scope', 'scopes', '__proto__'),
    value,
  )
  fc.assert(
    fc.property(claims, word, (found, name) => {
      // As it comes out of a token: JSON, which can make an own `__proto__`.
      const parsed = JSON.parse(JSON.stringify(found)) as Record<string, unknown>
      return scopesOf(parsed).has(name) === hasScope(parsed, name)
    }),
    { numRuns: 2000 },
  )
})

t.test('a name alone is granted by itself alone', async () => {
  fc.assert(
    fc.property(word, word, (granted, asked) => {
      const isSame = granted === asked
      return (
        scopesOf({ scope: granted }).has(asked) === isSame &&
        scopesOf({ scp: [granted] }).has(asked) === isSame &&
        rolesIn({ role: granted }).includes(asked) === isSame &&
        rolesIn({ roles: [granted] }).includes(asked) === isSame &&
        namesOf([granted], 'access.rolesOf').has(asked) === isSame
      )
    }),
    { numRuns: 1000 },
  )
})

t.test('whatever a user holds: an array of texts, or a text', async () => {
  const users = fc.dictionary(fc.constantFrom('roles', 'role', 'Role', '__proto__'), value)
  fc.assert(
    fc.property(users, word, (found, name) => {
      const user = JSON.parse(JSON.stringify(found)) as Record<string, unknown>
      const { roles, role } = user
      const isList = Array.isArray(roles) && roles.every((each) => typeof each === 'string')
      const expected = Object.keys(user).includes('roles')
        ? isList && roles.includes(name)
        : role === name
      return rolesIn(user).includes(name) === expected
    }),
    { numRuns: 1000 },
  )
})
