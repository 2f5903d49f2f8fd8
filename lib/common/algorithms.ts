import { wrongOption } from '../errors/errors.js'
import type { SigningMethod } from '../../types/jwt.js'

/** The option of `jwt` that holds the key of an algorithm. */
export type KeyFamily = 'secret' | 'rsa' | 'ecdsa' | 'eddsa'

/** A signing algorithm (RFC 7518 §3.1, RFC 8037 §3.1). */
interface AlgorithmRow {
  readonly family: KeyFamily
  /** Least size of the key in bits: RFC 7518 §3.2 for HMAC, §3.3 and §3.5 for RSA. */
  readonly minimumBits?: number
  /** The curve of the key as node:crypto names it, RFC 7518 §3.4. */
  readonly curve?: string
}

/** Every supported algorithm; a new one is one line here. `none` is left out on purpose (RFC 8725 §3.2). */
const algorithms: Readonly<Record<SigningMethod, AlgorithmRow>> = Object.assign(
  Object.create(null),
  {
    HS256: { family: 'secret', minimumBits: 256 },
    HS384: { family: 'secret', minimumBits: 384 },
    HS512: { family: 'secret', minimumBits: 512 },
    RS256: { family: 'rsa', minimumBits: 2048 },
    RS384: { family: 'rsa', minimumBits: 2048 },
    RS512: { family: 'rsa', minimumBits: 2048 },
    PS256: { family: 'rsa', minimumBits: 2048 },
    PS384: { family: 'rsa', minimumBits: 2048 },
    PS512: { family: 'rsa', minimumBits: 2048 },
    ES256: { family: 'ecdsa', curve: 'prime256v1' },
    ES384: { family: 'ecdsa', curve: 'secp384r1' },
    ES512: { family: 'ecdsa', curve: 'secp521r1' },
    EdDSA: { family: 'eddsa' },
  } satisfies Record<SigningMethod, AlgorithmRow>,
)

export const signingMethods = Object.keys(algorithms) as readonly SigningMethod[]

export function algorithmOf(method: SigningMethod): AlgorithmRow {
  const row: AlgorithmRow | undefined = algorithms[method]
  // The value is not quoted: other packages take the secret as this argument.
  return row ?? wrongOption(`signing method: expected one of ${signingMethods.join(', ')}.`)
}
