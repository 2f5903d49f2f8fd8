import * as Type from '@sinclair/typebox/type'
import {
  expirySeconds,
  fieldName,
  longestExpiry,
  options,
  or,
  signingMethod,
  text,
  tokenRules,
  typ,
  verifyRules,
  whole,
} from './check.js'

const keyValue = text('PEM text, or the path of a PEM file', { secret: true })
const keyPair = options({
  private: keyValue,
  public: keyValue,
  passphrase: text('a non-empty string', { secret: true }),
})

export const verifyRulesSchema = options(verifyRules)

export const tokenHeaderSchema = options({ typ })

export const jwtSchema = options(
  {
    secret: Type.Union([Type.String(), Type.Uint8Array()], {
      description: 'a string or a Buffer',
      secret: true,
    }),
    expiry: Type.Integer({
      minimum: 1,
      maximum: longestExpiry,
      description: expirySeconds,
    }),
    validAfterField: fieldName,
    signingMethod,
    rsa: keyPair,
    ecdsa: keyPair,
    eddsa: keyPair,
    keys: Type.Union([Type.String({ minLength: 1 }), Type.Array(Type.Any())], {
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
