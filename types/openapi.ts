/** Members of every security scheme. */
export interface DescribedScheme {
  /** A description in CommonMark. */
  readonly description?: string
}

/** Credentials in the `Authorization` header (RFC 9110 §11). */
export interface HttpScheme extends DescribedScheme {
  /** `http`. */
  readonly type: 'http'
  /** The authentication scheme, such as `basic` or `bearer`. */
  readonly scheme: string
  /** The format of a bearer token, such as `JWT`: a hint for people. */
  readonly bearerFormat?: string
}

/** A key in a header, in the query or in a cookie. */
export interface ApiKeyScheme extends DescribedScheme {
  /** `apiKey`. */
  readonly type: 'apiKey'
  /** The part of the request that holds the key. */
  readonly in: 'header' | 'query' | 'cookie'
  /** Name of the header, the query parameter or the cookie. */
  readonly name: string
}

/** OAuth 2 (RFC 6749). */
export interface OAuth2Scheme extends DescribedScheme {
  /** `oauth2`. */
  readonly type: 'oauth2'
  /** An OAuth Flows Object. */
  readonly flows: Readonly<Record<string, object>>
}

/** OpenID Connect Discovery. */
export interface OpenIdConnectScheme extends DescribedScheme {
  /** `openIdConnect`. */
  readonly type: 'openIdConnect'
  /** The address of the discovery document. */
  readonly openIdConnectUrl: string
}

/** A certificate of the client. */
export interface MutualTlsScheme extends DescribedScheme {
  /** `mutualTLS`. */
  readonly type: 'mutualTLS'
}

/**
 * A Security Scheme Object, which describes credentials in API documents (OpenAPI 3.1 §4.8.27).
 * `mutualTLS` exists since OpenAPI 3.1.
 */
export type SecurityScheme =
  HttpScheme | ApiKeyScheme | OAuth2Scheme | OpenIdConnectScheme | MutualTlsScheme
