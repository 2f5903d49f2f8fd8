import { signingMethods } from '../common/algorithms.js'
import { unverifiedPart } from '../tokens/unverified.js'
import { now } from './forge.js'
import { issuerMaterial } from './issuer.js'
import { keysOf, materialOf, type Material } from './material.js'
import type { AttackedApp, AttackOptions } from './attack-options.js'
import type { SigningMethod } from '../../types/jwt.js'

/** Headers with good credentials, by lower-case name; undefined when none are known. */
export function goodHeaders(
  { good, sub, claims }: AttackOptions,
  { token }: Material,
): Readonly<Record<string, string>> | undefined {
  if (typeof good === 'string') return { authorization: good }
  if (good !== undefined) {
    return Object.fromEntries(
      Object.entries(good).map(([name, value]) => [name.toLowerCase(), value]),
    )
  }
  const isSomebody = sub !== undefined || claims !== undefined
  return isSomebody && token !== undefined ? { authorization: `Bearer ${token}` } : undefined
}

/** The material for bad tokens: a token of the app's own service, or the token that was given. */
export function materialFor(app: AttackedApp, options: AttackOptions): Material {
  const { good, sub, claims, claimName = 'sub', algorithm, issuer, typ } = options
  const given = typeof good === 'string' ? good : good?.authorization
  const cookie = typeof good === 'string' ? undefined : good?.cookie
  const token =
    /^bearer +([\w-]+\.[\w-]+\.[\w-]*)$/i.exec(given ?? '')?.[1] ??
    /=(eyJ[\w-]*\.[\w-]+\.[\w-]*)(?:;|$)/.exec(cookie ?? '')?.[1]
  if (token !== undefined) return { ...materialOfToken(app, token, algorithm), claimName }
  if (issuer !== undefined) {
    const content = { sub: sub ?? 'alice', claims, algorithm }
    return issuerMaterial(app, issuer, content, 'authAttacks')
  }
  const { jwtService } = app
  const wanted = { [claimName]: sub ?? 'alice', ...claims }
  if (jwtService !== undefined) {
    return {
      ...materialOf({ jwtService }, { claims: wanted, algorithm, typ }, 'authAttacks'),
      claimName,
    }
  }
  return { claims: { ...wanted, exp: now() + 300 }, method: algorithm ?? 'HS256', claimName, typ }
}

function materialOfToken(
  { jwtService }: AttackedApp,
  token: string,
  algorithm: SigningMethod | undefined,
): Omit<Material, 'claimName'> {
  const [header, claims] = [unverifiedPart(token, 0), unverifiedPart(token, 1)]
  if (header === null || claims === null) {
    return { claims: { exp: now() + 300 }, method: algorithm ?? 'HS256' }
  }
  const { alg, typ, kid } = header
  const method = algorithm ?? signingMethods.find((each) => each === alg) ?? 'HS256'
  return { claims, method, typ, token, ...(jwtService && keysOf(jwtService, method, kid)) }
}
