import type { FastifyRequest } from 'fastify'
import type { StoredUser } from './user-service.js'
import type { OfRegistration } from './events.js'

/** Long-lived credentials for scripts, jobs and partners: the option `apiKeys`. Times are in seconds. */
export interface ApiKeysOptions<Stored extends object = StoredUser> {
  /** The first part of all keys, such as `acme_live`: 2 to 20 of a-z, 0-9 and `_`. A change invalidates all keys. */
  prefix: string
  /**
   * The store of the keys: `memoryApiKeys`, `redisApiKeys` or `sqlApiKeys` of `fastify-authn/api-keys`, or one of the
   * app.
   */
  store: ApiKeyStoreFactory
  /** A header for the key where `Authorization` has no accepted credentials, such as `x-api-key`. Default: none. */
  header?: string | undefined
  /**
   * How long a successful lookup is reused, and so how long a revoked key may still pass: `max` keys (default 10,000, at
   * most 1,000,000) for `ttl` seconds (default 1, at most 60). `false`: every request asks the store.
   */
  cache?: Partial<Record<'max' | 'ttl', number | undefined>> | false | undefined
  /**
   * How many valid keys an owner may have, 1 to 10,000; default 100. A key that is neither revoked nor expired is valid,
   * also one that was rotated until it expires. `rotate` never fails because of it.
   */
  maxPerOwner?: number | undefined
  /**
   * Finds the owner of a valid key, in place of the user service: for owners who do not log in, such as customers. `alice`
   * is then no user of the user service, which is neither required nor asked for owners. `request.extra.apiKey` has the key.
   *
   * @param owner - as given to `issue`
   * @returns the owner; null or undefined if there is none, which gives a 401
   * @throws AuthenticationError to reject the key; any other error gives a 500
   */
  user?:
    | ((
        owner: string | number,
        request: FastifyRequest,
      ) => Stored | null | undefined | Promise<Stored | null | undefined>)
    | undefined
  /** Tells the keys of several registrations with one store apart. Default `default`. */
  name?: string | undefined
}

/** An API key, without its secret. */
export interface ApiKeyInfo {
  /** Names the key: the 16 characters after its prefix. It is no secret. */
  readonly id: string
  /** The owner of the key, as given to `issue`: an id that no other user ever gets, so neither a name nor an address. */
  readonly owner: string | number
  /** The name that the owner gave to the key. */
  readonly name: string
  /** The scopes that the key has; empty for a key that passes no route with a scope. */
  readonly scopes: readonly string[]
  /** When the key was issued. */
  readonly createdAt: Date
  /** When the key expires; null for a key that does not. */
  readonly expiresAt: Date | null
  /** The last successful use of the key, precise to a minute or so; null if there was none. */
  readonly lastUsedAt: Date | null
  /** When the key was revoked; null if it was not. */
  readonly revokedAt: Date | null
  /** The `id` of the key that `rotate` has made in its place; null if there is none. */
  readonly replacedBy: string | null
}

/** A new key. */
export interface IssuedApiKey extends ApiKeyInfo {
  /** The key itself, which is stored nowhere: show it once. */
  readonly key: string
}

/** The key of a request: `request.extra.apiKey`. Frozen at any depth. */
export type RequestApiKey = Readonly<Pick<ApiKeyInfo, 'id' | 'name' | 'owner' | 'scopes'>>

/** `app.authn.apiKeys`: the API keys of a registration. All methods reject with ERR_AUTH_STORE_UNAVAILABLE if the store fails. */
export interface ApiKeys {
  /**
   * Makes a key. Nothing has a default, so that no key lasts forever or has all rights because something was left out.
   *
   * @param key - `name`: 1 to 100 characters without control characters. `scopes`: at most 100 of RFC 6749 §3.3, each of
   * at most 128 characters. `expiresAt`: in the future, or null for a key that does not expire
   * @throws (rejects) ERR_AUTH_API_KEY for anything else, and if the owner has `maxPerOwner` valid keys: that error has the
   * `statusCode` 409, which Fastify sends to the client
   */
  issue(key: Pick<ApiKeyInfo, 'owner' | 'name' | 'scopes' | 'expiresAt'>): Promise<IssuedApiKey>
  /**
   * The keys of an owner, the newest first: all valid ones, and those that were revoked or have expired in the last 30 days,
   * of which the newest 200 are kept. `7` and `'7'` are one owner.
   */
  list(owner: string | number): Promise<ApiKeyInfo[]>
  /**
   * Revokes a key: at once in this process, in others after `cache.ttl`.
   *
   * @param options - `owner`: revokes it only if it is a key of this owner. Null is for admins: a key of any owner
   * @returns false for a key that is unknown, revoked already, or of another owner
   * @throws (rejects) ERR_AUTH_API_KEY without `owner`
   */
  revoke(id: string, options: { readonly owner: string | number | null }): Promise<boolean>
  /**
   * Makes a new key with the owner, name and scopes of another one. Of several calls at once, one succeeds.
   *
   * @param options - `overlap`: seconds after which the old key expires, 0 to 2,592,000; it expires at once where the owner
   * has twice `maxPerOwner` valid keys. `owner`: as for `revoke`. `expiresAt`: of the new key; default: as long from now as
   * the old key was made for
   * @returns null for a key that is unknown, expired, revoked, rotated already, or of another owner
   */
  rotate(
    id: string,
    options: { overlap: number; owner: string | number | null; expiresAt?: Date | null },
  ): Promise<IssuedApiKey | null>
}

/** Counts of the API keys of a registration, since this process has started. */
export interface ApiKeyStats {
  /** Lookups in the store. */
  readonly lookups: number
  /** Requests whose key was cached. */
  readonly hits: number
  /** Keys that are cached now. */
  readonly size: number
  /** Calls of the store that failed or took too long. */
  readonly storeFailures: number
}

