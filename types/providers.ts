import type { LoginProviderOptions, OAuth2ProviderOptions } from './login-with.js'

/** The options of an entry, but for those that the provider decides. `username` is not needed beside the option `users`. */
type Given<Options extends { username: unknown }, Own extends keyof Options> = Omit<
  Options,
  Own | 'username'
> &
  Partial<Pick<Options, 'username'>>

/** The options of an entry of an OpenID provider: those of `loginWith.<name>` but for `issuer`. */
export type OpenIdEntry = Given<LoginProviderOptions, 'issuer' | 'oauth2' | 'tenants'>

/** The options of an entry of a provider without ID tokens: those of `loginWith.<name>` but for `issuer` and `oauth2`. */
export interface OAuth2Entry extends Given<OAuth2ProviderOptions, 'issuer' | 'oauth2'> {
  /** The scopes that the app requests. Default: those that the claims of the entry need. */
  scope?: string | undefined
}

/** A provider that people run on a host of their own. */
export interface OwnHost {
  /** The address of the host, such as `https://git.example`. Default: that of the public service. */
  baseUrl?: string
}

/** The options of `apple()`. */
export interface AppleEntry extends Omit<OpenIdEntry, 'clientSecret'> {
  /** The id of the team, ten characters. */
  teamId: string
  /** The id of the key. */
  keyId: string
  /** The content of the file `AuthKey_….p8`: a P-256 key as PKCS #8 PEM. */
  privateKey: string
}

/** The options of `microsoft()`. */
export interface MicrosoftEntry extends OpenIdEntry {
  /** The id of a tenant, `consumers` for personal accounts, `organizations` for all others, or `common` for both. */
  tenant: string
  /** Required for `common` and `organizations`, and not allowed for others: see {@link LoginProviderOptions.tenants}. */
  tenants?: LoginProviderOptions['tenants']
}
