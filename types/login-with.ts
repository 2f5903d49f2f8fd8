import type { FastifyRequest } from 'fastify'
import type { StoreResult } from './store-result.js'
import type { StoredUser } from './user-service.js'
import type { OfRegistration } from './events.js'

/** Sign-in with a provider: an entry of the option `loginWith`. Without `oauth2`, an OpenID provider (OpenID Connect Core 1.0, authorization code flow with PKCE). */
export interface LoginProviderOptions<Stored extends object = StoredUser> {
  /**
   * The identifier of the provider: https, or http to a loopback address, without query, fragment and credentials. It is
   * compared character by character with the metadata, the ID token and the `iss` of the callback (RFC 9207). With
   * {@link oauth2}, it is the name under which accounts are stored, so it never changes.
   *
   * With `{tenantid}` in it, each tenant has an issuer of its own, with the claim `tid`, a GUID, in that place. Then
   * {@link tenants} and the addresses of the endpoints are required, since the metadata are not fetched.
   */
  issuer: string
  /**
   * Says whether the users of a tenant may log in, where `issuer` has `{tenantid}`. Asked for each login and link, after the
   * ID token was verified. The administrator of a tenant decides what its tokens say, the e-mail too.
   *
   * @param tid - a GUID in lower case
   * @returns `true` to let the user in; anything else rejects the login (403)
   * @throws AuthenticationError to reject the login; any other error gives a 500
   */
  tenants?: ((tid: string) => boolean | Promise<boolean>) | undefined
  /**
   * What takes the place of metadata, ID token and UserInfo, for a provider that has OAuth 2.0 (RFC 6749 §4.1) and a profile.
   * Beside it, startup fails for {@link scope} and the addresses of the endpoints, which it has itself, for {@link tenants},
   * {@link mfa}, {@link userinfo}, {@link clockTolerance}, and `max_age` in {@link authorizationParams}. Default: none, it
   * is an OpenID provider.
   */
  oauth2?: OAuth2Options | undefined
  /** The name of the app at the provider. */
  clientId: string
  /**
   * The secret, or a function that returns it: called once for each exchange of a code, within the five seconds of that.
   * What it throws, or a result that is no string, is a 503. Leave the option out for a public client. One that is present
   * and undefined makes startup fail.
   */
  clientSecret?: string | (() => string | Promise<string>) | undefined
  /**
   * Returns the name of the user. With it, `userService.findByUsername` finds the user now and at every later request. This
   * function may create the account.
   *
   * Join accounts by `iss` and `sub` together, never by the e-mail alone (OpenID Connect Core §5.7).
   *
   * @param claims - what is known of the user, frozen: claims of the ID token and, with `userinfo`, of the
   * UserInfo endpoint, or the profile of {@link OAuth2Options.profile}; as the option `claims` has changed them
   * @param tokens - for other APIs of the provider; the plugin neither keeps nor sends them
   * @returns a string or a finite number; null or undefined to reject the login (403)
   * @throws AuthenticationError to reject the login; any other error gives a 500
   */
  username: (
    claims: IdTokenClaims,
    request: FastifyRequest,
    tokens: ProviderTokens,
  ) => string | number | null | undefined | Promise<string | number | null | undefined>
  /**
   * Stores that `iss` and `sub` belong to a user who is logged in, and has asked for it by `POST /login/<name>/link`. It must
   * never move them to another user. Without it there is no such route. The parameters are those of {@link username}.
   *
   * @param user - the object that `findByUsername` returned
   * @returns whether they belong to this user now, also if they did before; if not, they belong to another one (409)
   * @throws AuthenticationError to reject it; any other error gives a 500. A returned error counts as thrown
   */
  link?: LinkFunction<Stored>['link'] | undefined
  /**
   * Returns the claims that {@link username} and {@link link} get, such as with an `email_verified` that the provider names
   * otherwise. `iss`, `sub`, `aud`, `exp`, `iat` and `auth_time` stay those of the provider, whatever it returns. `mfa` gets
   * the claims as they were. Default: they are not changed.
   *
   * @param callback - `user`: with {@link responseMode}, the field of that name of the form. It is not signed: whoever
   * sends the form can write what they like
   * @throws AuthenticationError to reject the login; any other error gives a 500
   */
  claims?:
    | ((
        claims: IdTokenClaims,
        callback: { readonly user: string | null },
      ) => object | Promise<object>)
    | undefined
  /**
   * `'form_post'`: the provider sends the browser back with a form (OAuth 2.0 Form Post Response Mode §2), to `POST
   * /login/<name>/callback`, which leads it on to the callback. Default: by a redirect.
   */
  responseMode?: 'form_post' | undefined
  /**
   * The address of the callback, for proxies that change host or path: https, or http to a loopback address, without a
   * fragment. Default: from `request.protocol`, `request.host` and the path of the route.
   */
  redirectUri?: string | undefined
  /** The address to which a login leads: a path, or one whose origin is in `cookies.trustedOrigins`. Default `/`. */
  returnTo?: string | undefined
  /**
   * The address to which rejections lead, with `error` (the code) and `provider` in the query: a path, or an address whose origin is in
   * `cookies.trustedOrigins`. Default: none, the rejection is sent as it is.
   */
  failureTo?: string | undefined
  /**
   * More parameters of the authorization request, such as `prompt`, `login_hint`, `hd` or `max_age`: strings by name, or a
   * function that returns them. Those that the plugin sets itself are not allowed, nor is `max_age` beside `oauth2`.
   *
   * A browser can change all of them. The plugin checks `auth_time` against a `max_age` that is written here; with one of
   * a function, `username` or `claims` has to check `auth_time` itself.
   */
  authorizationParams?:
    | Readonly<Record<string, string>>
    | ((request: FastifyRequest) => Readonly<Record<string, string>>)
    | undefined
  /**
   * How the app proves who it is at the token endpoint: in the header or in the body. Default `'basic'`, or `'post'` where
   * the metadata do not list `client_secret_basic`.
   */
  clientAuth?: 'basic' | 'post' | undefined
  /** The scopes that the app requests (RFC 6749 §3.3), with `openid`. Default `openid profile email`. */
  scope?: string | undefined
  /**
   * How an ID token says that the user was authenticated with several factors: values of the claim `acr`, or a function of
   * the claims. Then the session meets the mark `mfa`, and no second factor is asked for here. Anything but `true` means
   * no; what the function throws is a 500. Default: none does.
   */
  mfa?: readonly string[] | ((claims: IdTokenClaims) => boolean) | undefined
  /**
   * `true` asks the UserInfo endpoint too (OpenID Connect Core §5.3). Claims of the ID token win, and only it can have `acr`,
   * `amr` and `auth_time`. Default `false`.
   */
  userinfo?: boolean | undefined
  /**
   * The address of the authorization endpoint: https, or http to a loopback address, like those below. Each stands in for
   * the member of the metadata; they are not fetched if this one, {@link tokenEndpoint}, {@link jwksUri} and, with
   * {@link userinfo}, {@link userinfoEndpoint} are set. Default: that of the metadata.
   */
  authorizationEndpoint?: string | undefined
  /** The address at which codes are exchanged. Default: that of the metadata. */
  tokenEndpoint?: string | undefined
  /** The address of the key set. Default: that of the metadata. */
  jwksUri?: string | undefined
  /** The address of the UserInfo endpoint. Default: that of the metadata. */
  userinfoEndpoint?: string | undefined
  /** The address at which users log out, for `logoutUrl()`. Default: that of the metadata, if there is one. */
  endSessionEndpoint?: string | undefined
  /** Seconds by which clocks may differ, 0 to 300. Default 30. */
  clockTolerance?: number | undefined
}

