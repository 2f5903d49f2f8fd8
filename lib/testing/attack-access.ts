import { meets } from '../marks/access.js'
import { stateOf } from '../request/state.js'
import { actingAs, type ActingOptions } from './acting.js'
import { epochSeconds } from './forge.js'
import { resign } from './material.js'
import { scopeOf } from './attack-options.js'
import type { AttackCase, Target } from './attack-cases.js'
import type { NeededNames } from '../../types/marks.js'

/** The scopes or roles of a user who must not pass, with a name for the case. */
type Lacking<What> = readonly [title: string, what: What]

/**
 * Requests of the right user without the scopes or roles that the route asks for, or with some that are nearly
 * the same. Only a 403 rejects them rightly: a 401 would say that something else was wrong with them. Then those of
 * another level, whose rejection is a 401.
 */
export async function accessCases(target: Target): Promise<AttackCase[]> {
  const cases = await scopesByToken(target)
  if (cases.length === 0) cases.push(...(await byActing(target, 'scope')))
  cases.push(...(await byActing(target, 'role')))
  return [...cases.map((each) => ({ ...each, rejections: [403] })), ...levelCases(target)]
}

/** Tokens of the app that differ from the good one in their scopes only. */
async function scopesByToken(target: Target): Promise<AttackCase[]> {
  const { options, watched, material, good, leftOut, statusOf } = target
  const scope = scopeOf(options) ?? watched?.scope ?? null
  if (scope === null) return []
  if (material.key === undefined || good.authorization?.endsWith(` ${material.token}`) !== true) {
    leftOut.push('tokens without the scope (the key that signs the good token is not known)')
    return []
  }
  const request = (claims: object): AttackCase['request'] => {
    const changed = resign(material, { scope: undefined, scp: undefined, ...claims })
    return { headers: { ...good, authorization: `Bearer ${changed}` } }
  }
  if (watched?.hasScopesOf === true && isIn(await statusOf(request({})))) {
    const why = '"access.scopesOf" or "scopes" of the issuer gives it, whatever "scope" says'
    leftOut.push(`tokens without the scope (${why})`)
    return []
  }
  const isDefault = options.scope === undefined && watched?.hasScopesOf === false
  const claims = [
    ['no claim', {}] as const,
    ...lackingNames(scope).map(([title, names]) => [title, { scope: names.join(' ') }] as const),
    ...(isDefault ? misplacedClaims(enoughOf(scope)) : []),
  ]
  return claims.map(([title, each]) => ({
    name: `scope of the token: ${title}`,
    request: request(each),
  }))
}

/** The user whom the good credentials named, with other scopes or roles. */
async function byActing(target: Target, key: 'scope' | 'role'): Promise<AttackCase[]> {
  const { watched, material, leftOut, statusOf } = target
  const need = watched?.[key] ?? null
  if (watched === null || need === null) return []
  if (!watched.canAct) {
    leftOut.push(`users without the ${key} (register authnTesting, and they are played)`)
    return []
  }
  const { user, scope, role } = watched
  const enough: ActingOptions = {
    claims: material.claims,
    scopes: scope === null ? [] : enoughOf(scope),
    roles: role === null ? [] : enoughOf(role),
  }
  const control = await statusOf(actingAs(user, enough))
  if (control === 401 || control === 403) {
    leftOut.push(`users without the ${key} (something else than the mark rejects who has it)`)
    return []
  }
  return lackingNames(need).map(([title, names]) => ({
    name: `${key} of the user: ${title}`,
    request: actingAs(user, { ...enough, [`${key}s`]: names }),
  }))
}

const isIn = (status: number | null): boolean => status !== null && status < 400

/** Names that are enough: all of them, or the first of several any of which is. */
export const enoughOf = (need: NeededNames): readonly string[] =>
  'all' in need ? need.all : need.any.slice(0, 1)

/** Lists of names that are not enough: longer, shorter, in another case, patterns. */
export function lackingNames(need: NeededNames): Lacking<readonly string[]>[] {
  const lists: Lacking<readonly string[]>[] = [['none', []]]
  for (const name of new Set('all' in need ? need.all : need.any)) {
    // The other names of `all` stay, so that it is this one that is missing.
    const others = 'all' in need ? need.all.filter((other) => other !== name) : []
    if (others.length > 0) lists.push([`all but ${quoted(name)}`, others])
    const start = name.replace(/[^\p{L}\p{N}][^]*$/u, '')
    const longer = [`${name}x`, `${name}:x`, `${name}.x`, `${name}*`, name.toUpperCase()]
    const shorter = [name.slice(0, -1), name.slice(1), start, `${start}:*`, name.toLowerCase()]
    for (const other of new Set([...longer, ...shorter, '*', 'true', 'undefined'])) {
      if (other.trim() !== '')
        lists.push([`${quoted(other)} for ${quoted(name)}`, [...others, other]])
    }
  }
  return lists.filter(([, list]) => !meets(need, new Set(list)))
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

const quoted = (text: string): string => JSON.stringify(text)

/** Claims that say `mfa` neither where nor how RFC 8176 has it. */
const notMfa = [undefined, 'mfa', ['pwd'], ['MFA'], ['mfa', 1], { mfa: true }, true]

/** Tokens of the user that differ from the good one only in how, or when, the user was authenticated. */
function levelCases({ watched, material, good, leftOut }: Target): AttackCase[] {
  if (watched === null || (!watched.mfa && watched.fresh === null)) return []
  if (material.key === undefined || good.authorization?.endsWith(` ${material.token}`) !== true) {
    leftOut.push('tokens of another level (the key that signs the good token is not known)')
    return []
  }
  const isOwnWay = stateOf(watched.request)?.level?.isMfa !== undefined
  if (watched.mfa && isOwnWay) leftOut.push('tokens without mfa (the issuer has its own claim)')
  const levels = watched.mfa && !isOwnWay ? notMfa.map((amr) => ({ amr })) : []
  const times = watched.fresh === null ? [] : staleTimes(watched.fresh)
  return [...levels, ...times.map((auth_time) => ({ auth_time }))].map((claims) => {
    const headers = { ...good, authorization: `Bearer ${resign(material, claims)}` }
    return { name: `level of the token: ${nameOf(claims)}`, request: { headers } }
  })
}

/** Missing, too old for any tolerance, as text, in milliseconds, and in the future. */
function staleTimes(fresh: number): unknown[] {
  const now = epochSeconds()
  return [undefined, now - fresh - 3600, String(now), [now], now * 1000, now + 3600, 0]
}

const nameOf = (claims: object): string =>
  Object.entries(claims)
    .map(([name, value]) => `${name} ${JSON.stringify(value) ?? 'missing'}`)
    .join()
