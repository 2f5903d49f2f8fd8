/**
 * A Security Scheme Object of OpenAPI: how credentials are shown in API documents (OpenAPI 3.1 §4.8.27).
 * `mutualTLS` is not there before OpenAPI 3.1.
 */
export type SecurityScheme = { readonly description?: string } & (
  | { readonly type: 'http'; readonly scheme: string; readonly bearerFormat?: string }
  | {
      readonly type: 'apiKey'
      readonly in: 'header' | 'query' | 'cookie'
      /** Of the header, the query parameter or the cookie. */
      readonly name: string
    }
  | { readonly type: 'oauth2'; readonly flows: Readonly<Record<string, object>> }
  | { readonly type: 'openIdConnect'; readonly openIdConnectUrl: string }
  | { readonly type: 'mutualTLS' }
)
