import * as Type from '@sinclair/typebox/type'
import { signingMethods } from '../common/algorithms.js'
import { anyFunction, audience, optional, strict, text, tokenRules } from './parts.js'

/** HMAC is never accepted: whoever can verify with a shared secret can sign with it too. */
export const issuerMethods = signingMethods.filter((method) => !method.startsWith('HS'))

const method = Type.Union(
  issuerMethods.map((each) => Type.Literal(each)),
  { description: `one of ${issuerMethods.join(', ')}`, shown: true },
)

const { clockTolerance, requireExp } = tokenRules

export const issuerSchema = Type.Object(
  {
    issuer: text({ description: 'the "iss" of its tokens, a non-empty string', shown: true }),
    audience,
    audienceClaim: optional(
      Type.Union([Type.Literal('aud'), Type.Literal('client_id')], {
        description: "'aud' or 'client_id'",
        shown: true,
      }),
    ),
    jwksUri: optional(text({ description: 'the address of a key set', shown: true })),
    algorithms: optional(
      Type.Array(method, { minItems: 1, description: 'an array of signing methods' }),
    ),
    profile: optional(Type.Literal('rfc9068', { description: "'rfc9068'", shown: true })),
    user: optional(anyFunction('a function (claims, request) that returns the user or null')),
    clockTolerance,
    requireExp,
  },
  { ...strict, description: 'an object with issuer, audience' },
)
