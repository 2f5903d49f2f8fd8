import type { IssuerOptions } from './issuers.js'
import type { AuthnOptions } from './options.js'
import type { StoredUser } from './user-service.js'

/** One registration of the plugin as a protected resource of OAuth 2.0 (RFC 9728). */
export interface ResourceOptions {
  /**
   * The URL at which clients reach the resource, which they compare character by character (RFC 9728 §3.3): https, or http to
   * a loopback address, scheme and host in lower case, without query, fragment, credentials and dot segments. For MCP it
   * is the URL of the endpoint, for an API the one under which its routes lie.
   */
  identifier: string
  /**
   * The identifiers of the authorization servers: https, or http to a loopback address, without query and fragment.
   * Default: the `issuer` of each of the `issuers` that is such an address. Startup fails if there is none.
   */
  authorizationServers?: readonly string[] | undefined
  /**
   * The scopes that the document lists; `false` for none. Default: those in the marks of the routes of this registration
   * that accept Bearer, without routes whose schema has `hide`.
   */
  scopesSupported?: readonly string[] | false | undefined
  /** The name of the resource, for people: `resource_name`. Default: none. */
  name?: string | undefined
  /** The address of a page for developers: `resource_documentation`. Default: none. */
  documentation?: string | undefined
  /** The address of a page about the use of data: `resource_policy_uri`. Default: none. */
  policy?: string | undefined
  /** The address of the terms of service: `resource_tos_uri`. Default: none. */
  termsOfService?: string | undefined
}

/** {@link AuthnOptions} with `resource`: the default of `audience` of an issuer is its identifier. */
export interface ResourceServerOptions<Stored extends object = StoredUser> extends Omit<
  AuthnOptions<Stored>,
  'resource' | 'issuers'
> {
  /** The identifier of the resource, or an object. */
  resource: string | ResourceOptions
  /** Identity providers whose tokens are accepted, by their names in `use`. Default: none. */
  issuers?:
    Readonly<Record<string, Omit<IssuerOptions, 'audience'> & Partial<IssuerOptions>>> | undefined
}

/** Protected resource metadata (RFC 9728 §2), as the plugin publishes them. */
export interface ProtectedResourceMetadata {
  /** The identifier of the resource. */
  readonly resource: string
  /** The identifiers of its authorization servers, at least one. */
  readonly authorization_servers: readonly string[]
  /** Scopes that clients may request, sorted unless the option lists them. */
  readonly scopes_supported?: readonly string[]
  /** How clients present tokens (RFC 6750 §2). */
  readonly bearer_methods_supported: readonly ['header']
  /** The name of the resource. */
  readonly resource_name?: string
  /** A page for developers. */
  readonly resource_documentation?: string
  /** A page about the use of data. */
  readonly resource_policy_uri?: string
  /** The terms of service. */
  readonly resource_tos_uri?: string
}

declare module './options.js' {
  interface AuthnOptions<Stored extends object> {
    /**
     * Publishes protected resource metadata (RFC 9728), and names them in Bearer challenges: the identifier, or an object.
     * Default: none.
     */
    resource?: string | ResourceOptions | undefined
  }
  interface AuthnOptionShapes<Stored extends object> {
    /** With `resource`. */
    resource: ResourceServerOptions<Stored>
  }
}

declare module './authn.js' {
  interface AuthnFeatures {
    /** The option `resource` is set. */
    resource: true
  }
  interface Authn {
    /** The resource of this registration; null without the option `resource`. */
    readonly resource: {
      /** Its identifier. */
      readonly identifier: string
      /** The address of its metadata, as `resource_metadata` of challenges has it. */
      readonly metadataUrl: string
      /**
       * The published document, frozen at any depth.
       *
       * @throws ERR_AUTH_REPORT before the app is ready. `onReady` hooks that are added after the plugin may call it
       */
      metadata(): ProtectedResourceMetadata
    } | null
  }
}
