import type { FastifyBaseLogger } from 'fastify'
import { refusal } from '../errors/errors.js'
import { channels } from '../events.js'
import { metadataAddress } from '../http/address.js'
import { Backoff, since } from '../http/backoff.js'
import { FetchError, fetchMetadata, reasonOf, type Send } from '../http/fetch.js'
import type { ResolvedProvider } from './options.js'

/** Milliseconds for a request to a provider, with its body. */
export const fetchTime = 5_000
/** Milliseconds for which metadata are fresh. Then they are renewed in the background, and kept until that succeeds. */
const fresh = 60 * 60_000

/** What is used of the metadata of a provider (OpenID Connect Discovery §3). */
export interface Metadata {
  readonly authorization: URL
  readonly token: URL
  readonly jwks: URL
  readonly userinfo: URL | null
  readonly endSession: URL | null
  /** Whether the callback has a parameter `iss` (RFC 9207 §3). */
  readonly sendsIssuer: boolean
  /** Undefined where they are not listed. */
  readonly algorithms: readonly string[] | undefined
  readonly acceptsBasic: boolean
}

/** Fetches and holds the metadata of a provider. */
export class Provider {
  /** Replaced by the test kit. */
  send: Send | undefined = undefined
  #metadata: { readonly content: Metadata; readonly fetchedAt: number } | null = null
  #running: Promise<void> | null = null
  readonly #backoff = new Backoff()
  readonly #closing = new AbortController()

  constructor(
    readonly options: ResolvedProvider,
    private readonly log: FastifyBaseLogger,
  ) {}

  /** @throws (rejects) ERR_AUTH_PROVIDER_UNAVAILABLE */
  async metadata(): Promise<Metadata> {
    if (this.#metadata === null) await this.begin()
    else if (since(this.#metadata.fetchedAt) >= fresh) void this.begin()
    return this.#metadata?.content ?? this.unavailable('no metadata')
  }

  /** Begins to fetch. @returns the running fetch, or a new one; null during the pause after a failure */
  begin(): Promise<void> | null {
    if (this.#running !== null) return this.#running
    if (this.#closing.signal.aborted || this.#backoff.pause > 0) return null
    const running = this.#fetch(this.send).finally(() => {
      if (this.#running === running) this.#running = null
    })
    this.#running = running
    return running
  }

  /** Ends requests that take too long, and all of them when the app closes. */
  signal(): AbortSignal {
    return AbortSignal.any([this.#closing.signal, AbortSignal.timeout(fetchTime)])
  }

  stop(): void {
    this.#closing.abort()
  }

  /** For the test kit: asks somebody else from now on. */
  replace(send: Send): void {
    this.send = send
    this.#metadata = null
    this.#running = null
    this.#backoff.succeed()
  }

  /** @param cause - for the log. @throws ERR_AUTH_PROVIDER_UNAVAILABLE */
  unavailable(cause: string): never {
    throw refusal('auth.overloaded', {
      code: 'ERR_AUTH_PROVIDER_UNAVAILABLE',
      retryAfter: Math.max(1, Math.ceil(this.#backoff.pause / 1000)),
      cause,
    })
  }

  /** Never rejects. */
  async #fetch(send: Send | undefined): Promise<void> {
    const { name: provider, issuer } = this.options
    const begun = Date.now()
    let reason: string | null = null
    try {
      const found = await fetchMetadata(issuer, this.signal(), send)
      const content = readMetadata(issuer, found, this.options.userinfo === true)
      if (this.#backoff.hasFailed) this.log.info({ provider }, 'The provider is back')
      this.#metadata = { content, fetchedAt: Date.now() }
      this.#backoff.succeed()
    } catch (error) {
      if (send !== this.send) return
      reason = error instanceof DOMException ? 'it took too long' : reasonOf(error)
      this.#backoff.fail()
      if (!this.#closing.signal.aborted) {
        this.log.warn({ provider, reason }, 'The metadata of a provider could not be fetched')
      }
    }
    const outcome = reason === null ? 'renewed' : 'failed'
    channels.provider.publish({ provider, outcome, reason, duration: since(begun) })
  }
}

/** @throws FetchError */
function readMetadata(
  issuer: string,
  found: Readonly<Record<string, unknown>>,
  needsUserinfo: boolean,
): Metadata {
  const address = (name: string): URL => {
    const url = metadataAddress(issuer, found[name])
    if (url === null) throw new FetchError(`${name} of the metadata is not an https address`)
    return url
  }
  const optional = (name: string): URL | null => (found[name] === undefined ? null : address(name))
  const {
    token_endpoint_auth_methods_supported: methods = ['client_secret_basic'],
    id_token_signing_alg_values_supported: algorithms,
  } = found
  return {
    authorization: address('authorization_endpoint'),
    token: address('token_endpoint'),
    jwks: address('jwks_uri'),
    userinfo: needsUserinfo ? address('userinfo_endpoint') : null,
    endSession: optional('end_session_endpoint'),
    sendsIssuer: found.authorization_response_iss_parameter_supported === true,
    // Never a secret that verifies, and could sign too.
    algorithms: Array.isArray(algorithms)
      ? algorithms.filter((each) => typeof each === 'string' && !/^(?:HS|none)/i.test(each))
      : undefined,
    acceptsBasic: Array.isArray(methods) && methods.includes('client_secret_basic'),
  }
}
