import { formatProblemOf } from '../api-keys/key.js'
import { brokenKeys, changeAt, mintApiKey, withNewChecksum, type BrokenApiKey } from './api-keys.js'
import { lackingNames } from './attack-access.js'
import { misplacedCases, headerCases, type AttackCase, type Target } from './attack-cases.js'
import { scopeOf } from './attack-options.js'

/** Bad API keys, where a good one is known: one among the good headers, or one that was made. */
export async function apiKeyCases(target: Target): Promise<AttackCase[]> {
  const { options, good, watched } = target
  const [header = 'authorization', text] =
    Object.entries(good).find(([, value]) => isKey(bare(value))) ?? []
  const key = text === undefined ? target.key : bare(text)
  if (key === undefined) return []
  const cases: AttackCase[] = []
  const add = (title: string, bad: string, rejections: readonly number[]): void => {
    const value = header === 'authorization' ? `Bearer ${bad}` : bad
    const request = { headers: { ...good, [header]: value } }
    cases.push({ name: `API key: ${title}`, request, rejections })
  }
  // Wrong secrets of one key are throttled; the right one still passes.
  const wrong = [401, 429]
  for (const index of key.split('').keys()) {
    const changed = changeAt(key, index)
    add(`place ${index + 1} changed`, changed, wrong)
    const valid = withNewChecksum(changed)
    if (valid !== key) add(`place ${index + 1} changed, with a right checksum`, valid, wrong)
  }
  if (good.authorization !== `Bearer ${key}`) {
    const material = { ...target.material, token: key }
    const alone = { ...target, good: { authorization: `Bearer ${key}` }, material, tokens: [] }
    for (const each of [...misplacedCases(alone), ...headerCases(alone)]) {
      cases.push({ ...each, name: `API key: ${each.name}` })
    }
  }
  const owner = watched?.apiKey?.owner ?? options.sub
  if (!watched?.keyApp || owner === undefined) {
    target.leftOut.push('broken API keys (the key is not one of this app)')
    return cases
  }
  const scopes = watched.apiKey?.scopes ?? []
  for (const broken of Object.keys(brokenKeys) as BrokenApiKey[]) {
    add(broken, await mintApiKey(watched.keyApp, { owner, scopes, broken }), wrong)
  }
  const need = scopeOf(options) ?? watched.scope
  for (const [title, names] of need === null ? [] : lackingNames(need)) {
    add(`scope ${title}`, await mintApiKey(watched.keyApp, { owner, scopes: names }), [403])
  }
  return cases
}

const bare = (value: string): string => value.replace(/^bearer +/i, '')

const isKey = (text: string): boolean => formatProblemOf(text, text.slice(0, -54)) === null
