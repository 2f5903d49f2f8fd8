import * as Type from '@sinclair/typebox/type'
import { signingMethods } from '../common/algorithms.js'
import {
  expirySeconds,
  fieldName,
  flag,
  longestExpiry,
  nonEmpty,
  oneOf,
  oneOrMore,
  options,
  or,
  text,
  whole,
} from './check.js'

export const signingMethod = oneOf(signingMethods)

/** One audience or several (RFC 7519 §4.1.3). */
export const audience = oneOrMore(nonEmpty, 'a non-empty string, or an array of them')

/** The largest `clockTolerance` that an authenticator can have, in seconds. */
export const longestTolerance = 300

export const tokenRules = {
  clockTolerance: Type.Number({
    minimum: 0,
    maximum: longestTolerance,
    description: `seconds, 0 to ${longestTolerance}`,
  }),
  requireExp: flag,
  issuer: text('a non-empty string'),
  audience: or(false, audience),
}

/** A media type (RFC 7515 §4.1.9), also with parameters: printable ASCII that neither begins nor ends with a space. */
const typ = text("a media type, such as 'reset+jwt'", {
  pattern: '^(?!application/$)[!-~](?:[ -~]*[!-~])?$',
  quoted: true,
})

export const verifyRules = {
  ...tokenRules,
  typ: oneOrMore(typ, "a media type, such as 'reset+jwt', or an array of them"),
}

export const keyValue = text('PEM text, or the path of a PEM file', { secret: true })

export const passphrase = text('a non-empty string', { secret: true })

/** The least length of a secret depends on the algorithm, so it is checked with the keys. */
export const secretSchema = Type.Union([Type.String(), Type.Uint8Array()], {
  description: 'a string or a Buffer',
  secret: true,
})

const fewSecrets = 'a secret of at least 32 bytes, or an array of 1 to 5 of them'

/** Their lengths are checked where keys are derived from them. */
export const secretsSchema = Type.Union(
  [secretSchema, Type.Array(secretSchema, { minItems: 1, maxItems: 5, description: fewSecrets })],
  { description: fewSecrets, secret: true, whole: true },
)

const keyPair = options({ private: keyValue, public: keyValue, passphrase })

export const verifyRulesSchema = options(verifyRules)

export const tokenHeaderSchema = options({ typ })

export const jwtSchema = options(
  {
    secret: secretSchema,
    expiry: Type.Integer({ minimum: 1, maximum: longestExpiry, description: expirySeconds }),
    validAfterField: fieldName,
    signingMethod,
    rsa: keyPair,
    ecdsa: keyPair,
    eddsa: keyPair,
    keys: Type.Union([nonEmpty, Type.Array(Type.Any())], {
      description: 'the path of a key set file, or an array of keys',
    }),
    reloadEvery: Type.Number({
      minimum: 0,
      maximum: 86_400,
      description: 'seconds, 0 (never) to 86400',
    }),
    publish: Type.Union([Type.Boolean(), Type.String({ pattern: "^(?:/[\\w.~!$&'+,;=@-]+)+$" })], {
      description: "true, false, or a path such as '/.well-known/jwks.json', without parameters",
      quoted: true,
    }),
    tokenCache: or(false, options({ max: whole(1, 1_000_000), maxBytes: whole(1, 2 ** 30) })),
    ...tokenRules,
  },
  'an object with secret, rsa, ecdsa, eddsa or keys',
)
