import * as Type from '@sinclair/typebox/type'
import type { FastifyRequest } from 'fastify'
import type { ServerMetadata } from 'openid-client'
import { rejectionOrFault, wrongOption } from '../errors/errors.js'
import { hasTenants } from '../http/tenant.js'
import { checkAddress } from '../options/address.js'
import { ignoreRejection, isPlain, withDeclared, withoutUndefined } from '../common/objects.js'
import { providerOptions } from '../common/provider-options.js'
import { anyFunction, byName, flag, oneOf, optional, strict, text } from '../options/check.js'
import { withDefaults } from '../options/defaults.js'
import { mfaSchema } from '../request/mfa-option.js'
import { tokenRules } from '../options/jwt-schemas.js'
import type { LoginProviderOptions, OAuth2Options } from '../../types/login-with.js'

/** Parameters of the authorization request that the plugin sets, or that would change what is sent back. */
const reserved =
  'response_type response_mode client_id redirect_uri scope state nonce code_challenge code_challenge_method request request_uri'

/** RFC 6749 §3.3 */
const scope = '[\\x21\\x23-\\x5b\\x5d-\\x7e]+'
const scopes = `^(?:${scope} )*openid(?: ${scope})*$`
const notBlank = (description: string, secret = false) =>
  text(description, { pattern: '\\S', secret })

/** Options that stand in for members of the metadata. */
const endpoints =
  'authorizationEndpoint tokenEndpoint jwksUri userinfoEndpoint endSessionEndpoint'.split(' ')
const secret = 'a string that is not blank, or a function that returns it'
const address = text('an address of the provider', { quoted: true })

const oauth2 = strict({
  authorizationEndpoint: address,
  tokenEndpoint: address,
  scope: optional(
    text('scopes with spaces between them', { pattern: `^${scope}(?: ${scope})*$`, quoted: true }),
  ),
  profile: anyFunction('a function (get, tokens) that returns the profile of the user'),
  pkce: optional(flag),
})

const provider = strict({
  issuer: text('the address of the provider', { quoted: true }),
  clientId: notBlank('a string that is not blank'),
  clientSecret: optional(
    Type.Union([notBlank(secret, true), anyFunction(secret)], {
      description: secret,
      secret: true,
    }),
  ),
  clientAuth: optional(oneOf(['basic', 'post'], "'basic' or 'post'")),
  scope: optional(
    text('scopes with spaces between them, openid among them', { pattern: scopes, quoted: true }),
  ),
  username: anyFunction('a function (claims, request, tokens) that returns the name of the user'),
  link: optional(anyFunction('a function (claims, user, request, tokens) that stores the link')),
  mfa: optional(mfaSchema),
  userinfo: optional(flag),
  ...Object.fromEntries(endpoints.map((option) => [option, optional(address)])),
  oauth2: optional(oauth2),
  tenants: optional(anyFunction('a function (tid) that says whether a tenant is let in')),
  claims: optional(anyFunction('a function (claims, callback) that returns claims')),
  responseMode: optional(oneOf(['form_post'], "'form_post'")),
  redirectUri: optional(text('the address of the callback', { quoted: true })),
  returnTo: optional(text('a path', { quoted: true })),
  failureTo: optional(text('a path', { quoted: true })),
  authorizationParams: optional(Type.Unknown()),
  clockTolerance: optional(tokenRules.clockTolerance),
})

export const schema = byName(provider, 'an object of providers by name')

/** The defaults of a provider. `endpoints` has addresses by the names of members of the metadata. */
const defaults = {
  scope: 'openid profile email',
  clockTolerance: 30,
  endpoints: {} as Readonly<Record<string, string>>,
}

type Named = { readonly name: string; readonly registration?: string }
export type ResolvedProvider = LoginProviderOptions & typeof defaults & Named

/** What only a provider with ID tokens has, or what `oauth2` has itself. */
const ofOpenId = [...endpoints, ...'scope userinfo mfa clockTolerance tenants'.split(' ')]

export function resolveProvider(name: string, given: LoginProviderOptions): ResolvedProvider {
  const place = `loginWith.${name}`
  if (!/^[A-Za-z0-9][\w-]{0,63}$/.test(name)) {
    wrongOption(
      `option "loginWith": found a provider with the name ${JSON.stringify(name)}, expected 1 to 64 letters, digits, - and _, with a letter or a digit first: it is part of the paths.`,
    )
  }
  if (name === 'confirm') {
    wrongOption(
      'option "loginWith.confirm": found a provider with the name confirm, expected another name, since sessions are confirmed at that path. Name it otherwise, here and in its redirect URI at the provider.',
    )
  }
  if ('clientSecret' in given && given.clientSecret === undefined) {
    wrongOption(
      `option "${place}.clientSecret": found undefined, expected a string. Is its variable set? For a public client, leave the option out.`,
    )
  }
  const { issuer, redirectUri, authorizationParams: params } = given
  checkAddress(`${place}.issuer`, issuer, true)
  if (/[{}]|%7b/i.test(issuer.replace('{tenantid}', ''))) {
    wrongOption(
      `option "${place}.issuer": found ${JSON.stringify(issuer)}, expected {tenantid} once, in lower case, or an address without braces.`,
    )
  }
  if (redirectUri !== undefined) checkAddress(`${place}.redirectUri`, redirectUri, false)
  if (params !== undefined && typeof params !== 'function')
    checkParams(params, `option "${place}.authorizationParams"`, given.oauth2 !== undefined)
  if (given.oauth2 === undefined) checkTenants(place, given)
  else checkOAuth2(place, given, given.oauth2)
  const addresses: Record<string, string> = {}
  const [holder, of] = given.oauth2 ? [`${place}.oauth2`, given.oauth2] : [place, given]
  for (const [option, address] of Object.entries(withDeclared(of, endpoints))) {
    if (typeof address !== 'string' || !endpoints.includes(option)) continue
    checkAddress(`${holder}.${option}`, address, false)
    addresses[option.replace(/[A-Z]/g, (each) => `_${each.toLowerCase()}`)] = new URL(address).href
  }
  const own = withDeclared(given, providerOptions)
  return { ...withDefaults(defaults, own), name, endpoints: addresses }
}