/** A method, so that it may take the type that the app has for its users. */
interface LinkFunction<Stored extends object> {
  link(
    claims: IdTokenClaims,
    user: Stored,
    request: FastifyRequest,
    tokens: ProviderTokens,
  ): StoreResult | PromiseLike<StoreResult>
}

/** The option `oauth2` of a provider without ID tokens. */
export interface OAuth2Options {
  /** The address of the authorization endpoint: https, or http to a loopback address. */
  authorizationEndpoint: string
  /** The address at which codes are exchanged: https, or http to a loopback address. */
  tokenEndpoint: string
  /** The scopes that the app requests (RFC 6749 §3.3). Default: none, the provider decides. */
  scope?: string | undefined
  /**
   * Reads the profile of the user, within five seconds.
   *
   * @param get - fetches JSON with the access token
   * @returns an object with the `sub` of the user, which never changes: 1 to 255 characters, or a positive integer. All
   * other members are what the app wants to know. Of OpenID's, `email_verified` is kept if it is a boolean; `iss`, `aud`,
   * `exp`, `iat`, `nonce`, `auth_time`, `acr` and `amr` are dropped
   * @throws AuthenticationError to reject the login; any other error gives a 500
   */
  profile(get: GetJson, tokens: ProviderTokens): object | Promise<object>
  /**
   * `false` for a provider that rejects PKCE (RFC 7636). Then only `state` and the client secret protect a code, and nothing
   * does if it is stolen and injected (RFC 9700 §4.5). Default `true`.
   */
  pkce?: boolean | undefined
}

