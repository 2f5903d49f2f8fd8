import type { LoginProviderOptions } from './login-with.js'

/** The options of an entry: those of `loginWith.<name>`, but for what it has itself. */
export interface OpenIdEntry
  extends
    Omit<LoginProviderOptions, 'issuer' | 'oauth2' | 'tenants' | 'username'>,
    Partial<Pick<LoginProviderOptions, 'username'>> {}

/** The options of an entry of a provider without ID tokens, but for those that it does not know. */
export interface OAuth2Entry extends Omit<
  OpenIdEntry,
  | 'authorizationEndpoint'
  | 'tokenEndpoint'
  | 'jwksUri'
  | 'userinfoEndpoint'
  | 'endSessionEndpoint'
  | 'userinfo'
  | 'mfa'
  | 'clockTolerance'
> {}

/** What an entry returns: the options that it was given, without those of its own, and what the provider needs. */
export type Entry<Given, Own extends string = never> = Omit<Given, Own> &
  Pick<
    LoginProviderOptions,
    | 'issuer'
    | 'oauth2'
    | 'clientAuth'
    | 'clientSecret'
    | 'scope'
    | 'authorizationParams'
    | 'responseMode'
    | 'claims'
    | 'tenants'
  >

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
  /** The content of the file `AuthKey_….p8`: a P-256 key as PKCS #8 PEM, whose line ends may be escaped. */
  privateKey: string
}

/** The options of `slack()`. */
export interface SlackEntry extends OpenIdEntry {
  /** The id of the one workspace whose users may log in: the claim `https://slack.com/team_id`. Default: all may. */
  team?: string
}

/** The options of `microsoft()`. */
export interface MicrosoftEntry extends OpenIdEntry {
  /** The id of a tenant, `consumers` for personal accounts, `organizations` for all others, or `common` for both. */
  tenant: string
  /** Required for `common` and `organizations`, and not allowed for others: see {@link LoginProviderOptions.tenants}. */
  tenants?: LoginProviderOptions['tenants']
}
