import { createPrivateKey, createPublicKey, createSecretKey, type KeyObject } from 'node:crypto'
import { signingMethods } from '../common/algorithms.js'
import { kit } from '../common/kit.js'
import { unverifiedPart } from '../tokens/claims.js'
import {
  askedClaimsOf,
  forge,
  headerLike,
  epochSeconds,
  type Material,
  type TokenContent,
} from './forge.js'
import { issuerMaterial } from './issuer.js'
import { testingError } from './error.js'
import type { AttackedApp, AttackOptions, Headers, TokenApp } from './attack-options.js'
import type { Key } from '../tokens/keys/key.js'
import type { JwtServiceLike, SigningMethod } from '../../types/jwt.js'

/** A good token of an app with its keys; only the claims if it has no signing key. @param caller - for the error */
export function materialOf(app: TokenApp, content: TokenContent, caller: string): Material {
  const service = serviceOf(app, caller)
  const { algorithm, typ } = content
  const method = algorithm ?? service.signingMethod ?? heldBy(service)[0]?.alg ?? 'HS256'
  const wanted = askedClaimsOf(content)
  const known = { method, claimName: 'sub', typ, ...keysOf(service, method) }
  if (!service.canSign(method)) {
    return { claims: { nbf: epochSeconds(), exp: epochSeconds() + 300, ...wanted }, ...known }
  }
  const token = service.generateTokenWithClaims(wanted, method, typ === undefined ? {} : { typ })
  return { claims: { ...unverifiedPart(token, 1) }, token, ...known }
}

/** Reading the service of an app without keys throws. */
function tokensOf(app: TokenApp): JwtServiceLike | undefined {
  try {
    return app.jwtService
  } catch {
    return undefined
  }
}

export function serviceOf(app: TokenApp, caller: string): JwtServiceLike {
  const service = tokensOf(app)
  if (service !== undefined) return service
  return testingError(
    `${caller}: the app has no jwtService. Await app.ready() first; it is there when fastify-authn is registered with "jwt" or "jwtService" (in an inner scope: pass that scope instead of the app).`,
  )
}

function heldBy(service: JwtServiceLike, method?: SigningMethod): readonly Key[] {
  return (kit.keysOf?.(service, method) ?? []) as readonly Key[]
}

/** @param kid - the name of the key; default: the one that signs */
function keysOf(
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
  return { ...named, publicKey, key: sign === undefined ? undefined : createPrivateKey(sign) }
}

/** A good token with other claims, or with more in its header. */
export function resign(material: Material, change: object = {}, header: object = {}): string {
  const { claims, method, key } = material
  return forge(headerLike(material, header), { ...claims, ...change }, method, key as KeyObject)
}

/** The good token that was given, or a token of the issuer or of the app. @param good - headers that were given */
export function attackMaterial(app: AttackedApp, options: AttackOptions, good: Headers): Material {
  const { sub = 'alice', claims, claimName = 'sub', algorithm, issuer, typ } = options
  const { authorization = '', cookie = '' } = good
  const service = tokensOf(app)
  const token =
    /^bearer +([\w-]+\.[\w-]+\.[\w-]*)$/i.exec(authorization)?.[1] ??
    /=(eyJ[\w-]*\.[\w-]+\.[\w-]*)(?:;|$)/.exec(cookie)?.[1]
  if (token !== undefined) {
    const [header, payload] = [unverifiedPart(token, 0), unverifiedPart(token, 1)]
    const method = algorithm ?? signingMethods.find((each) => each === header?.alg) ?? 'HS256'
    const keys = service && keysOf(service, method, header?.kid)
    const known = { claims: payload ?? { exp: epochSeconds() + 300 }, method, claimName, token }
    return { ...known, typ: header?.typ, ...keys }
  }
  if (issuer !== undefined) {
    return issuerMaterial(app, issuer, { sub, claims, algorithm }, 'authAttacks')
  }
  const wanted = { [claimName]: sub, ...claims }
  if (service === undefined) {
    const expiring = { ...wanted, exp: epochSeconds() + 300 }
    return { claims: expiring, method: algorithm ?? 'HS256', claimName, typ }
  }
  return { ...materialOf(app, { claims: wanted, algorithm, typ }, 'authAttacks'), claimName }
}
