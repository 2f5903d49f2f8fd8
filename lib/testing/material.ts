import { createPrivateKey, createPublicKey, createSecretKey, type KeyObject } from 'node:crypto'
import { defined } from '../common/objects.js'
import { kit } from '../common/kit.js'
import { unverifiedPart } from '../tokens/unverified.js'
import { forge, headerLike, now } from './forge.js'
import { misuse } from './error.js'
import type { Key } from '../tokens/keys/key.js'
import type { JwtServiceLike, SigningMethod, TokenHeaderOptions } from '../../types/jwt.js'

/** What bad tokens are made from: a good token, and the keys that are known. */
export interface Material {
  readonly claims: Readonly<Record<string, unknown>>
  readonly method: SigningMethod
  /** The claim that names the user. */
  readonly claimName: string
  /** The purpose that the header of a good token names (`typ`), where it is not `JWT`. */
  readonly typ?: unknown
  /** The name of the key in the header of a good token (`kid`), where it has one: the key is of a ring. */
  readonly kid?: string | undefined
  /** A good token. */
  readonly token?: string | undefined
  /** The key that signed it: a secret or a private key. */
  readonly key?: KeyObject | undefined
  /** The public key that verifies it; none for HMAC. */
  readonly publicKey?: KeyObject | undefined
}

/** An app with tokens, or an inner scope in which the plugin is registered. */
export interface TokenApp {
  /** The service with the signing keys. An app without one is refused with an error that says so. */
  readonly jwtService?: JwtServiceLike | undefined
}

/** The content of a token. Times are relative to now. */
export interface TokenContent {
  readonly sub?: string | number | undefined
  readonly expiresIn?: number | undefined
  readonly notBefore?: number | undefined
  readonly algorithm?: SigningMethod | undefined
  readonly claims?: Readonly<Record<string, unknown>> | undefined
  readonly typ?: string | undefined
}

/**
 * A good token of an app with its keys; only the claims when the app has no signing key.
 *
 * @param caller - the name of the public function, for the error
 * @throws ERR_AUTH_TESTING, ERR_AUTH_CLAIMS
 */
export function materialOf(app: TokenApp, content: TokenContent, caller: string): Material {
  const service = serviceOf(app, caller)
  const { sub, expiresIn, notBefore, typ } = content
  const method = content.algorithm ?? methodOf(service)
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
      typ,
      ...keys,
    }
  }
  const token = service.generateTokenWithClaims(wanted, method, ...headerOf(typ))
  return { claims: { ...unverifiedPart(token, 1) }, method, claimName: 'sub', typ, token, ...keys }
}

/** A service of the app may know of no third argument: it gets none where nothing is asked for. */
function headerOf(typ: string | undefined): [] | [TokenHeaderOptions] {
  return typ === undefined ? [] : [{ typ }]
}

export function serviceOf({ jwtService }: TokenApp, caller: string): JwtServiceLike {
  return (
    jwtService ??
    misuse(
      `${caller}: the app has no jwtService. Await app.ready() first; it is there when fastify-authn is registered with "jwt" or "jwtService" (in an inner scope: give that scope in place of the app).`,
    )
  )
}

/** The keys of a service for a method. Those of a service that the app wrote itself are unknown. */
function heldBy(service: JwtServiceLike, method?: SigningMethod): readonly Key[] {
  return (kit.keysOf?.(service, method) ?? []) as readonly Key[]
}

/** The method of a service; of a ring without a key that signs, that of any of its keys. */
function methodOf(service: JwtServiceLike): SigningMethod {
  return service.signingMethod ?? heldBy(service)[0]?.alg ?? 'HS256'
}

/**
 * The key of a service for a method.
 *
 * @param kid - its name, where it is one of a ring; default: that of the key that signs
 */
export function keysOf(
  service: JwtServiceLike,
  method: SigningMethod,
  kid?: unknown,
): Pick<Material, 'key' | 'publicKey' | 'kid'> {
  const keys = heldBy(service, method)
  const held = keys.find((key) => kid !== undefined && key.kid === kid) ?? keys[0]
  if (held === undefined) return {}
  const { sign, verify } = held
  const named = { kid: held.kid }
  if (typeof verify !== 'string') return { ...named, key: createSecretKey(verify) }
  const publicKey = createPublicKey(verify)
  if (sign === undefined) return { ...named, publicKey }
  return { ...named, publicKey, key: createPrivateKey(sign) }
}

/** A good token with other claims, or with another header. */
export function resign(
  material: Material,
  change: Readonly<Record<string, unknown>>,
  head: object = headerLike(material),
): string {
  const { claims, method, key } = material
  return forge(head, { ...claims, ...change }, method, key as KeyObject)
}
