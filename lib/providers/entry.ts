import type { LoginProviderOptions, OAuth2ProviderOptions } from '../../types/login-with.js'

/** The members that an entry has itself, and `username`, which the option `users` has. */
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

/** Makes startup fail as the plugin does. This entry point loads nothing of the plugin. @throws ERR_AUTH_OPTION */
export function wrongEntry(entry: string, option: string, expected: string): never {
  const message = `fastify-authn: ${entry}({ ${option} }): found another value, expected ${expected}.`
  throw Object.assign(new Error(message), { name: 'AuthnUsageError', code: 'ERR_AUTH_OPTION' })
}

/** @throws ERR_AUTH_OPTION for a `baseUrl` that is present and no string, as that of a missing variable */
export function baseUrlOf(entry: string, given: OwnHost, standard: string): string {
  const { baseUrl = 'baseUrl' in given ? '' : standard } = given
  if (typeof baseUrl === 'string' && baseUrl !== '') return baseUrl.replace(/\/+$/, '')
  return wrongEntry(entry, 'baseUrl', 'an address (is its variable set?)')
}

/** A member of the JSON of a provider that is text, and not empty. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined
