import * as Type from '@sinclair/typebox/type'
import { signingMethods } from '../common/algorithms.js'
import { wrongOption } from '../errors/errors.js'
import { checkAddress } from '../options/address.js'
import { check, anyFunction, byName, oneOf, optional, strict, text } from '../options/check.js'
import { audience, tokenRules } from '../options/jwt-schemas.js'
import { defaults } from '../options/defaults.js'
import { mfaRules, mfaSchema } from '../request/mfa-option.js'
import { claimPaths } from '../users/claim-path.js'
import type { ResolvedRules } from '../options/resolve-jwt.js'
import type { IntrospectionOptions } from '../../types/introspection.js'
import type { IssuerOptions } from '../../types/issuers.js'

const credential = text('a non-empty string without control characters', {
  pattern: '^[^\\x00-\\x1f\\x7f]+$',
  secret: true,
})

const introspectionSchema = strict(
  {
    clientId: credential,
    clientSecret: credential,
    endpoint: optional(text('the address of the endpoint', { quoted: true })),
    authMethod: optional(oneOf(['client_secret_basic', 'client_secret_post'])),
    cache: optional(Type.Number({ minimum: 0, maximum: 300, description: 'seconds, 0 to 300' })),
    jwt: optional(Type.Boolean({ description: 'true or false' })),
    optionalClaims: optional(
      Type.Array(oneOf(['aud', 'sub', 'token_type']), { description: 'an array' }),
    ),
  },
  'an object with clientId and clientSecret',
)

/** HMAC is never accepted: a shared secret that verifies can sign too. */
export const issuerMethods = signingMethods.filter((method) => !method.startsWith('HS'))

const description = 'an object with issuer, audience, user'
const issuerSchema = strict(
  {
    issuer: text('the "iss" of its tokens, a non-empty string', { quoted: true }),
    audience,
    audienceClaim: optional(oneOf(['aud', 'client_id'], "'aud' or 'client_id'")),
    jwksUri: optional(text('the address of a key set', { quoted: true })),
    algorithms: optional(
      Type.Array(oneOf(issuerMethods), { minItems: 1, description: 'an array of signing methods' }),
    ),
    introspection: optional(introspectionSchema),
    profile: optional(Type.Literal('rfc9068', { description: "'rfc9068'", quoted: true })),
    user: anyFunction('a function (claims, request) that returns the user or null'),
    trusted: optional(anyFunction('a function (claims, request) that returns a boolean')),
    clockTolerance: optional(tokenRules.clockTolerance),
    requireExp: optional(tokenRules.requireExp),
    roles: optional(claimPaths),
    scopes: optional(claimPaths),
    mfa: optional(mfaSchema),
  },
  description,
)

export const schema = byName(Type.Object({}, { description }), 'an object of issuers by name')

export type ResolvedIssuer = ReturnType<typeof resolveIssuer> & { registration?: string }

export type Introspecting = ResolvedIssuer & {
  introspection: IntrospectionOptions & { clientSecret: string }
}

const builtIn = new Set(['jwt', 'basic', 'configBasic'])

/**
 * @param taken - the names of the app's authenticators
 * @param own - the issuer of tokens that the app signs itself
 * @param audience - of issuers without one: that of the option `resource`
 */
export function resolveIssuers(
  issuers: Readonly<Record<string, IssuerOptions>>,
  taken: readonly string[],
  own: string | undefined,
  audience?: readonly string[],
): ResolvedIssuer[] {
  const all = Object.entries(issuers).map(([name, issuer]) => resolveIssuer(name, issuer, audience))
  for (const [index, { name, issuer }] of all.entries()) {
    if (name === '') wrong('issuers', 'found an issuer without a name, expected one for "use".')
    if (builtIn.has(name) || taken.includes(name)) {
      wrong(
        `issuers.${name}`,
        `there is already an authenticator with the name ${JSON.stringify(name)}. Choose another one.`,
      )
    }
    const first = all.findIndex((other) => other.issuer === issuer)
    if (first !== index || issuer === own) {
      const other = first === index ? 'jwt.issuer' : `issuers.${all[first]?.name}.issuer`
      wrong(
        `issuers.${name}.issuer`,
        `found ${JSON.stringify(issuer)}, which is also "${other}", so the "iss" of a token could not tell them apart. Name each issuer once.`,
      )
    }
  }
  return all
}

function resolveIssuer(name: string, given: IssuerOptions, byDefault?: readonly string[]) {
  const place = `issuers.${name}`
  // A `client_id` is that of a client, and never the identifier of the resource.
  const isOpen = given.audienceClaim !== 'client_id' && !('audience' in given)
  const whole = isOpen && byDefault ? { ...(given as object), audience: byDefault } : given
  const checked = check<IssuerOptions>(issuerSchema, whole, place)
  const { issuer, jwksUri, profile, introspection, audienceClaim = 'aud' } = checked
  const { endpoint, jwt } = introspection ?? {}
  const remedy = ` If the issuer is not such an address, set "jwksUri"${introspection ? ' (or "introspection.jwt") and "introspection.endpoint"' : ''}.`
  const isDiscovered = !(jwksUri ?? jwt) || (introspection && !endpoint)
  if (isDiscovered) checkAddress(`${place}.issuer`, issuer, true, remedy)
  if (jwksUri !== undefined) checkAddress(`${place}.jwksUri`, jwksUri, false)
  if (endpoint !== undefined) checkAddress(`${place}.introspection.endpoint`, endpoint, false)
  const audience: readonly string[] = [checked.audience].flat()
  const rules: ResolvedRules = {
    clockTolerance: checked.clockTolerance ?? defaults.tokenRules.clockTolerance,
    requireExp: checked.requireExp ?? defaults.tokenRules.requireExp,
    typ: profile === undefined ? defaults.typ : new Set(['at+jwt']),
    issuer,
    audience: audienceClaim === 'aud' && audience,
  }
  const user: IssuerOptions['user'] = (claims, request) => given.user(claims, request)
  const level = { ...mfaRules(checked.mfa), clockTolerance: rules.clockTolerance }
  return { ...checked, name, audience, audienceClaim, user, rules, level }
}

function wrong(option: string, problem: string): never {
  wrongOption(`option "${option}": ${problem}`)
}