/** An {@link ApiKeyInfo} as a store keeps it. Times are seconds since 1970, with a fraction. */
export interface StoredApiKey extends Pick<ApiKeyInfo, 'id' | 'name' | 'scopes' | 'replacedBy'> {
  /** SHA-256 of the whole key in base64url; a store never gets a key. */
  readonly digest: string
  /** The owner as a string; {@link ownerType} says what it was. */
  readonly owner: string
  /** The type in which the user service gets the owner. */
  readonly ownerType: 'string' | 'number'
  /** When the key was issued. */
  readonly createdAt: number
  /** When the key expires; null for a key that does not. */
  readonly expiresAt: number | null
  /** When the key was last used, within a minute; null if it was not. */
  readonly lastUsedAt: number | null
  /** When the key was revoked; null if it was not. */
  readonly revokedAt: number | null
}

/**
 * The API keys of one registration in a store. A key is valid if it is neither revoked nor expired. Every method is atomic,
 * and rejects when the store cannot be reached. The plugin waits two seconds.
 */
export interface ApiKeyStore {
  /**
   * Keeps a new key, unless its owner has `limit` valid ones at `createdAt` or more; rejects if there is one with this id.
   * Of the owner's other keys, it keeps the newest 200. @returns whether it did
   */
  create(key: StoredApiKey, limit: number): Promise<boolean>
  /** The key with this id, be it revoked or expired; null if there is none. */
  find(id: string): Promise<StoredApiKey | null>
  /** The keys of an owner, the newest first. */
  list(owner: string): Promise<readonly StoredApiKey[]>
  /** Sets `lastUsedAt`, if that is null or at least 60 seconds older. */
  touch(id: string, at: number): Promise<void>
  /** Sets `revokedAt` of a key that is not revoked, and is of this owner unless that is null. @returns whether it did */
  revoke(id: string, at: number, owner: string | null): Promise<boolean>
  /**
   * Creates `next`, and sets `replacedBy` of the old key and its `expiresAt` to `until`, unless it expires sooner; only if
   * it is neither revoked, replaced, expired at `next.createdAt`, nor of another owner. Where the owner has twice `limit`
   * valid keys or more, the old one expires at `next.createdAt`. @returns whether it did
   */
  replace(
    id: string,
    next: StoredApiKey,
    until: number,
    owner: string | null,
    limit: number,
  ): Promise<boolean>
}

/** The place in which API keys are kept: the option `apiKeys.store`. */
export interface ApiKeyStoreFactory {
  /** The name of the app, with which the names of all records in the store begin. */
  readonly prefix: string
  /** Whether keys are kept in the memory of one process, which others do not share. */
  readonly isLocal: boolean
  /** The keys of one registration. Called once for each at startup. @param name - the option `apiKeys.name` */
  open(name: string): ApiKeyStore
}

/** Published when an API key was issued, revoked or rotated by this process. */
export interface ApiKeyEvent extends OfRegistration, Pick<ApiKeyInfo, 'id' | 'owner' | 'name'> {
  /** The change of the key. */
  readonly action: 'issued' | 'revoked' | 'rotated'
  /** The `id` of the new key, after a rotation. */
  readonly replacedBy?: string
}

declare module './options.js' {
  interface AuthnOptions<Stored extends object> {
    /**
     * API keys: long-lived credentials with scopes, for scripts, jobs and partners. They are accepted where a mark names
     * `apiKey`. Default: none.
     */
    apiKeys?: ApiKeysOptions | undefined
  }
}

declare module './authn.js' {
  interface AuthnFeatures {
    /** The option `apiKeys` is set. */
    apiKeys: true
  }
  interface AuthnStats {
    /** Set only with the option `apiKeys`. */
    readonly apiKeys?: ApiKeyStats
  }
  interface Authn {
    /**
     * Issues, lists, revokes and rotates API keys.
     *
     * @throws ERR_AUTH_OPTION when it is read without the option `apiKeys`; {@link Authn.features} says whether it is set
     */
    readonly apiKeys: ApiKeys
  }
}

declare module './marks.js' {
  interface BuiltInNames {
    /** API keys, with the option `apiKeys`. */
    apiKey: true
  }
}

declare module './request-extra.js' {
  interface RequestExtra {
    /** The API key of the request. Set when it is valid and its owner is found. */
    apiKey?: RequestApiKey
  }
}

declare module './errors.js' {
  interface RejectionCodes {
    /** The API key is malformed, unknown or revoked. */
    ERR_AUTH_API_KEY_INVALID: 401
    /** The key has expired. */
    ERR_AUTH_API_KEY_EXPIRED: 401
    /** The route does not accept API keys. */
    ERR_AUTH_API_KEY_NOT_ACCEPTED: 401
  }
  interface MisuseCodes {
    /** A method of `app.authn.apiKeys` was called with a wrong value. */
    ERR_AUTH_API_KEY: true
  }
}

declare module './messages.js' {
  interface Catalogue {
    /** Your API key is invalid. */
    readonly 'auth.api-key-invalid': string
    /** Your API key is expired. */
    readonly 'auth.api-key-expired': string
    /** This route does not accept API keys. */
    readonly 'auth.api-key-not-accepted': string
  }
}

declare module './events.js' {
  interface AuthnEvent {
    /** The `id` of the API key of the request, which is proven only on success. */
    readonly apiKeyId?: string
  }
  interface AuthnEvents {
    /** An API key was issued, revoked or rotated. */
    readonly apiKey: ApiKeyEvent
  }
}
