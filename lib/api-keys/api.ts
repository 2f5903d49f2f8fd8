import { AuthnUsageError } from '../errors/errors.js'
import { channelOf } from '../events.js'
import { isAccessName } from '../marks/access.js'
import { isUsableName } from '../users/user.js'
import { findKey, infoOf, latestTime, newKey } from './key.js'
import type { StoreClient } from '../stores/store-client.js'
import type { ApiKeyInfo, ApiKeys, ApiKeyStore } from '../../types/api-keys.js'

type Rule = readonly [(value: unknown) => boolean, string]

const isScope = (name: unknown): boolean => isAccessName('scope', name) && name.length <= 128

const usable = 'a finite number, or a non-empty string without control characters'
const owner: Rule = [isUsableName, usable]
const anyOwner: Rule = [
  (given) => given === null || isUsableName(given),
  `${usable}, or null for the key of any owner`,
]
const name: Rule = [
  (given) => typeof given === 'string' && /^[^\p{Cc}]{1,100}$/u.test(given),
  '1 to 100 characters, none of them a control character',
]
const scopes: Rule = [
  (given) => Array.isArray(given) && given.length <= 100 && [...given].every(isScope),
  'an array of at most 100 scopes (RFC 6749 §3.3), each of at most 128 characters; empty for none',
]
const expiresAt: Rule = [
  (date) => date === null || (date instanceof Date && date.getTime() > Date.now()),
  'a Date in the future, or null for a key that does not expire',
]
const overlap: Rule = [
  (seconds) => typeof seconds === 'number' && seconds >= 0 && seconds <= 2_592_000,
  'seconds, 0 to 2,592,000 (30 days)',
]

function check(
  method: string,
  given: object | null | undefined,
  required: Readonly<Record<string, Rule>>,
  optional: Readonly<Record<string, Rule>> = {},
) {
  const rules = { ...required, ...optional }
  const known = Object.keys(rules)
  const missing = Object.fromEntries(Object.keys(required).map((each) => [each, undefined]))
  // A number or a text has no members, and would pass as an object without any.
  const members = typeof given === 'object' && given !== null ? given : { options: given }
  for (const [each, value] of Object.entries({ ...missing, ...members })) {
    const rule = Object.hasOwn(rules, each) && rules[each]
    const [isRight, expected] = rule || [() => false, `only ${known.join(', ')}`]
    if (isRight(value)) continue
    const found = value === undefined ? 'missing' : 'wrong'
    const message = `apiKeys.${method}(): "${each}" is ${found}, expected ${expected}.`
    throw new AuthnUsageError('ERR_AUTH_API_KEY', message)
  }
}

/** The error has a status, since the client wants one key too many: Fastify answers it as it is. */
function tooMany(limit: number): Error {
  const message = `apiKeys.issue(): the owner has ${limit} valid keys, as many as "apiKeys.maxPerOwner" allows. Revoke one that is not used.`
  return Object.assign(new AuthnUsageError('ERR_AUTH_API_KEY', message), { statusCode: 409 })
}

export function apiKeysApi(
  prefix: string,
  limit: number,
  client: Pick<StoreClient<ApiKeyStore>, 'call'>,
  forget: (id: string) => void,
  registration = '',
): ApiKeys {
  /** For null, the key may be of any owner. */
  async function find(id: string, of: string | null): Promise<ApiKeyInfo | null> {
    const found = await client.call((store) => findKey(store, id))
    return found && (of === null || String(found.owner) === of) ? found : null
  }

  const change = (id: string, call: (store: ApiKeyStore) => Promise<boolean>): Promise<boolean> =>
    client.call(call).finally(() => forget(id))

  const about = ({ id, owner, name }: ApiKeyInfo) => ({ id, owner, name, registration })

  return {
    async issue(given) {
      check('issue', given, { owner, name, scopes, expiresAt })
      const { stored, issued } = newKey(prefix, given)
      if (!(await client.call((store) => store.create(stored, limit)))) throw tooMany(limit)
      channelOf('apiKey').publish({ action: 'issued', ...about(issued) })
      return issued
    },

    async list(of) {
      check('list', { owner: of }, { owner })
      return client.call(async (store) => {
        const all = await store.list(String(of))
        return all.map((each) => infoOf(each))
      })
    },

    async revoke(id, options) {
      check('revoke', options, { owner: anyOwner })
      if (!isId(id)) return false
      const of = textOf(options.owner)
      // The event needs the key. If this look-up fails, the key is revoked nevertheless.
      const info = channelOf('apiKey').hasSubscribers ? await find(id, of).catch(() => null) : null
      const isRevoked = await change(id, (store) => store.revoke(id, Date.now() / 1000, of))
      if (isRevoked && info) channelOf('apiKey').publish({ action: 'revoked', ...about(info) })
      return isRevoked
    },

    async rotate(id, options) {
      check('rotate', options, { owner: anyOwner, overlap }, { expiresAt })
      const of = textOf(options.owner)
      const old = isId(id) ? await find(id, of) : null
      if (old === null) return null
      const same =
        old.expiresAt &&
        new Date(Math.min(latestTime, Date.now() + +old.expiresAt - +old.createdAt))
      const { expiresAt: end = same } = options
      const { stored, issued } = newKey(prefix, { ...old, expiresAt: end })
      const until = stored.createdAt + options.overlap
      if (!(await change(id, (store) => store.replace(id, stored, until, of, limit)))) return null
      channelOf('apiKey').publish({ action: 'rotated', ...about(old), replacedBy: issued.id })
      return issued
    },
  }
}

const isId = (value: unknown): boolean =>
  typeof value === 'string' && /^[0-9A-Za-z]{16}$/.test(value)

const textOf = (of: string | number | null): string | null => of?.toString() ?? null
