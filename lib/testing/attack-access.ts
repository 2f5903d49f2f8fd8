import { isAccessName } from '../marks/access.js'
import { actingAs, type ActingOptions } from './acting.js'
import {
  enoughOf,
  lackingClaims,
  lackingNames,
  misplacedClaims,
  misplacedRoles,
} from './corpus/access.js'
import { resign, type Material } from './material.js'
import type { AttackCase, Corpus } from './corpus/cases.js'
import type { Watched } from './watched.js'
import type { NeededNames } from '../../types/marks.js'
import type { AuthUser } from '../../types/user-service.js'

/** What is attacked: a route that has let good credentials in. */
export interface AccessTarget {
  /** Null where the guard is not ours. */
  readonly watched: Watched | null
  /** What a check of the app asks for, which no mark says. */
  readonly scope: NeededNames | null
  readonly material: Material
  readonly good: Readonly<Record<string, string>>
  readonly statusOf: (request: AttackCase['request']) => Promise<number | null>
}

const nothing: Corpus = { cases: [], leftOut: [] }
const leaveOut = (what: string): Corpus => ({ cases: [], leftOut: [what] })

/**
 * Requests of the right user without the scopes or roles that the route asks for, or with some that are nearly
 * the same. Only 403 is a refusal of theirs: a 401 would say that something else was wrong with them.
 */
export async function accessCases(target: AccessTarget): Promise<Corpus> {
  const parts = [await scopesByToken(target)]
  if (parts[0]?.cases.length === 0) parts.push(await byActing(target, 'scope'))
  parts.push(await byActing(target, 'role'))
  return {
    cases: parts.flatMap(({ cases }) => cases).map((each) => ({ ...each, refusal: 403 })),
    leftOut: parts.flatMap(({ leftOut }) => leftOut),
  }
}

/** Tokens of the app that differ from the good one in their scopes only. */
async function scopesByToken({
  watched,
  scope: asked,
  material,
  good,
  statusOf,
}: AccessTarget): Promise<Corpus> {
  const scope = asked ?? watched?.scope ?? null
  if (scope === null) return nothing
  const { key, token = '' } = material
  const { authorization = '' } = good
  if (key === undefined || !/^bearer /i.test(authorization) || !authorization.endsWith(token)) {
    return leaveOut('tokens without the scope (the key that signs the good token is not known)')
  }
  const request = (claims: object): AttackCase['request'] => {
    const changed = resign(material, { scope: undefined, scp: undefined, ...claims })
    return { headers: { ...good, authorization: `Bearer ${changed}` } }
  }
  const isDefault = asked === null && watched?.hasScopesOf === false
  if (watched?.hasScopesOf === true && isIn(await statusOf(request({})))) {
    return leaveOut(
      'tokens without the scope ("access.scopesOf" gives it, whatever the token says)',
    )
  }
  const claims = [...lackingClaims(scope), ...(isDefault ? misplacedClaims(scope) : [])]
  const cases = claims.map(([title, each]) => ({
    name: `scope of the token: ${title}`,
    request: request(each),
  }))
  return { cases, leftOut: [] }
}

/** The user whom the good credentials named, with other scopes or roles. */
async function byActing(target: AccessTarget, key: 'scope' | 'role'): Promise<Corpus> {
  const { watched, material, statusOf } = target
  const need = watched?.[key] ?? null
  if (watched === null || need === null) return nothing
  if (!watched.canAct) {
    return leaveOut(`users without the ${key} (register authnTesting, and they are played)`)
  }
  const enough: ActingOptions = {
    claims: material.claims,
    scopes: watched.scope === null ? [] : enoughOf(watched.scope),
    roles: watched.role === null ? [] : enoughOf(watched.role),
  }
  const control = await statusOf(actingAs(watched.user, enough))
  if (control === 401 || control === 403) {
    return leaveOut(`users without the ${key} (something else than the mark refuses who has it)`)
  }
  const isOfFields = key === 'role' && !watched.hasRolesOf
  const named = casesOfNames(watched.user, enough, key, need)
  const fields = isOfFields ? casesOfFields(watched.user, enough, need) : []
  return { cases: [...named, ...fields], leftOut: [] }
}

function casesOfNames(
  user: AuthUser,
  enough: ActingOptions,
  key: 'scope' | 'role',
  need: NeededNames,
): AttackCase[] {
  return lackingNames(need)
    .filter(([, names]) => names.every((name) => isAccessName(key, name)))
    .map(([title, names]) => ({
      name: `${key} of the user: ${title}`,
      request: actingAs(user, { ...enough, [`${key}s`]: names }),
    }))
}

/** Where the roles are those of the user, they are looked for in two fields. */
function casesOfFields(user: AuthUser, enough: ActingOptions, need: NeededNames): AttackCase[] {
  const { roles: _, role: __, ...rest } = user as { roles?: unknown; role?: unknown }
  return misplacedRoles(need).map(([title, fields]) => ({
    name: `fields of the user: ${title}`,
    request: actingAs({ ...rest, ...fields }, { ...enough, roles: undefined }),
  }))
}

function isIn(status: number | null): boolean {
  return status !== null && status < 400
}
