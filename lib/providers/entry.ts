import type { OwnHost } from '../../types/providers.js'

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
