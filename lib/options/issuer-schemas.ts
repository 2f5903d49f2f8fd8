import * as Type from '@sinclair/typebox/type'
import { signingMethods } from '../common/algorithms.js'
import { anyFunction, audience, oneOf, optional, strict, text, tokenRules } from './parts.js'

/** HMAC is never accepted: whoever can verify with a shared secret can sign with it too. */
export const issuerMethods = signingMethods.filter((method) => !method.startsWith('HS'))

export const issuerSchema = strict(
  {
    issuer: text('the "iss" of its tokens, a non-empty string', { shown: true }),
    audience,
    audienceClaim: optional(oneOf(['aud', 'client_id'], "'aud' or 'client_id'")),
    jwksUri: optional(text('the address of a key set', { shown: true })),
    algorithms: optional(
      Type.Array(oneOf(issuerMethods), { minItems: 1, description: 'an array of signing methods' }),
    ),
    profile: optional(Type.Literal('rfc9068', { description: "'rfc9068'", shown: true })),
    user: anyFunction('a function (claims, request) that returns the user or null'),
    clockTolerance: optional(tokenRules.clockTolerance),
    requireExp: optional(tokenRules.requireExp),
  },
  'an object with issuer, audience, user',
)
