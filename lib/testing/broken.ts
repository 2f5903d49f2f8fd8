import { createSecretKey, type KeyObject } from 'node:crypto'
import { signingMethods } from '../common/algorithms.js'
import { encode, headerLike, keyOf, epochSeconds, type Material } from './forge.js'
import { resign } from './material.js'
import type { SigningMethod } from '../../types/jwt.js'

/** A bad value, with what is wrong with it. */
export type Bad = readonly [title: string, value: string]

/** The needs of broken tokens, as errors name them. */
export const needTexts = {
  key: 'the key that signs',
  publicKey: 'a public key',
  token: 'a good token',
}

interface BrokenRow {
  /** The material that is needed besides claims. Default: none. */
  readonly needs?: keyof typeof needTexts
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
  | 'otherAudience'
  | 'otherKey'
  | 'otherPurpose'
  | 'senderConstrained'
  | 'strangeSubject'
  | 'textualExp'
  | 'unknownCritical'
  | 'withoutExp'
  | 'withoutSignature'
  | 'withoutSubject'
  | 'wrongAlgorithm'

const signed = (make: BrokenRow['make']): BrokenRow => ({ needs: 'key', make })

/** The right key signs other claims. */
const claimed = (change: (material: Material) => object): BrokenRow =>
  signed((material) => resign(material, change(material)))

const unsigned = (material: Material, alg: string): string =>
  `${encode(headerLike(material, {}, alg))}.${encode(material.claims)}.`

/** Makes each broken token; `docs/guides/testing.md` says what is wrong with it. */
export const brokenTokens: Readonly<Record<BrokenToken, BrokenRow>> = {
  expired: claimed(() => ({ exp: epochSeconds() - 3600 })),
  notYetValid: claimed(() => ({ nbf: epochSeconds() + 3600, exp: epochSeconds() + 7200 })),
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
      const key = createSecretKey(Buffer.from(pem))
      return resign({ ...material, method: 'HS256', key })
    },
  },
  wrongAlgorithm: signed((good) => resign({ ...good, method: siblingOf(good.method) })),
  otherKey: {
    make: (material) => resign({ ...material, key: keyOf('attacker', material.method).privateKey }),
  },
  // Cognito names the audience in `client_id`.
  otherAudience: claimed(({ claims }) => {
    const other = 'https://fastify-authn-test.invalid'
    return { aud: other, ...(Object.hasOwn(claims, 'client_id') && { client_id: other }) }
  }),
  senderConstrained: claimed(() => ({ cnf: { jkt: encode('fastify-authn-test') } })),
  embeddedKey: {
    make: (material) => {
      const { privateKey: key, publicKey } = keyOf('attacker', material.method)
      return resign({ ...material, key }, {}, { jwk: publicKey.export({ format: 'jwk' }) })
    },
  },
  otherPurpose: signed((good) => resign(good, {}, { typ: 'fastify-authn-test+jwt' })),
  withoutExp: claimed(() => ({ exp: undefined })),
  textualExp: claimed(() => ({ exp: String(epochSeconds() + 3600) })),
  withoutSubject: claimed(({ claimName }) => ({ [claimName]: undefined })),
  strangeSubject: claimed(({ claimName }) => ({ [claimName]: { $ne: null } })),
  unknownCritical: signed((good) => resign(good, {}, { crit: ['urn:unknown'], 'urn:unknown': 1 })),
  malformed: { make: () => 'not.a-token' },
}

/** Another method for the same kind of key; where there is none, a method of another kind. */
function siblingOf(method: SigningMethod): SigningMethod {
  if (method === 'EdDSA') return 'ES256'
  const siblings = signingMethods.filter((other) => other.startsWith(method.slice(0, 2)))
  return siblings[(siblings.indexOf(method) + 1) % siblings.length] as SigningMethod
}

/**
 * The broken tokens that can be made.
 * @param leftOut - the names of all others are added to it
 * @param isAnyAudience - whether the app does not look at `aud`
 */
export function badTokens(material: Material, leftOut: string[], isAnyAudience: boolean): Bad[] {
  return Object.entries(brokenTokens).flatMap(([name, { needs, make }]): Bad[] => {
    if (name === 'otherAudience' && isAnyAudience) {
      leftOut.push(`${name} ("audience" is false)`)
      return []
    }
    if (needs === undefined || material[needs] !== undefined) return [[name, make(material)]]
    leftOut.push(`${name} (${needTexts[needs]} is not known)`)
    return []
  })
}
