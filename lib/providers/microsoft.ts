import { entry, ownOf, textOf, wrongEntry } from './entry.js'
import type { Entry, MicrosoftEntry } from '../../types/providers.js'

const host = 'https://login.microsoftonline.com'
/** The tenant of personal accounts. */
const personal = '9188040d-6c67-4c5b-b112-36a304b66dad'
const verified = new Set<unknown>([true, 1, '1'])

/**
 * An entry of `loginWith` for Microsoft Entra ID. `email_verified` is true if the optional claim `xms_edov` says so, which has to
 * be added to the registration: an administrator can write any `email`. @throws ERR_AUTH_OPTION for a `tenant` that is none
 */
// learn.microsoft.com/entra/identity-platform: "OpenID Connect", "Access tokens" (tenants, signing keys), "Migrate away from using
// email claims" (`xms_edov`, whose forms 1 and "1" are of clients), read in November 2026.
export function microsoft<Given extends MicrosoftEntry>(
  all: Given,
): Entry<Given, 'tenant' | 'tenants'> {
  const { tenant, tenants, ...given } = ownOf(all)
  const isAny = tenant === 'common' || tenant === 'organizations'
  const id = tenant === 'consumers' ? personal : (textOf(tenant) ?? '')
  if (!isAny && !/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(id)) {
    const names = "the GUID of a tenant, 'common', 'organizations', 'consumers'"
    wrongEntry('microsoft', 'tenant', names)
  }
  const isOfFirm = (tid: string) => tid !== personal && (tenants as (tid: string) => boolean)(tid)
  const isLetIn = tenant === 'organizations' && typeof tenants === 'function' ? isOfFirm : tenants
  const at = `${host}/${isAny ? tenant : id.toLowerCase()}`
  return entry(
    {
      issuer: isAny ? `${host}/{tenantid}/v2.0` : `${at}/v2.0`,
      authorizationEndpoint: `${at}/oauth2/v2.0/authorize`,
      tokenEndpoint: `${at}/oauth2/v2.0/token`,
      jwksUri: `${at}/discovery/v2.0/keys`,
      endSessionEndpoint: `${at}/oauth2/v2.0/logout`,
      ...(isLetIn !== undefined && { tenants: isLetIn }),
      claims: (claims) => ({ ...claims, email_verified: verified.has(claims.xms_edov) }),
    },
    given,
  )
}
