import * as Type from '@sinclair/typebox/type'
import type { FastifyRequest } from 'fastify'
import type { ServerMetadata } from 'openid-client'
import { rejectionOrFault, wrongOption } from '../errors/errors.js'
import { checkAddress } from '../options/address.js'
import { ignoreRejection, isPlain } from '../common/objects.js'
import { anyFunction, byName, flag, oneOf, optional, strict, text } from '../options/check.js'
import { withDefaults } from '../options/defaults.js'
import { mfaSchema } from '../request/mfa-option.js'
import { tokenRules } from '../options/jwt-schemas.js'
import type { LoginProviderOptions } from '../../types/login-with.js'

/** Parameters of the authorization request that the plugin sets, or that would change what is sent back. */
const reserved =
  'response_type response_mode client_id redirect_uri scope state nonce code_challenge code_challenge_method request request_uri'

/** RFC 6749 §3.3 */
const scopes = '^(?:[\\x21\\x23-\\x5b\\x5d-\\x7e]+ )*openid(?: [\\x21\\x23-\\x5b\\x5d-\\x7e]+)*$'
const notBlank = (description: string, secret = false) =>
  text(description, { pattern: '\\S', secret })

/** Options that stand in for members of the metadata. */
const endpoints =
  'authorizationEndpoint tokenEndpoint jwksUri userinfoEndpoint endSessionEndpoint'.split(' ')
const endpoint = optional(text('an address of the provider', { quoted: true }))

const provider = strict({
  issuer: text('the address of the provider', { quoted: true }),
  clientId: notBlank('a string that is not blank'),
  clientSecret: optional(notBlank('a string that is not blank', true)),
  clientAuth: optional(oneOf(['basic', 'post'], "'basic' or 'post'")),
  scope: optional(
    text('scopes with spaces between them, openid among them', { pattern: scopes, quoted: true }),
  ),
  username: anyFunction('a function (claims, request, tokens) that returns the name of the user'),
  link: optional(anyFunction('a function (claims, user, request, tokens) that stores the link')),
  mfa: optional(mfaSchema),
  userinfo: optional(flag),
  ...Object.fromEntries(endpoints.map((option) => [option, endpoint])),
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
  if (redirectUri !== undefined) checkAddress(`${place}.redirectUri`, redirectUri, false)
  if (params !== undefined && typeof params !== 'function')
    checkParams(params, `option "${place}.authorizationParams"`)
  const addresses: Record<string, string> = {}
  for (const [option, address] of Object.entries(given)) {
    if (typeof address !== 'string' || !endpoints.includes(option)) continue
    checkAddress(`${place}.${option}`, address, false)
    addresses[option.replace(/[A-Z]/g, (each) => `_${each.toLowerCase()}`)] = new URL(address).href
  }
  return { ...withDefaults(defaults, given), name, endpoints: addresses }
}

function checkParams(params: unknown, subject: string): Readonly<Record<string, string>> {
  const taken = reserved.split(' ')
  const isFine = ([name, value]: [string, unknown]): boolean =>
    typeof value === 'string' &&
    !taken.includes(name) &&
    (name !== 'max_age' || /^\d{1,10}$/.test(value))
  if (isPlain(params) && Object.entries(params).every(isFine)) {
    return params as Record<string, string>
  }
  return wrongOption(
    `${subject}: expected an object of strings, or a function (request) that returns one, without ${reserved.replaceAll(' ', ', ')}; max_age is a number of seconds.`,
  )
}

/** The authorization request, but for what each attempt has of its own. */
export function addressOf(
  { clientId, scope }: ResolvedProvider,
  { authorization_endpoint: endpoint }: ServerMetadata,
  params: Readonly<Record<string, string>>,
  redirectUri: string,
): string {
  const url = new URL(String(endpoint))
  const all = {
    ...params,
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope,
    code_challenge_method: 'S256',
  }
  for (const [key, value] of Object.entries(all)) url.searchParams.set(key, value)
  for (const key of ['state', 'nonce', 'code_challenge']) url.searchParams.delete(key)
  return url.href
}

const noParams = {}

export function paramsOf(
  { authorizationParams: given = noParams, name }: ResolvedProvider,
  request: FastifyRequest,
) {
  if (typeof given !== 'function') return given
  try {
    const params: unknown = given(request)
    ignoreRejection(params)
    return checkParams(params, `loginWith.${name}.authorizationParams()`)
  } catch (error) {
    throw rejectionOrFault('ERR_AUTH_AUTHORIZATION_PARAMS', error)
  }
}