function checkOAuth2(place: string, given: LoginProviderOptions, { pkce }: OAuth2Options): void {
  const taken = ofOpenId.find((option) => given[option as keyof LoginProviderOptions] !== undefined)
  if (taken !== undefined) {
    wrongOption(
      `options "${place}.oauth2" and "${place}.${taken}" are both set, but such a provider has no ID tokens. Leave "${taken}" out, or set it in "oauth2" if it is known there.`,
    )
  }
  if (hasTenants(given.issuer)) {
    wrongOption(
      `option "${place}.issuer": found {tenantid} beside "${place}.oauth2", expected an address without it: only ID tokens say which tenant they are of.`,
    )
  }
  if (pkce === false && given.clientSecret === undefined) {
    wrongOption(
      `option "${place}.oauth2.pkce": found false without "${place}.clientSecret", expected one of them: nothing else would protect the code. Set the secret, or leave "pkce" out.`,
    )
  }
}

function checkTenants(place: string, given: LoginProviderOptions): void {
  const { issuer, tenants, userinfo } = given
  if (!hasTenants(issuer)) {
    if (tenants === undefined) return
    wrongOption(
      `option "${place}.tenants": found a function beside an issuer without {tenantid}, expected none: there is one tenant alone. Leave it out.`,
    )
  }
  if (tenants === undefined) {
    wrongOption(
      `option "${place}.tenants": found nothing, expected a function (tid) beside an issuer with {tenantid}: the administrator of any tenant could write any e-mail into its tokens. Return true for the tenants of your customers.`,
    )
  }
  const needed = ['authorizationEndpoint', 'tokenEndpoint', 'jwksUri'] as const
  const all = userinfo ? [...needed, 'userinfoEndpoint' as const] : needed
  const missing = all.find((option) => given[option] === undefined)
  if (missing === undefined) return
  wrongOption(
    `option "${place}.${missing}": found nothing, expected an address beside an issuer with {tenantid}, whose metadata are not fetched.`,
  )
}

/** Accounts are stored under the issuer, and only ID tokens prove it: two servers that share one would mix them up. @throws ERR_AUTH_OPTION */
export function checkIssuers(providers: readonly ResolvedProvider[]): void {
  const known = new Map<string, ResolvedProvider>()
  for (const each of providers) {
    const other = known.get(each.issuer) ?? each
    known.set(each.issuer, other)
    if (!other.oauth2 && !each.oauth2) continue
    if (other.endpoints.token_endpoint === each.endpoints.token_endpoint) continue
    wrongOption(
      `option "loginWith.${each.name}.issuer": found that of "loginWith.${other.name}", which has another tokenEndpoint, expected another one: accounts are stored under it.`,
    )
  }
}

function checkParams(
  params: unknown,
  subject: string,
  isOAuth2: boolean,
): Readonly<Record<string, string>> {
  const taken = `${reserved}${isOAuth2 ? ' max_age' : ''}`.split(' ')
  const isFine = ([name, value]: [string, unknown]): boolean =>
    typeof value === 'string' &&
    !taken.includes(name) &&
    (name !== 'max_age' || /^\d{1,10}$/.test(value))
  if (isPlain(params) && Object.entries(params).every(isFine)) {
    return params as Record<string, string>
  }
  return wrongOption(
    `${subject}: expected an object of strings, or a function (request) that returns one, without ${taken.join(', ')}${isOAuth2 ? '' : '; max_age is a number of seconds'}.`,
  )
}

/** The authorization request, but for what each attempt has of its own. */
export function addressOf(
  { clientId, scope, responseMode, oauth2 }: ResolvedProvider,
  { authorization_endpoint: endpoint }: ServerMetadata,
  params: Readonly<Record<string, string>>,
  redirectUri: string,
): string {
  const url = new URL(String(endpoint))
  const hasPkce = oauth2?.pkce !== false
  const all = withoutUndefined({
    ...params,
    response_type: 'code',
    response_mode: responseMode,
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: oauth2 === undefined ? scope : oauth2.scope,
    code_challenge_method: hasPkce ? 'S256' : undefined,
  })
  for (const [key, value] of Object.entries(all)) url.searchParams.set(key, value)
  for (const key of ['state', 'nonce', 'code_challenge']) url.searchParams.delete(key)
  return url.href
}

const noParams = {}

export function paramsOf(
  { authorizationParams: given = noParams, name, oauth2 }: ResolvedProvider,
  request: FastifyRequest,
) {
  if (typeof given !== 'function') return given
  try {
    const params: unknown = given(request)
    ignoreRejection(params)
    return checkParams(params, `loginWith.${name}.authorizationParams()`, oauth2 !== undefined)
  } catch (error) {
    throw rejectionOrFault('ERR_AUTH_AUTHORIZATION_PARAMS', error)
  }
}
