import { withDeclared } from '../common/objects.js'
import { providerOptions } from '../common/provider-options.js'
import type { IdTokenClaims, LoginProviderOptions, OAuth2Options } from '../../types/login-with.js'
import type { Entry, OAuth2Entry, OwnHost } from '../../types/providers.js'

type Facts = Partial<LoginProviderOptions> & Pick<LoginProviderOptions, 'issuer'>

const ofEntries = 'tenant team baseUrl teamId keyId privateKey'.split(' ')

/** The options that the app has given. They may be an instance of a class, of which `...` would leave out the methods. */
export const ownOf = <Given extends object>(given: Given): Given =>
  withDeclared(Object(given) as Given, [...providerOptions, ...ofEntries])

/** What is known of a provider, and what the app has given in its place. Its `claims` get those of the entry. */
export function entry<Given extends object>(facts: Facts, given: Given): Given & Entry<object> {
  const own: Given & Pick<LoginProviderOptions, 'claims'> = ownOf(given)
  const all = Object.entries(own).filter(([name, value]) => value !== undefined || !(name in facts))
  const merged = { ...facts, ...Object.fromEntries(all) } as Given & Entry<object>
  const [ofEntry, ofApp] = [facts.claims, own.claims]
  // Startup rejects what is no function.
  if (ofEntry === undefined || typeof ofApp !== 'function') return merged
  const claims: typeof ofApp = async (all, callback) =>
    ofApp((await ofEntry(all, callback)) as IdTokenClaims, callback)
  return { ...merged, claims }
}

type OAuth2Facts = Pick<LoginProviderOptions, 'issuer' | 'clientAuth'> & OAuth2Options

/** Makes the entry of a provider without ID tokens, for which an app may ask for another `scope`. */
export const oauth2Entry =
  ({ issuer, clientAuth, ...known }: OAuth2Facts) =>
  <Given extends OAuth2Entry>(all: Given): Entry<Given, 'scope'> => {
    const { scope = known.scope, ...given } = ownOf(all)
    return entry({ issuer, clientAuth, oauth2: { ...known, scope } }, given)
  }

/** The option `claims` of an entry whose provider sends `email_verified` as a boolean. Its type is not checked elsewhere. */
export const strictly = (claims: IdTokenClaims): object => ({
  ...claims,
  email_verified: claims.email_verified === true,
})

/** Makes startup fail as the plugin does. This entry point loads nothing of the plugin. @throws ERR_AUTH_OPTION */
export function wrongEntry(entry: string, option: string, expected: string): never {
  const message = `fastify-authn: ${entry}({ ${option} }): found another value, expected ${expected} (is its variable set?).`
  throw Object.assign(new Error(message), { name: 'AuthnUsageError', code: 'ERR_AUTH_OPTION' })
}

/** Takes `baseUrl` out of the options. @throws ERR_AUTH_OPTION for one that is present and no string */
export function baseUrlOf<Given extends OwnHost>(entry: string, all: Given, standard: string) {
  const isGiven = 'baseUrl' in (Object(all) as object)
  const { baseUrl = isGiven ? '' : standard, ...given } = ownOf(all)
  if (textOf(baseUrl) === undefined) wrongEntry(entry, 'baseUrl', 'an address')
  return [baseUrl.replace(/\/+$/, ''), given] as const
}

/** A member of the JSON of a provider that is text, and not empty. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** The e-mail of a profile. Without one, nothing is verified. */
export function emailOf(value: unknown, isVerified: unknown) {
  const email = textOf(value)
  return { email, email_verified: email !== undefined && isVerified === true }
}
