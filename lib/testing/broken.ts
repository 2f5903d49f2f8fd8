import { createSecretKey, type KeyObject } from 'node:crypto'
import { signingMethods } from '../common/algorithms.js'
import { encode, forge, headerLike, keyOf, now } from './forge.js'
import { resign, type Material } from './material.js'
import type { SigningMethod } from '../../types/jwt.js'

/** A bad value, with what is wrong with it. */
export type Bad = readonly [title: string, value: string]

/** What has to be known to make a broken token. */
type Need = 'token' | 'key' | 'publicKey'

interface BrokenRow {
  /** Default: nothing but claims. */
  readonly needs?: Need
  readonly make: (material: Material) => string
}

/** Names of tokens that must be rejected. Each has exactly one flaw. */
export type BrokenToken =
  | 'badSignature'
  | 'confused'
  | 'embeddedKey'
  | 'expired'
  | 'malformed'
  | 'none'
  | 'notYetValid'
  | 'otherKey'
  | 'otherPurpose'
  | 'strangeSubject'
  | 'textualExp'
  | 'unknownCritical'
  | 'withoutExp'
  | 'withoutSignature'
  | 'withoutSubject'
  | 'wrongAlgorithm'

/** The right key signs other claims, or another header. */
function signed(change: (material: Material) => { claims?: object; header?: object }): BrokenRow {
  return {
    needs: 'key',
    make: (material) => {
      const { claims = {}, header = {} } = change(material)
      return resign(material, claims, headerLike(material, header))
    },
  }
}

/** The same with other claims only. */
const claimed = (claims: (material: Material) => object): BrokenRow =>
  signed((material) => ({ claims: claims(material) }))

function ofAttacker(material: Material, brings: 'jwk' | 'nothing'): string {
  const { claims, method } = material
  const { privateKey, publicKey } = keyOf('attacker', method)
  const header = brings === 'jwk' ? { jwk: publicKey.export({ format: 'jwk' }) } : {}
  return forge(headerLike(material, header), claims, method, privateKey)
}

function unsigned(material: Material, alg: string): string {
  return `${encode(headerLike(material, {}, alg))}.${encode(material.claims)}.`
}

function signedBy(material: Material, method: SigningMethod, key: KeyObject): string {
  return forge(headerLike(material, {}, method), material.claims, method, key)
}

/** How to make each broken token; `docs/guides/testing.md` says what is wrong with it. */
export const brokenTokens: Readonly<Record<BrokenToken, BrokenRow>> = Object.assign(
  Object.create(null),
  {
    expired: claimed(() => ({ exp: now() - 3600 })),
    notYetValid: claimed(() => ({ nbf: now() + 3600, exp: now() + 7200 })),
    badSignature: {
      needs: 'token',
      make: ({ token = '' }) => {
        const at = token.lastIndexOf('.') + 1
        const bytes = Buffer.from(token.slice(at), 'base64url')
        bytes[0] = (bytes[0] ?? 0) ^ 1
        return token.slice(0, at) + bytes.toString('base64url')
      },
    },
    withoutSignature: { make: (material) => unsigned(material, material.method) },
    none: { make: (material) => unsigned(material, 'none') },
    confused: {
      needs: 'publicKey',
      make: (material) => {
        const pem = (material.publicKey as KeyObject).export({ type: 'spki', format: 'pem' })
        return signedBy(material, 'HS256', createSecretKey(Buffer.from(pem)))
      },
    },
    wrongAlgorithm: {
      needs: 'key',
      make: (material) => signedBy(material, siblingOf(material.method), material.key as KeyObject),
    },
    otherKey: { make: (material) => ofAttacker(material, 'nothing') },
    embeddedKey: { make: (material) => ofAttacker(material, 'jwk') },
    otherPurpose: signed(() => ({ header: { typ: 'fastify-authn-test+jwt' } })),
    withoutExp: claimed(() => ({ exp: undefined })),
    textualExp: claimed(() => ({ exp: String(now() + 3600) })),
    withoutSubject: claimed(({ claimName }) => ({ [claimName]: undefined })),
    strangeSubject: claimed(({ claimName }) => ({ [claimName]: { $ne: null } })),
    unknownCritical: signed(() => ({ header: { crit: ['urn:unknown'], 'urn:unknown': 1 } })),
    malformed: { make: () => 'not.a-token' },
  } satisfies Record<BrokenToken, BrokenRow>,
)

/** Another method for the same kind of key; where there is none, a method of another kind. */
function siblingOf(method: SigningMethod): SigningMethod {
  if (method === 'EdDSA') return 'ES256'
  const siblings = signingMethods.filter((other) => other.startsWith(method.slice(0, 2)))
  return siblings[(siblings.indexOf(method) + 1) % siblings.length] as SigningMethod
}

const lacks: Readonly<Record<Need, string>> = {
  key: 'the key that signs is not known',
  publicKey: 'there is no public key',
  token: 'no good token is known',
}

/** The broken tokens that can be made. */
export function badTokens(material: Material): { tokens: Bad[]; leftOut: string[] } {
  const tokens: Bad[] = []
  const leftOut: string[] = []
  for (const [name, { needs, make }] of Object.entries(brokenTokens)) {
    if (needs === undefined || material[needs] !== undefined) tokens.push([name, make(material)])
    else leftOut.push(`${name} (${lacks[needs]})`)
  }
  return { tokens, leftOut }
}
