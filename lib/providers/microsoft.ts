import { wrongEntry, type OpenIdEntry } from './entry.js'
import type { LoginProviderOptions, Profile } from '../../types/login-with.js'

/** The options of {@link microsoft}. */
export interface MicrosoftEntry extends OpenIdEntry {
  /** The id of a tenant, `consumers` for personal accounts, `organizations` for all others, or `common` for both. */
  tenant: string
  /** Required for `common` and `organizations`, and not allowed for others: see {@link LoginProviderOptions.tenants}. */
  tenants?: LoginProviderOptions['tenants']
}

/** The tenant of personal accounts. */
const personal = '9188040d-6c67-4c5b-b112-36a304b66dad'
const host = 'https://login.microsoftonline.com'

/**
 * An entry of `loginWith` for Microsoft Entra ID. `email_verified` is true if the optional claim `xms_edov` says so, which has to
 * be added to the registration. An administrator can write any other `email`.
 *
 * @throws ERR_AUTH_OPTION for a `tenant` that is none
 */
// learn.microsoft.com/entra/identity-platform: "OpenID Connect", "Access tokens" (tenants, signing keys), "Migrate away from using
// email claims" (`xms_edov`, whose forms 1 and "1" are of clients), read in November 2026.
export function microsoft<Given extends MicrosoftEntry>({
  tenant,
  tenants: given,
  ...more
}: Given) {
  const names: Readonly<Record<string, string>> = {
    common: '{tenantid}',
    organizations: '{tenantid}',
    consumers: personal,
  }
  const tid = Object.hasOwn(names, tenant) ? names[tenant] : String(tenant).toLowerCase()
  if (tid !== '{tenantid}' && !/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(String(tid)))
    wrongEntry(
      'microsoft',
      'tenant',
      "the GUID of a tenant, 'common', 'organizations' or 'consumers'",
    )
  const isOfFirm = (id: string) => id !== personal && (given as (tid: string) => boolean)(id)
  const tenants = tenant === 'organizations' && typeof given === 'function' ? isOfFirm : given
  const at = `${host}/${tid === '{tenantid}' ? tenant : tid}`
  return {
    issuer: `${host}/${tid}/v2.0`,
    authorizationEndpoint: `${at}/oauth2/v2.0/authorize`,
    tokenEndpoint: `${at}/oauth2/v2.0/token`,
    jwksUri: `${at}/discovery/v2.0/keys`,
    endSessionEndpoint: `${at}/oauth2/v2.0/logout`,
    ...(tenants !== undefined && { tenants }),
    claims: (claims: Profile) => ({
      ...claims,
      email_verified: [true, 1, '1'].includes(claims.xms_edov as true),
    }),
    ...more,
  }
}