/**
 * Fetches JSON with the access token in the header `Authorization`, which `headers` cannot replace. It follows no redirect, and
 * may be called 8 times for a login.
 *
 * @param url - https, or http to a loopback address
 * @param options - `headers`: more headers; `accept` is `application/json` by default
 * @returns an object or an array
 * @throws (rejects) ERR_AUTH_PROVIDER_UNAVAILABLE, with the `status` of the response if there was one
 */
export type GetJson = <Json extends object = Record<string, unknown>>(
  url: string,
  options?: { headers?: Readonly<Record<string, string>> | undefined },
) => Promise<Json>

/** What a provider with `oauth2` has said of its user. It is frozen, but not the objects that `profile` has put into it. */
export interface Profile {
  /** The issuer. */
  readonly iss: string
  /** The user, unique within the issuer and never reused: 1 to 255 characters. */
  readonly sub: string
  /** The full name, with the scope `profile`. */
  readonly name?: string
  /** A short name, which is neither unique nor lasting. */
  readonly preferred_username?: string
  /**
   * The e-mail, with the scope `email`. It is no proof of who the user is, even where {@link email_verified} is true.
   */
  readonly email?: string
  /** Whether the provider has verified the e-mail. */
  readonly email_verified?: boolean
  /** Other claims. */
  readonly [claim: string]: unknown
}

/** Claims of an ID token (OpenID Connect Core §2), and of UserInfo (§5.1). With `oauth2`, a {@link Profile} alone. */
export interface IdTokenClaims extends Profile {
  /** The `clientId`, or several audiences. */
  readonly aud?: string | readonly string[]
  /** When the token expires, in seconds since 1970. */
  readonly exp?: number
  /** When it was issued, in seconds since 1970. */
  readonly iat?: number
  /** When the user has authenticated at the provider, in seconds since 1970. */
  readonly auth_time?: number
}

/** The response of the token endpoint of the provider. */
export interface ProviderTokens {
  /** The access token for the APIs of the provider. */
  readonly accessToken: string
  /** The ID token; absent with `oauth2`. */
  readonly idToken?: string
  /** The refresh token, with a scope such as `offline_access`. */
  readonly refreshToken?: string
  /** The scopes that were granted, where they are not those that were asked for. */
  readonly scope?: string
  /** Seconds until the access token expires. */
  readonly expiresIn?: number
}

