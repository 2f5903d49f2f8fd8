import type { FastifyInstance } from 'fastify'
import { newKey, noLimit, sealed } from '../api-keys/key.js'
import { testingOf } from './plugin.js'
import { flawOf, testingError } from './error.js'
import { epochSeconds } from './forge.js'
import type { ApiKeysTesting } from '../api-keys/feature.js'
import type { Authn } from '../../types/authn.js'

/** Names of API keys that must be rejected. Each has exactly one flaw. */
export type BrokenApiKey =
  'checksum' | 'expired' | 'malformed' | 'otherPrefix' | 'revoked' | 'secret' | 'unknown'

/** An app with API keys, or an inner scope in which the plugin is registered. */
export interface ApiKeyApp {
  /** Set with the option `apiKeys`, after `ready()`. */
  readonly authn?: Pick<Authn, 'apiKeys'> | undefined
}

/** An API key for a test. */
export interface MintApiKeyOptions {
  /** The owner of the key: the name that the user service gets. */
  readonly owner: string | number
  /** The scopes of the key. Default: none. */
  readonly scopes?: readonly string[] | undefined
  /** The name of the key. Default: `test key`. */
  readonly name?: string | undefined
  /** The time at which the key expires. Default: null, for never. */
  readonly expiresAt?: Date | null | undefined
  /** The one flaw that the key has. Default: none. */
  readonly broken?: BrokenApiKey | undefined
}

/** Makes of a good key the one that is sent in its place. */
export const brokenKeys: Readonly<Record<BrokenApiKey, (key: string) => string>> = {
  checksum: (key) => changeAt(key, key.length - 1),
  expired: (key) => key,
  malformed: (key) => key.slice(0, -1),
  otherPrefix: (key) => key,
  revoked: (key) => key,
  secret: (key) => withNewChecksum(changeAt(key, key.length - 7)),
  unknown: (key) => key,
}

/**
 * Makes an API key of the app, in the app's own store; `maxPerOwner` does not limit it. With `broken`, it has one flaw and
 * is good otherwise.
 * @param app - the app, after `ready()`; or the inner scope in which the plugin is registered
 * @throws (rejects) ERR_AUTH_TESTING if the app has no API keys, or for an unknown flaw; ERR_AUTH_API_KEY and
 * ERR_AUTH_STORE_UNAVAILABLE as `app.authn.apiKeys.issue()` does
 * @example
 * const key = await mintApiKey(app, { owner: 1, scopes: ['notes:read'], broken: 'revoked' })
 */
export async function mintApiKey(app: ApiKeyApp, options: MintApiKeyOptions): Promise<string> {
  const { owner, scopes = [], name = 'test key', expiresAt = null, broken } = options
  const testing = testingOf<ApiKeysTesting>(app as FastifyInstance, 'apiKeys')
  if (testing === undefined) {
    testingError(
      'mintApiKey: the app has no API keys. Await app.ready() first; they are there when fastify-authn is registered with "apiKeys" (in an inner scope: pass that scope instead of the app).',
    )
  }
  const { prefix, client, api } = testing
  if (broken === undefined) return (await api.issue({ owner, name, scopes, expiresAt })).key
  const send = flawOf(brokenKeys, broken, 'mintApiKey')
  const prefixThen = broken === 'otherPrefix' ? `${prefix}0` : prefix
  const ends = broken === 'expired' ? new Date(Date.now() - 60_000) : expiresAt
  const { stored, issued } = newKey(prefixThen, { owner, name, scopes, expiresAt: ends })
  if (broken !== 'unknown')
    await client.call((store) =>
      store.create({ ...stored, createdAt: epochSeconds() - 3600 }, noLimit),
    )
  if (broken === 'revoked')
    await client.call((store) => store.revoke(stored.id, epochSeconds(), null))
  return send(issued.key)
}

export function changeAt(key: string, at: number): string {
  return `${key.slice(0, at)}${key[at] === 'x' ? 'y' : 'x'}${key.slice(at + 1)}`
}

/** A key with the checksum that its other characters need. */
export const withNewChecksum = (key: string): string => sealed(key.slice(0, -6))
