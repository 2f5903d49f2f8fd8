import * as Type from '@sinclair/typebox/type'
import { AuthnUsageError } from '../errors.js'
import { channels } from '../events.js'
import { optional, problemOf, strict } from '../options/check.js'
import { isUsableName } from '../users/user.js'
import { isId, newKey } from './key.js'
import { ownerOf, wholeKey, type KeyLookup } from './lookup.js'
import type { ApiKeyInfo, ApiKeys, StoredApiKey } from '../../types/api-keys.js'

const date = { getTime: Type.Function([], Type.Any()) }
const owner = Type.Union([Type.String(), Type.Number()], {
  description: 'a name or a finite number, as the user service gets it',
})
const expiresAt = Type.Union([Type.Null(), Type.Object(date)], {
  description: 'a Date in the future, or null for a key that does not expire',
  whole: true,
})
const newKeySchema = strict(
  {
    owner,
    name: Type.String({
      pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]{1,100}$',
      description: '1 to 100 characters, none of them a control character',
    }),
    scopes: Type.Array(
      Type.String({
        pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]{1,128}$',
        description: 'a scope of RFC 6749 §3.3, 128 characters at most',
      }),
      { maxItems: 100, description: 'an array of at most 100 scopes; empty for none' },
    ),
    expiresAt,
  },
  'an object with owner, name, scopes and expiresAt',
)
const revokeSchema = strict({ owner: optional(owner) }, 'an object with owner')
const rotateSchema = strict(
  {
    overlap: Type.Number({
      minimum: 0,
      maximum: 2_592_000,
      description: 'seconds, 0 to 2592000 (30 days)',
    }),
    owner: optional(owner),
    expiresAt: optional(expiresAt),
  },
  'an object with overlap, and perhaps owner and expiresAt',
)

/** `app.authn.apiKeys`. @param prefix - the option `apiKeys.prefix` */
export function apiKeysApi(prefix: string, lookup: KeyLookup): ApiKeys {
  const { access } = lookup

  /** The key of an owner, if one is given, that a store has under an id. */
  async function find(id: string, owner: string | undefined): Promise<StoredApiKey | null> {
    const found = await access.ask(async (store) => wholeKey(await store.find(id), id))
    return found !== null && (owner === undefined || found.owner === owner) ? found : null
  }

  return {
    async issue(given) {
      check('issue', newKeySchema, given)
      const now = Date.now() / 1000
      const expiry = timeOf('issue', given.expiresAt)
      const { key, ...made } = newKey(prefix)
      const next: StoredApiKey = {
        ...made,
        owner: checkOwner('issue', given.owner),
        ownerType: typeof given.owner === 'number' ? 'number' : 'string',
        name: given.name,
        scopes: [...given.scopes],
        ...unused(now, expiry),
      }
      await access.ask((store) => store.create(next))
      report('issued', next)
      return { ...infoOf(next), key }
    },

    async list(owner) {
      const name = checkOwner('list', owner)
      const found = await access.ask(async (store) => {
        const all = await store.list(name)
        return all.map((each) => wholeKey(each, each?.id) as StoredApiKey)
      })
      return found.map(infoOf)
    },

    async revoke(id, options = {} as never) {
      check('revoke', revokeSchema, options)
      const owner = givenOwner('revoke', options)
      if (!isId(id)) return false
      const key = channels.apiKey.hasSubscribers ? await find(id, owner) : null
      try {
        const now = Date.now() / 1000
        const isRevoked = await access.ask((store) => store.revoke(id, now, owner))
        if (isRevoked && key !== null) report('revoked', key)
        return isRevoked
      } finally {
        lookup.forget(id)
      }
    },

    async rotate(id, options) {
      check('rotate', rotateSchema, options)
      const owner = givenOwner('rotate', options)
      const given = options.expiresAt === undefined ? null : timeOf('rotate', options.expiresAt)
      const old = isId(id) ? await find(id, owner) : null
      if (old === null) return null
      const now = Date.now() / 1000
      const lifetime = old.expiresAt === null ? null : old.expiresAt - old.createdAt
      const expiry = options.expiresAt === undefined ? lifetime && now + lifetime : given
      const { key, ...made } = newKey(prefix)
      const next: StoredApiKey = { ...old, ...made, ...unused(now, expiry) }
      try {
        const until = now + options.overlap
        const isDone = await access.ask((store) => store.replace(id, next, until, owner))
        if (!isDone) return null
      } finally {
        lookup.forget(id)
      }
      report('rotated', old, next.id)
      return { ...infoOf(next), key }
    },
  }
}

function unused(createdAt: number, expiresAt: number | null) {
  return { createdAt, expiresAt, lastUsedAt: null, revokedAt: null, replacedBy: null }
}

function infoOf(stored: StoredApiKey): ApiKeyInfo {
  const { id, name, scopes, createdAt, replacedBy } = stored
  const dateOf = (seconds: number | null): Date | null =>
    seconds === null ? null : new Date(seconds * 1000)
  return {
    id,
    owner: ownerOf(stored),
    name,
    scopes,
    createdAt: new Date(createdAt * 1000),
    expiresAt: dateOf(stored.expiresAt),
    lastUsedAt: dateOf(stored.lastUsedAt),
    revokedAt: dateOf(stored.revokedAt),
    replacedBy,
  }
}

function report(
  action: 'issued' | 'revoked' | 'rotated',
  stored: StoredApiKey,
  replacedBy?: string,
): void {
  if (!channels.apiKey.hasSubscribers) return
  const { id, name } = stored
  const replaced = replacedBy === undefined ? {} : { replacedBy }
  channels.apiKey.publish({ action, id, owner: ownerOf(stored), name, ...replaced })
}

function check(method: keyof ApiKeys, schema: Type.TSchema, value: unknown): void {
  const problem = problemOf(schema, value, `apiKeys.${method}()`)
  if (problem !== null) misuse(problem)
}

/** @returns seconds since 1970 */
function timeOf(method: keyof ApiKeys, date: Date | null): number | null {
  if (date === null) return null
  const time = date.getTime() / 1000
  return time > Date.now() / 1000
    ? time
    : misuse(`apiKeys.${method}(): found an expiresAt that is not in the future.`)
}

/** @returns `7` and `'7'` as one owner */
function checkOwner(method: keyof ApiKeys, owner: unknown): string {
  return isUsableName(owner)
    ? String(owner)
    : misuse(
        `apiKeys.${method}(): found no usable owner, expected a finite number, or a non-empty string without control characters.`,
      )
}

/** A variable that is not set must not widen the call to the keys of all owners. */
function givenOwner(method: keyof ApiKeys, options: object): string | undefined {
  return Object.hasOwn(options, 'owner')
    ? checkOwner(method, (options as { owner: unknown }).owner)
    : undefined
}

function misuse(problem: string): never {
  throw new AuthnUsageError('ERR_AUTH_API_KEY', problem)
}
