import * as fc from 'fast-check'
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
  for (const roles of [null, undefined, 'admin', { admin: true }, ['admin', null]]) {
    t.strictSame(rolesIn({ roles, role: 'admin' }), [], JSON.stringify(roles) ?? 'undefined')
  }
  t.strictSame(rolesIn({ role: ['admin'] }), [])
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
