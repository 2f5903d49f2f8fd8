import { AuthnUsageError } from '../errors.js'
import { channels } from '../events.js'
import { isAccessName } from '../marks/access.js'
import { isUsableName } from '../users/user.js'
import { isId, newKey } from './key.js'
import { ownerOf, wholeKey } from './lookup.js'
import type { StoreAccess } from '../stores/store-access.js'
import type { ApiKeyInfo, ApiKeys, ApiKeyStore, StoredApiKey } from '../../types/api-keys.js'
import type { ApiKeyEvent } from '../../types/events.js'

/** What each argument has to be. */
const rules: Readonly<Record<string, readonly [(value: unknown) => boolean, string]>> = {
  owner: [isUsableName, 'a finite number, or a non-empty string without control characters'],
  name: [
    (name) => typeof name === 'string' && /^[^\p{Cc}]{1,100}$/u.test(name),
    '1 to 100 characters, none of them a control character',
  ],
  scopes: [
    (scopes) => Array.isArray(scopes) && scopes.length <= 100 && [...scopes].every(isScope),
    'an array of at most 100 scopes (RFC 6749 §3.3), each of at most 128 characters; empty for none',
  ],
  expiresAt: [
    (date) => date === null || (date instanceof Date && date.getTime() > Date.now()),
    'a Date in the future, or null for a key that does not expire',
  ],
  overlap: [
    (overlap) => typeof overlap === 'number' && overlap >= 0 && overlap <= 2_592_000,
    'seconds, 0 to 2,592,000 (30 days)',
  ],
}

function isScope(name: unknown): boolean {
  return typeof name === 'string' && name.length <= 128 && isAccessName('scope', name)
}

/** @throws ERR_AUTH_API_KEY for an argument that is missing, unknown or wrong, also where it is there and undefined */
function check(method: string, given: object, required: string[], optional: string[] = []): void {
  const known = [...required, ...optional]
  const fail = (problem: string): never => {
    throw new AuthnUsageError('ERR_AUTH_API_KEY', `apiKeys.${method}(): ${problem}.`)
  }
  if (typeof given !== 'object' || given === null) {
    fail(`expected an object with ${known.join(', ')}`)
  }
  for (const name of new Set([...Object.keys(given), ...required])) {
    if (!known.includes(name)) fail(`found the unknown "${name}", expected ${known.join(', ')}`)
    const [isRight, expected] = rules[name] as (typeof rules)[string]
    const value: unknown = given[name as keyof typeof given]
    if (isRight(value)) continue
    fail(`"${name}" is ${value === undefined ? 'missing' : 'wrong'}, expected ${expected}`)
  }
}

/**
 * `app.authn.apiKeys`.
 *
 * @param prefix - the option `apiKeys.prefix`
 * @param forget - called when a key may have changed
 */
export function apiKeysApi(
  prefix: string,
  access: Pick<StoreAccess<ApiKeyStore>, 'ask'>,
  forget: (id: string) => void,
): ApiKeys {
  /** The stored key with an id, if its owner is the given one, or none is given. */
  async function find(id: string, owner: string | undefined): Promise<StoredApiKey | null> {
    const found = await access.ask(async (store) => wholeKey(await store.find(id), id))
    return owner === undefined || found?.owner === owner ? found : null
  }

  return {
    async issue(given) {
      check('issue', given, ['owner', 'name', 'scopes', 'expiresAt'])
      const { owner, name, scopes, expiresAt } = given
      const ownerType = typeof owner === 'number' ? 'number' : 'string'
      const about = { owner: String(owner), ownerType, name, scopes: [...scopes] } as const
      const { key, stored } = newKey(prefix, about, expiresAt && expiresAt.getTime() / 1000)
      await access.ask((store) => store.create(stored))
      report('issued', stored)
      return { ...infoOf(stored), key }
    },

    async list(owner) {
      check('list', { owner }, ['owner'])
      return access.ask(async (store) => {
        const all = await store.list(String(owner))
        return all.map((each) => infoOf(wholeKey(each, each.id) as StoredApiKey))
      })
    },

    async revoke(id, options = {}) {
      check('revoke', options, [], ['owner'])
      if (!isId(id)) return false
      const owner = options.owner?.toString()
      // For the event only: where this fails, the key is revoked nevertheless.
      const stored = channels.apiKey.hasSubscribers ? await find(id, owner).catch(() => null) : null
      try {
        const isRevoked = await access.ask((store) => store.revoke(id, Date.now() / 1000, owner))
        if (isRevoked && stored !== null) report('revoked', stored)
        return isRevoked
      } finally {
        forget(id)
      }
    },

    async rotate(id, options) {
      check('rotate', options, ['overlap'], ['owner', 'expiresAt'])
      const { overlap, expiresAt } = options
      const owner = options.owner?.toString()
      const old = isId(id) ? await find(id, owner) : null
      if (old === null) return null
      const now = Date.now() / 1000
      const same = old.expiresAt && now + old.expiresAt - old.createdAt
      const expiry = expiresAt === undefined ? same : expiresAt && expiresAt.getTime() / 1000
      const { key, stored } = newKey(prefix, old, expiry)
      try {
        const isDone = await access.ask((store) => store.replace(id, stored, now + overlap, owner))
        if (!isDone) return null
      } finally {
        forget(id)
      }
      report('rotated', old, { replacedBy: stored.id })
      return { ...infoOf(stored), key }
    },
  }
}

function infoOf(stored: StoredApiKey): ApiKeyInfo {
  const { id, name, scopes, replacedBy } = stored
  const dateOf = (time: number | null): Date | null =>
    time === null ? null : new Date(Math.round(time * 1000))
  return {
    id,
    owner: ownerOf(stored),
    name,
    scopes: [...scopes],
    createdAt: dateOf(stored.createdAt) as Date,
    expiresAt: dateOf(stored.expiresAt),
    lastUsedAt: dateOf(stored.lastUsedAt),
    revokedAt: dateOf(stored.revokedAt),
    replacedBy,
  }
}

function report(action: ApiKeyEvent['action'], stored: StoredApiKey, replacement = {}): void {
  const { id, name } = stored
  channels.apiKey.publish({ action, id, owner: ownerOf(stored), name, ...replacement })
}
