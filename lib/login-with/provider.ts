import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import type { Configuration, ExportedJWKSCache, ServerMetadata } from 'openid-client'
import { signingMethods } from '../common/algorithms.js'
import { channelOf } from '../events.js'
import { metadataAddress } from '../http/address.js'
import { FetchError, fetchMetadata, type Fetch } from '../http/fetch.js'
import { Renewed, unavailable, type Outcome } from '../http/renewed.js'
import { Lookups } from '../throttle/lookups.js'
import type { ResolvedProvider } from './options.js'
import type { Registration } from '../feature.js'
import type { SigningMethod } from '../../types/keys.js'

/** Milliseconds for which metadata are fresh. Then they are renewed in the background, and kept until that succeeds. */
const fresh = 60 * 60_000

/** Fetches and holds the metadata of a provider (OpenID Connect Discovery §3). */
export class Provider extends Renewed<ServerMetadata> {
  /** Replaced by the test kit. */
  send: Fetch | undefined = undefined
  /** Takes the place of `oauth2.profile` in the test kit. */
  profile: (() => object) | undefined = undefined
  /** The callbacks whose codes are exchanged: anybody can make up some, and each takes a connection. */
  readonly exchanges = new Lookups(128)
  keys: { readonly jwks: ExportedJWKSCache['jwks']; readonly fetchedAt: number } | null = null
  configured: {
    readonly config: Configuration
    readonly of: readonly unknown[]
    readonly at: number
  } | null = null
  readonly #needed: readonly string[]

  constructor(
    readonly options: ResolvedProvider,
    private readonly openid: typeof import('openid-client') | null,
    private readonly log: FastifyBaseLogger,
  ) {
    super(5_000)
    const needed = ['authorization_endpoint', 'token_endpoint']
    if (options.oauth2 === undefined) needed.push('jwks_uri')
    this.#needed = options.userinfo ? [...needed, 'userinfo_endpoint'] : needed
  }

  /** Not there for a provider with `oauth2`, which does not need it. */
  get client(): typeof import('openid-client') {
    return this.openid as typeof import('openid-client')
  }

  /** The provider of the test kit has endpoints of its own. */
  get #given(): ResolvedProvider['endpoints'] {
    return this.send === undefined ? this.options.endpoints : {}
  }

  get #isGiven(): boolean {
    return this.#needed.every((name) => Object.hasOwn(this.#given, name))
  }

  protected async fetch(signal: AbortSignal): Promise<ServerMetadata> {
    if (this.#isGiven) return this.#checked(undiscovered)
    return this.#checked(await fetchMetadata(this.options.issuer, signal, this.send))
  }

  protected report({ outcome, reason, isBack, duration }: Outcome): void {
    const { name: provider, registration = '' } = this.options
    if (!this.isOpen || this.#isGiven) return
    if (isBack) this.log.info({ provider }, 'The provider is back')
    if (reason !== null) {
      this.log.warn({ provider, reason }, 'The metadata of a provider could not be fetched')
    }
    channelOf('provider').publish({ registration, provider, outcome, reason, duration })
  }

  async metadata(): Promise<ServerMetadata> {
    if (this.document === null) await this.begin()
    else if (this.age >= fresh) void this.begin()
    if (this.document === null) throw this.unavailable('no metadata')
    return this.document
  }

  /** For the test kit: from now on, this function gets all requests to the provider, and `profile` gives the profile. */
  replace(send: Fetch, profile: () => object): void {
    this.send = send
    this.profile = profile
    this.reset(null)
  }

  unavailable(cause: string): Error {
    return unavailable('ERR_AUTH_PROVIDER_UNAVAILABLE', this.pause, cause)
  }

  #checked(found: Readonly<Record<string, unknown>>): ServerMetadata {
    const given = this.#given
    const endSession = given.end_session_endpoint ?? found.end_session_endpoint ?? null
    const addresses = [...this.#needed, ...(endSession === null ? [] : ['end_session_endpoint'])]
    const { issuer } = this.options
    const secure = addresses.map((name) => {
      const href = given[name] ?? metadataAddress(issuer, found[name])?.href
      if (href === undefined) throw new FetchError(`${name} of the metadata is no https address`)
      return [name, href]
    })
    return { ...found, ...Object.fromEntries(secure), issuer } as ServerMetadata
  }
}

/** What the routes of a provider share. */
export interface Routes {
  readonly registration: Registration
  readonly provider: Provider
  /** Where logins begin, with the prefix. */
  readonly path: string
  /** Of the tokens of logins. */
  readonly method: SigningMethod | undefined
  readonly returnTo: string
  /** Whether browsers withhold the cookies of a login after a redirect that began on another site. */
  readonly isStrict: boolean
  cookieStart(request: FastifyRequest): string
  /** @throws Error with the status 400 for a header `Host` that is none */
  redirectUri(request: FastifyRequest): string
}

/** These metadata are assumed where the options have all endpoints, so that nothing is fetched. */
const undiscovered = {
  id_token_signing_alg_values_supported: signingMethods.filter((each) => !each.startsWith('HS')),
}
