import type { FastifyBaseLogger } from 'fastify'
import type { Configuration, ExportedJWKSCache, ServerMetadata } from 'openid-client'
import { signingMethods } from '../common/algorithms.js'
import { rejection } from '../errors/errors.js'
import { channelOf } from '../events.js'
import { metadataAddress } from '../http/address.js'
import { Backoff, since } from '../http/backoff.js'
import { FetchError, fetchMetadata, inTime, reasonOf, type Send } from '../http/fetch.js'
import { Lookups } from '../throttle/lookups.js'
import type { ResolvedProvider } from './options.js'

/** Milliseconds for which metadata are fresh. Then they are renewed in the background, and kept until that succeeds. */
const fresh = 60 * 60_000

/** Fetches and holds the metadata of a provider (OpenID Connect Discovery §3). */
export class Provider {
  /** Replaced by the test kit. */
  send: Send | undefined = undefined
  /** The callbacks whose codes are exchanged: anybody can make up some, and each takes a connection. */
  readonly exchanges = new Lookups(128)
  /** The last key set that was fetched. */
  keys: { readonly jwks: ExportedJWKSCache['jwks']; readonly fetchedAt: number } | null = null
  /** The last configuration of openid-client, and what it was made of. */
  configured: {
    readonly config: Configuration
    readonly of: readonly unknown[]
    readonly at: number
  } | null = null
  #metadata: ServerMetadata | null = null
  #fetchedAt = 0
  #running: Promise<void> | null = null
  readonly #backoff = new Backoff()
  readonly #aborts = new Set<AbortController>()
  #isClosed = false

  constructor(
    readonly options: ResolvedProvider,
    readonly client: typeof import('openid-client'),
    private readonly log: FastifyBaseLogger,
  ) {}

  /** @throws (rejects) ERR_AUTH_PROVIDER_UNAVAILABLE */
  async metadata(): Promise<ServerMetadata> {
    if (this.#metadata === null) await this.begin()
    else if (since(this.#fetchedAt) >= fresh) void this.begin()
    if (this.#metadata === null) throw this.unavailable('no metadata')
    return this.#metadata
  }

  /** Begins to fetch. @returns the running fetch, or a new one; null during the pause after a failure */
  begin(): Promise<void> | null {
    if (this.#running !== null) return this.#running
    if (this.#isClosed || this.#backoff.pause > 0) return null
    return (this.#running = this.#fetch(this.send).finally(() => (this.#running = null)))
  }

  /** Limits work to five seconds, and aborts it when the app closes. */
  async limit<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const abort = new AbortController()
    this.#aborts.add(abort)
    try {
      return await inTime(work, 5_000, abort)
    } finally {
      this.#aborts.delete(abort)
    }
  }

  stop(): void {
    this.#isClosed = true
    for (const abort of this.#aborts) abort.abort()
  }

  /** For the test kit: from now on, this function gets all requests to the provider. */
  replace(send: Send): void {
    this.send = send
    this.#metadata = this.#running = null
    this.#backoff.succeed()
  }

  /** @param cause - for the log. @returns ERR_AUTH_PROVIDER_UNAVAILABLE */
  unavailable(cause: string): Error {
    const retryAfter = Math.max(1, Math.ceil(this.#backoff.pause / 1000))
    return rejection('auth.overloaded', {
      code: 'ERR_AUTH_PROVIDER_UNAVAILABLE',
      retryAfter,
      cause,
    })
  }

  /** Never rejects. */
  async #fetch(send: Send | undefined): Promise<void> {
    const { name: provider, issuer, userinfo, endpoints } = this.options
    const needed = ['authorization_endpoint', 'token_endpoint', 'jwks_uri']
    if (userinfo) needed.push('userinfo_endpoint')
    // The provider of the test kit has its own.
    const given = send === undefined ? endpoints : {}
    const isGiven = needed.every((name) => Object.hasOwn(given, name))
    const begun = Date.now()
    let reason: string | null = null
    try {
      const discover = () => this.limit((signal) => fetchMetadata(issuer, signal, send))
      this.#metadata = checked(issuer, isGiven ? undiscovered : await discover(), given, needed)
      this.#fetchedAt = Date.now()
      if (isGiven) return
      if (this.#backoff.hasFailed) this.log.info({ provider }, 'The provider is back')
      this.#backoff.succeed()
    } catch (error) {
      if (send !== this.send || this.#isClosed) return
      reason = reasonOf(error)
      this.#backoff.fail()
      this.log.warn({ provider, reason }, 'The metadata of a provider could not be fetched')
    }
    const outcome = reason === null ? 'renewed' : 'failed'
    channelOf('provider').publish({ provider, outcome, reason, duration: since(begun) })
  }
}

/** What is assumed of a provider whose metadata are not fetched, since the options have all that is needed. */
const undiscovered = {
  id_token_signing_alg_values_supported: signingMethods.filter((each) => !each.startsWith('HS')),
}

/** @throws FetchError where an address that is used is not secure */
function checked(
  issuer: string,
  found: Readonly<Record<string, unknown>>,
  given: ResolvedProvider['endpoints'],
  needed: readonly string[],
): ServerMetadata {
  const endSession = given.end_session_endpoint ?? found.end_session_endpoint ?? null
  const addresses = endSession === null ? needed : [...needed, 'end_session_endpoint']
  const secure = addresses.map((name) => {
    const href = given[name] ?? metadataAddress(issuer, found[name])?.href
    if (href === undefined) throw new FetchError(`${name} of the metadata is not an https address`)
    return [name, href]
  })
  return { ...found, ...Object.fromEntries(secure), issuer } as ServerMetadata
}
