import { AuthnUsageError } from '../errors.js'
import { channels } from '../events.js'
import { isAccessName } from '../marks/access.js'
import { isUsableName } from '../users/user.js'
import { findKey, infoOf, latestTime, newKey } from './key.js'
import type { StoreAccess } from '../stores/store-access.js'
import type { ApiKeyInfo, ApiKeys, ApiKeyStore } from '../../types/api-keys.js'

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

const isScope = (name: unknown): boolean => isAccessName('scope', name) && name.length <= 128

/** @throws ERR_AUTH_API_KEY for an argument that is missing, unknown or wrong, also where it is there and undefined */
function check(method: string, given: object | null, required: string[], optional: string[] = []) {
  const known = [...required, ...optional]
  const missing = Object.fromEntries(required.map((name) => [name, undefined]))
  // A number or a text has no members, and would pass as an object without any.
  const members = typeof given === 'object' && given !== null ? given : { options: given }
  for (const [name, value] of Object.entries({ ...missing, ...members })) {
    const rule = known.includes(name) && rules[name]
    const [isRight, expected] = rule || [() => false, `only ${known.join(', ')}`]
    if (isRight(value)) continue
    const found = value === undefined ? 'missing' : 'wrong'
    const message = `apiKeys.${method}(): "${name}" is ${found}, expected ${expected}.`
    throw new AuthnUsageError('ERR_AUTH_API_KEY', message)
  }
}

/** `app.authn.apiKeys`. @param forget - called when a key may have changed */
export function apiKeysApi(
  prefix: string,
  access: Pick<StoreAccess<ApiKeyStore>, 'ask'>,
  forget: (id: string) => void,
): ApiKeys {
  /** The key with an id, if its owner is the given one, or none is given. */
  async function find(id: string, owner: string | undefined): Promise<ApiKeyInfo | null> {
    const found = await access.ask((store) => findKey(store, id))
    return found && (owner === undefined || String(found.owner) === owner) ? found : null
  }

  const change = (id: string, call: (store: ApiKeyStore) => Promise<boolean>): Promise<boolean> =>
    access.ask(call).finally(() => forget(id))

  return {
    async issue(given) {
      check('issue', given, ['owner', 'name', 'scopes', 'expiresAt'])
      const { stored, issued } = newKey(prefix, given)
      await access.ask((store) => store.create(stored))
      channels.apiKey.publish({ action: 'issued', ...about(issued) })
      return issued
    },

    async list(owner) {
      check('list', { owner }, ['owner'])
      return access.ask(async (store) => {
        const all = await store.list(String(owner))
        return all.map((each) => infoOf(each))
      })
    },

    async revoke(id, options = {}) {
      check('revoke', options, [], ['owner'])
      if (!isId(id)) return false
      const owner = options.owner?.toString()
      // For the event only: where this fails, the key is revoked nevertheless.
      const info = channels.apiKey.hasSubscribers ? await find(id, owner).catch(() => null) : null
      const isRevoked = await change(id, (store) => store.revoke(id, Date.now() / 1000, owner))
      if (isRevoked && info) channels.apiKey.publish({ action: 'revoked', ...about(info) })
      return isRevoked
    },

    async rotate(id, options) {
      check('rotate', options, ['overlap'], ['owner', 'expiresAt'])
      const owner = options.owner?.toString()
      const old = isId(id) ? await find(id, owner) : null
      if (old === null) return null
      const same =
        old.expiresAt &&
        new Date(Math.min(latestTime, Date.now() + +old.expiresAt - +old.createdAt))
      const { overlap, expiresAt = same } = options
      const { stored, issued } = newKey(prefix, { ...old, expiresAt })
      const until = stored.createdAt + overlap
      if (!(await change(id, (store) => store.replace(id, stored, until, owner)))) return null
      channels.apiKey.publish({ action: 'rotated', ...about(old), replacedBy: issued.id })
      return issued
    },
  }
}

const isId = (value: unknown): boolean =>
  typeof value === 'string' && /^[0-9A-Za-z]{16}$/.test(value)

const about = ({ id, owner, name }: ApiKeyInfo) => ({ id, owner, name })
