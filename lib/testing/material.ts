import { createPrivateKey, createPublicKey, createSecretKey, type KeyObject } from 'node:crypto'
import { defined } from '../objects.js'
import { kKeyOf } from '../symbols.js'
import { claimsOf, forge, header, now } from './forge.js'
import { misuse } from './error.js'
import type { LoadedKey } from '../jwt/keys.js'
import type { JwtServiceLike, SigningMethod } from '../../types/jwt.js'

/** What bad tokens are made of: a good one, and what is known of how it was signed. */
export interface Material {
  readonly claims: Readonly<Record<string, unknown>>
  readonly method: SigningMethod
  /** The claim that names the user. */
  readonly claimName: string
  /** A good token. */
  readonly token?: string | undefined
  /** What signed it: a secret, or a private key. */
  readonly key?: KeyObject | undefined
  /** What verifies it, where that is no secret. */
  readonly publicKey?: KeyObject | undefined
}

/** Whatever has tokens: an app, or an inner scope that the plugin is registered in. */
export interface TokenApp {
  /** Has the keys that sign. */
  readonly jwtService: JwtServiceLike
}

/** What a token says; times are relative to now. */
export interface TokenContent {
  readonly sub?: string | number | undefined
  readonly expiresIn?: number | undefined
  readonly notBefore?: number | undefined
  readonly algorithm?: SigningMethod | undefined
  readonly claims?: Readonly<Record<string, unknown>> | undefined
}

/**
 * A good token of an app, and its keys. Where the app has none that signs, only claims.
 *
 * @param caller - for the error
 * @throws ERR_AUTH_TESTING, ERR_AUTH_CLAIMS
 */
export function materialOf(app: TokenApp, content: TokenContent, caller: string): Material {
  const service = serviceOf(app, caller)
  const { sub, expiresIn, notBefore, algorithm: method = service.signingMethod } = content
  const wanted = defined({
    ...content.claims,
    sub: sub ?? content.claims?.sub,
    exp: expiresIn === undefined ? content.claims?.exp : now() + expiresIn,
    nbf: notBefore === undefined ? content.claims?.nbf : now() + notBefore,
  }) as Record<string, unknown>
  const keys = keysOf(service, method)
  if (!service.canSign(method)) {
    return {
      claims: { nbf: now(), exp: now() + 300, ...wanted },
      method,
      claimName: 'sub',
      ...keys,
    }
  }
  const token = service.generateTokenWithClaims(wanted, method)
  return { claims: claimsOf(token), method, claimName: 'sub', token, ...keys }
}

function serviceOf({ jwtService }: Partial<TokenApp>, caller: string): JwtServiceLike {
  return (
    jwtService ??
    misuse(
      `${caller}: the app has no jwtService. Await app.ready() first; it is there when fastify-authn is registered with "jwt" or "jwtService" (in an inner scope: give that scope in place of the app).`,
    )
  )
}

/** The keys of a service; of one that the app wrote itself they are not known. */
export function keysOf(
  service: JwtServiceLike,
  method: SigningMethod,
): Pick<Material, 'key' | 'publicKey'> {
  const { [kKeyOf]: keyOf } = service as { [kKeyOf]?: (method: string) => LoadedKey | undefined }
  const loaded = keyOf?.call(service, method)
  if (loaded === undefined) return {}
  const { sign, verify } = loaded
  if (typeof verify !== 'string') return { key: createSecretKey(verify) }
  const publicKey = createPublicKey(verify)
  return sign === undefined ? { publicKey } : { publicKey, key: createPrivateKey(sign) }
}

/** A good token with other claims, or with another header. */
export function resign(
  { claims, method, key }: Material,
  change: Readonly<Record<string, unknown>>,
  head: object = header(method),
): string {
  return forge(head, { ...claims, ...change }, method, key as KeyObject)
}
