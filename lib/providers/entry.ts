import type { IdTokenClaims, LoginProviderOptions, OAuth2Options } from '../../types/login-with.js'
import type { Entry, OAuth2Entry, OwnHost } from '../../types/providers.js'

type Facts = Partial<LoginProviderOptions> & Pick<LoginProviderOptions, 'issuer'>

/**
 * What is known of a provider, and what the app has given. Its `claims` get those of the entry, and members that it has left
 * undefined do not count, but for the secret, whose variable may be missing.
 */
export function entry<Given extends object>(facts: Facts, given: Given): Given & Entry<object> {
  const all = Object.entries(given).filter(
    ([name, value]) => value !== undefined || name === 'clientSecret',
  )
  const { claims: ofEntry } = facts
  const { claims: ofApp } = given as Pick<LoginProviderOptions, 'claims'>
  const both: NonNullable<LoginProviderOptions['claims']> = async (claims, callback) =>
    ofApp?.((await ofEntry?.(claims, callback)) as IdTokenClaims, callback) ?? {}
  const merged = { ...facts, ...Object.fromEntries(all) }
  return { ...merged, ...(ofEntry && ofApp && { claims: both }) } as Given & Entry<object>
}

type OAuth2Facts = Pick<LoginProviderOptions, 'issuer' | 'clientAuth'> & OAuth2Options

/** Makes the entry of a provider without ID tokens, for which an app may ask for another `scope`. */
export const oauth2Entry =
  ({ issuer, clientAuth, ...known }: OAuth2Facts) =>
  <Given extends OAuth2Entry>({ scope = known.scope, ...given }: Given): Entry<Given, 'scope'> =>
    entry({ issuer, clientAuth, oauth2: { ...known, scope } }, given)

/** The option `claims` of an entry whose provider sends `email_verified` as a boolean. Its type is not checked elsewhere. */
export const strictly = (claims: IdTokenClaims): object => ({
  ...claims,
  email_verified: claims.email_verified === true,
})

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

/** The e-mail of a profile. Without one, nothing is verified. */
export function emailOf(value: unknown, isVerified: unknown) {
  const email = textOf(value)
  return { email, email_verified: email !== undefined && isVerified === true }
}
