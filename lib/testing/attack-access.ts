import { isAccessName } from '../marks/access.js'
import { actingAs, type ActingOptions } from './acting.js'
import { resign, type Material } from './material.js'
import type { AttackCase, Cases, Headers } from './attack-cases.js'
import type { Watched } from './watched.js'
import type { NeededNames } from '../../types/marks.js'

/** What is attacked: a route that has let good credentials in. */
interface Target {
  /** Null where the guard is not ours. */
  readonly watched: Watched | null
  /** What a check of the app asks for, which no mark says. */
  readonly scope: NeededNames | null
  readonly material: Material
  readonly good: Headers
  readonly statusOf: (request: AttackCase['request']) => Promise<number | null>
}

/** What a user has who must not pass, with a name for the case. */
type Lacking<What> = readonly [title: string, what: What]

const leaveOut = (what: string): Cases => ({ cases: [], leftOut: [what] })

/**
 * Requests of the right user without the scopes or roles that the route asks for, or with some that are nearly
 * the same. Only a 403 rejects them rightly: a 401 would say that something else was wrong with them.
 */
export async function accessCases(target: Target): Promise<Cases> {
  const parts = [await scopesByToken(target)]
  if (parts[0]?.cases.length === 0) parts.push(await byActing(target, 'scope'))
  parts.push(await byActing(target, 'role'))
  return {
    cases: parts.flatMap(({ cases }) => cases).map((each) => ({ ...each, refusals: [403] })),
    leftOut: parts.flatMap(({ leftOut }) => leftOut),
  }
}

/** Tokens of the app that differ from the good one in their scopes only. */
async function scopesByToken(target: Target): Promise<Cases> {
  const { watched, material, good, statusOf } = target
  const scope = target.scope ?? watched?.scope ?? null
  if (scope === null) return { cases: [], leftOut: [] }
  if (material.key === undefined || good.authorization?.endsWith(` ${material.token}`) !== true) {
    return leaveOut('tokens without the scope (the key that signs the good token is not known)')
  }
  const request = (claims: object): AttackCase['request'] => {
    const changed = resign(material, { scope: undefined, scp: undefined, ...claims })
    return { headers: { ...good, authorization: `Bearer ${changed}` } }
  }
  if (watched?.hasScopesOf === true && isIn(await statusOf(request({})))) {
    return leaveOut(
      'tokens without the scope ("access.scopesOf" gives it, whatever the token says)',
    )
  }
  const isDefault = target.scope === null && watched?.hasScopesOf === false
  const claims = [
    ['no claim', {}] as const,
    ...lackingNames(scope).map(([title, names]) => [title, { scope: names.join(' ') }] as const),
    ...(isDefault ? misplacedClaims(enoughOf(scope)) : []),
  ]
  const cases = claims.map(([title, each]) => ({
    name: `scope of the token: ${title}`,
    request: request(each),
  }))
  return { cases, leftOut: [] }
}

/** The user whom the good credentials named, with other scopes or roles. */
async function byActing(target: Target, key: 'scope' | 'role'): Promise<Cases> {
  const { watched, material, statusOf } = target
  const need = watched?.[key] ?? null
  if (watched === null || need === null) return { cases: [], leftOut: [] }
  if (!watched.canAct) {
    return leaveOut(`users without the ${key} (register authnTesting, and they are played)`)
  }
  const { user, scope, role } = watched
  const enough: ActingOptions = {
    claims: material.claims,
    scopes: scope === null ? [] : enoughOf(scope),
    roles: role === null ? [] : enoughOf(role),
  }
  const control = await statusOf(actingAs(user, enough))
  if (control === 401 || control === 403) {
    return leaveOut(`users without the ${key} (something else than the mark refuses who has it)`)
  }
  const named = lackingNames(need)
    .filter(([, names]) => names.every((name) => isAccessName(key, name)))
    .map(([title, names]) => ({
      name: `${key} of the user: ${title}`,
      request: actingAs(user, { ...enough, [`${key}s`]: names }),
    }))
  if (key === 'scope' || watched.hasRolesOf) return { cases: named, leftOut: [] }
  // Without `access.rolesOf`, the roles are those in two fields of the user.
  const { roles: _, role: __, ...rest } = user as { roles?: unknown; role?: unknown }
  const fields = misplacedRoles(enoughOf(need)).map(([title, each]) => ({
    name: `fields of the user: ${title}`,
    request: actingAs({ ...rest, ...each }, { ...enough, roles: undefined }),
  }))
  return { cases: [...named, ...fields], leftOut: [] }
}

const isIn = (status: number | null): boolean => status !== null && status < 400

/** Names that are enough: all of them, or the first of several any of which is. */
export const enoughOf = (need: NeededNames): readonly string[] =>
  'all' in need ? need.all : need.any.slice(0, 1)

/** Compares the names itself: with the guard's own function, a fault in that one would hide what it lets through. */
function isEnough(need: NeededNames, names: readonly string[]): boolean {
  return 'all' in need
    ? need.all.every((name) => names.includes(name))
    : need.any.some((name) => names.includes(name))
}

/** Lists of names that are not enough: longer, shorter, in another case, patterns. */
export function lackingNames(need: NeededNames): Lacking<readonly string[]>[] {
  const lists: Lacking<readonly string[]>[] = [['none', []]]
  for (const name of new Set('all' in need ? need.all : need.any)) {
    // Of `all`, the other names stay, so that it is this one that is missing.
    const others = 'all' in need ? need.all.filter((other) => other !== name) : []
    if (others.length > 0) lists.push([`all but ${quoted(name)}`, others])
    const start = name.replace(/[^\p{L}\p{N}][^]*$/u, '')
    const parts = start === name ? [] : [start, `${start}:*`]
    const longer = [`${name}x`, `${name}:x`, `${name}.x`, `${name}*`, name.toUpperCase()]
    const shorter = [name.slice(0, -1), name.slice(1), ...parts, name.toLowerCase()]
    const near = new Set([...longer, ...shorter, '*', 'true', 'undefined'])
    for (const other of near) {
      if (other !== '') lists.push([`${quoted(other)} for ${quoted(name)}`, [...others, other]])
    }
  }
  return lists.filter(([, list]) => !isEnough(need, list))
}

/** Claims that hold the right names, but not where or how RFC 8693 section 4.2 has them. */
function misplacedClaims(names: readonly string[]): Lacking<object>[] {
  const text = names.join(' ')
  const keyed = Object.fromEntries(names.map((name) => [name, true]))
  const claims = [
    { scope: names },
    { scope: keyed },
    { scope: null, scp: names },
    { scope: '', scp: names },
    { scope: ['x', ...names].join(',') },
    { scp: [names] },
    { scp: [`x ${text}`] },
    { scp: keyed },
    ...['scopes', 'SCOPE', 'permissions', 'roles'].map((claim) => ({ [claim]: text })),
  ]
  return claims.map((each) => [JSON.stringify(each), each])
}

/** Fields that hold the right roles, but not where or how they are looked for by default. */
function misplacedRoles(names: readonly string[]): Lacking<object>[] {
  const [role] = names
  const fields = [
    { roles: [] },
    { roles: names.map((name) => name.toUpperCase() + name.toLowerCase()) },
    { roles: names.join(' '), role },
    { roles: [names] },
    { roles: Object.fromEntries(names.map((name) => [name, true])), role },
    { roles: null, role },
    { role: names },
    { role: `${role}x` },
    ...['Roles', 'scopes', 'permissions'].map((field) => ({ [field]: names })),
  ]
  return fields.map((each) => [JSON.stringify(each), each])
}

const quoted = (text: string): string => JSON.stringify(text)
