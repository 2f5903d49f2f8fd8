import * as Type from '@sinclair/typebox/type'
import {
  fieldName,
  strict,
  text,
  optional,
  whole,
  signingMethod,
  tokenRules,
  typ,
  verifyRules,
} from './parts.js'

const keyValue = text({ description: 'PEM text, or the path of a PEM file', secret: true })
const keyPair = optional(
  Type.Object(
    {
      private: optional(keyValue),
      public: optional(keyValue),
      passphrase: optional(text({ description: 'a non-empty string', secret: true })),
    },
    { ...strict, description: 'an object with private, public, passphrase' },
  ),
)

export const verifyRulesSchema = Type.Object(verifyRules, {
  ...strict,
  description: 'an object with clockTolerance, requireExp, issuer, audience, typ',
})

export const tokenHeaderSchema = Type.Object(
  { typ: optional(typ) },
  { ...strict, description: 'an object with typ' },
)

export const jwtSchema = Type.Object(
  {
    secret: optional(
      Type.Union([Type.String(), Type.Uint8Array()], {
        description: 'a string or a Buffer',
        secret: true,
      }),
    ),
    expiry: optional(
      Type.Integer({
        minimum: 1,
        maximum: 2 ** 31 - 1,
        description: 'whole seconds, 1 or more',
      }),
    ),
    validAfterField: optional(fieldName),
    signingMethod: optional(signingMethod),
    rsa: keyPair,
    ecdsa: keyPair,
    eddsa: keyPair,
    keys: optional(
      Type.Union([Type.String({ minLength: 1 }), Type.Array(Type.Any())], {
        description: 'the path of a ring file, or an array of keys',
      }),
    ),
    reloadEvery: optional(
      Type.Number({ minimum: 0, maximum: 86_400, description: 'seconds, 0 (never) to 86400' }),
    ),
    publish: optional(
      Type.Union([Type.Boolean(), Type.String({ pattern: "^(?:/[\\w.~!$&'+,;=@-]+)+$" })], {
        description: "true, false, or a path such as '/.well-known/jwks.json', without parameters",
        shown: true,
      }),
    ),
    rememberTokens: optional(
      Type.Union(
        [
          Type.Literal(false),
          Type.Object(
            { max: whole(1, 1_000_000), maxBytes: whole(1, 2 ** 30) },
            { ...strict, description: 'false, or an object with max, maxBytes' },
          ),
        ],
        { description: 'false, or an object with max, maxBytes' },
      ),
    ),
    ...tokenRules,
  },
  { ...strict, description: 'an object with secret, rsa, ecdsa, eddsa or keys' },
)
