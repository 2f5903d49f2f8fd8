import { isAccessName } from '../marks/access.js'
import { scopesOf } from '../users/granted.js'
import { brokenKeys, changeAt, mintApiKey, sealed, type BrokenApiKey } from './api-keys.js'
import { enoughOf, lackingNames } from './attack-access.js'
import {
  elsewhereCases,
  headerCases,
  type AttackCase,
  type Cases,
  type Headers,
} from './attack-cases.js'
import { scopeOf, type AttackOptions } from './attack-options.js'
import type { Bad } from './broken.js'
import type { Watched } from './watched.js'

/**
 * A good key for the `sub` of the options, with the scopes that the route needs and those of the `claims`.
 *
 * @returns undefined where the route takes no API keys
 */
export async function goodKey(
  watched: Watched | null,
  options: AttackOptions,
): Promise<string | undefined> {
  const { sub: owner, claims } = options
  const need = scopeOf(options) ?? watched?.scope ?? null
  if (owner === undefined || !watched?.keyApp) return undefined
  const scopes = new Set([...(need === null ? [] : enoughOf(need)), ...scopesOf(claims)])
  return mintApiKey(watched.keyApp, { owner, scopes: [...scopes] })
}

/**
 * Bad API keys, where a good one is known.
 *
 * @param made - see {@link goodKey}; one among the good headers comes first
 */
export async function apiKeyCases(
  good: Headers,
  made: string | undefined,
  watched: Watched | null,
  method: string,
  options: AttackOptions,
): Promise<Cases> {
  const own = Object.entries(good).find(([, value]) => isKey(bare(value)))
  const key = own === undefined ? made : bare(own[1])
  if (key === undefined) return { cases: [], leftOut: [] }
  const [header = 'authorization'] = own ?? []
  const caseOf = ([title, text]: Bad): AttackCase => ({
    name: `API key: ${title}`,
    request: {
      headers: { ...good, [header]: header === 'authorization' ? `Bearer ${text}` : text },
    },
    // Wrong secrets of one key are throttled; the right one still passes.
    refusals: [401, 429],
  })
  const places = Array.from(key, (_, index): Bad[] => {
    const changed = changeAt(key, index)
    const title = `place ${index + 1} changed`
    return [
      [title, changed],
      [`${title}, with a right checksum`, sealed(changed)],
    ]
  })
  const authorization = `Bearer ${key}`
  const misplaced = [
    ...elsewhereCases(method, { authorization }, watched?.cookie ?? null).slice(1),
    ...headerCases(authorization, { token: key }, 'alice', []),
  ].map((each) => ({ ...each, name: `API key: ${each.name}` }))
  const cases = [
    ...(good.authorization === authorization ? [] : misplaced),
    ...places
      .flat()
      .filter(([, text]) => text !== key)
      .map(caseOf),
  ]
  const owner = watched?.apiKey?.owner ?? options.sub
  const { keyApp: app = null, scope = null } = watched ?? {}
  if (app === null || owner === undefined) {
    return { cases, leftOut: ['broken API keys (the key is not one of this app)'] }
  }
  const scopes = watched?.apiKey?.scopes ?? []
  for (const broken of Object.keys(brokenKeys) as BrokenApiKey[]) {
    cases.push(caseOf([broken, await mintApiKey(app, { owner, scopes, broken })]))
  }
  const need = scopeOf(options) ?? scope
  for (const [title, names] of need === null ? [] : lackingNames(need)) {
    if (!names.every((name) => isAccessName('scope', name))) continue
    const lacking = caseOf([`scope ${title}`, await mintApiKey(app, { owner, scopes: names })])
    cases.push({ ...lacking, refusals: [403] })
  }
  return { cases, leftOut: [] }
}

const bare = (value: string): string => value.replace(/^bearer +/i, '')

/** Whether a string has the form and the checksum of an API key. */
const isKey = (text: string): boolean =>
  /^[a-z][a-z0-9_]*_[0-9A-Za-z]{54}$/.test(text) && sealed(text) === text