/** A provider in `app.authn.loginWith`. */
export interface LoginProvider {
  /**
   * The address at which the user logs out at the provider too (OpenID Connect RP-Initiated Logout 1.0 §2). The page calls
   * `POST /logout` first, and goes there then; most providers ask the user once.
   *
   * @param options - `returnTo`: an absolute address that is registered at the provider
   * @returns null where the provider has none, as those with `oauth2`
   * @throws (rejects) ERR_AUTH_PROVIDER_UNAVAILABLE
   */
  logoutUrl(options?: { returnTo?: string | undefined }): Promise<string | null>
}

/** Published when the metadata of a provider have been fetched. It has no request. */
export interface ProviderEvent extends OfRegistration {
  /** The name of the provider in the option `loginWith`. */
  readonly provider: string
  /** `renewed`: there are new metadata. `failed`: the old ones stay in use. */
  readonly outcome: 'renewed' | 'failed'
  /** The reason of the failure; null if there was none. It quotes nothing from the provider's body. */
  readonly reason: string | null
  /** The duration in milliseconds. */
  readonly duration: number
}

/** Published when the account of a user at a provider was linked. */
export interface LinkEvent extends OfRegistration {
  /** The name of the provider in the option `loginWith`. */
  readonly provider: string
  /** The claim `sub` of the tokens of the user here. */
  readonly sub: string
  /** The callback. Its address holds the code of the provider: never log it whole. */
  readonly request: FastifyRequest
}

declare module './options.js' {
  interface AuthnOptions<Stored extends object> {
    /**
     * Providers with which users log in, such as Google, GitHub or Keycloak, by their names in the paths of their routes: `GET
     * /login/<name>`, `GET /login/<name>/callback` and, with `link`, `POST /login/<name>/link`. `fastify-authn/providers` has
     * entries for some. Needs `sessions`, `cookies`, `userService` and, for entries without `oauth2`, the package
     * `openid-client`. Default: none.
     */
    loginWith?: Readonly<Record<string, LoginProviderOptions<Stored>>> | undefined
  }
}

declare module './authn.js' {
  interface AuthnFeatures {
    /** The option `loginWith` is set. */
    loginWith: true
  }
  interface Authn {
    /**
     * The providers, by their names in the option.
     *
     * @throws ERR_AUTH_OPTION when it is read without the option `loginWith`; {@link Authn.features} says whether it is set
     */
    readonly loginWith: Readonly<Record<string, LoginProvider>>
  }
}

declare module './errors.js' {
  interface RejectionCodes {
    /** The callback belongs to no login or link that this browser has begun, or that has expired. */
    ERR_AUTH_LOGIN_STATE: 401
    /** The provider has rejected the login, or the user has cancelled it. */
    ERR_AUTH_LOGIN_DENIED: 401
    /** What the provider has sent is not acceptable. */
    ERR_AUTH_LOGIN_INVALID: 401
    /** The provider does not respond as it should. */
    ERR_AUTH_PROVIDER_UNAVAILABLE: 503
    /** `link` has stored nothing: the account of the provider is linked to another user. */
    ERR_AUTH_LINK_TAKEN: 409
  }
  interface FaultCodes {
    /** `authorizationParams` has failed, or has returned parameters that are not allowed. */
    ERR_AUTH_AUTHORIZATION_PARAMS: 500
  }
}

declare module './messages.js' {
  interface Catalogue {
    /** The login was not successful. */
    readonly 'auth.login-failed': string
    /** This account of the provider belongs to another user. */
    readonly 'auth.link-taken': string
  }
}

declare module './events.js' {
  interface AuthnEvent {
    /** The name of the provider in the option `loginWith`, for a login there. */
    readonly provider?: string
  }
  interface AuthnEvents {
    /** The metadata of a provider were fetched, or could not be. */
    readonly provider: ProviderEvent
    /** The account of a user at a provider was linked. */
    readonly link: LinkEvent
  }
}
