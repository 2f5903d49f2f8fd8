import type { KeyObject } from 'node:crypto'
import { signingMethods } from '../common/algorithms.js'
import { encode, forge, headerLike, hmacToken, now, strangerKey } from './forge.js'
import { resign, type Material } from './material.js'
import type { SigningMethod } from '../../types/jwt.js'

/** What has to be known to make a broken token. */
export type Need = 'token' | 'key' | 'publicKey'

interface BrokenRow {
  /** What is wrong with the token. */
  readonly what: string
  /** Default: the claims are enough. */
  readonly needs?: Need
  readonly make: (material: Material) => string
}

/** Names of tokens that must be refused. Each has exactly one fault. */
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

/** A `typ` that no app asks for. */
const otherPurpose = 'fastify-authn-test+jwt'

/** How to make each broken token. */
export const brokenTokens: Readonly<Record<BrokenToken, BrokenRow>> = Object.assign(
  Object.create(null),
  {
    expired: {
      what: '`exp` was an hour ago',
      needs: 'key',
      make: (material) => resign(material, { exp: now() - 3600 }),
    },
    notYetValid: {
      what: '`nbf` is in an hour',
      needs: 'key',
      make: (material) => resign(material, { nbf: now() + 3600, exp: now() + 7200 }),
    },
    badSignature: {
      what: 'one bit of the signature is flipped',
      needs: 'token',
      make: ({ token = '' }) => {
        const [stem, signature] = cut(token)
        const bytes = Buffer.from(signature, 'base64url')
        bytes.writeUInt8(bytes.readUInt8(0) ^ 1)
        return `${stem}.${bytes.toString('base64url')}`
      },
    },
    withoutSignature: {
      what: 'the signature is empty, the header still names the algorithm',
      make: (material) => `${encode(headerLike(material))}.${encode(material.claims)}.`,
    },
    none: {
      what: 'the algorithm is `none`, and there is no signature',
      make: (material) => `${encode(headerLike(material, {}, 'none'))}.${encode(material.claims)}.`,
    },
    confused: {
      what: 'HMAC, keyed with the PEM text of the public key that all may know',
      needs: 'publicKey',
      make: (material) => {
        const head = headerLike(material, {}, 'HS256')
        return hmacToken(head, material.claims, pemOf(material.publicKey as KeyObject))
      },
    },
    wrongAlgorithm: {
      what: 'signed with the right key by another algorithm than the one that is accepted',
      needs: 'key',
      make: (material) => {
        const other = siblingOf(material.method)
        const head = headerLike(material, {}, other)
        return forge(head, material.claims, other, material.key as KeyObject)
      },
    },
    otherKey: {
      what: 'signed with another key of the same kind',
      make: (material) => {
        const { claims, method } = material
        return forge(headerLike(material), claims, method, strangerKey(method).privateKey)
      },
    },
    otherPurpose: {
      what: 'it is for something else: the header has another `typ`',
      needs: 'key',
      make: (material) => resign(material, {}, headerLike(material, { typ: otherPurpose })),
    },
    embeddedKey: {
      what: 'signed with another key, which the header brings along (`jwk`)',
      make: (material) => {
        const { claims, method } = material
        const { privateKey, publicKey } = strangerKey(method)
        const jwk = publicKey.export({ format: 'jwk' })
        return forge(headerLike(material, { jwk }), claims, method, privateKey)
      },
    },
    withoutExp: {
      what: 'there is no `exp`',
      needs: 'key',
      make: (material) => resign(material, { exp: undefined }),
    },
    textualExp: {
      what: '`exp` is a text',
      needs: 'key',
      make: (material) => resign(material, { exp: String(now() + 3600) }),
    },
    withoutSubject: {
      what: 'the claim that names the user is missing',
      needs: 'key',
      make: (material) => resign(material, { [material.claimName]: undefined }),
    },
    strangeSubject: {
      what: 'the claim that names the user is an object, as a query language has it',
      needs: 'key',
      make: (material) => resign(material, { [material.claimName]: { $ne: null } }),
    },
    unknownCritical: {
      what: 'the header demands an extension that nobody knows (`crit`)',
      needs: 'key',
      make: (material) =>
        resign(material, {}, headerLike(material, { crit: ['urn:unknown'], 'urn:unknown': 1 })),
    },
    malformed: { what: 'a text that is no token', make: () => 'not.a-token' },
  } satisfies Record<BrokenToken, BrokenRow>,
)

function cut(token: string): [stem: string, signature: string] {
  const at = token.lastIndexOf('.')
  return [token.slice(0, at), token.slice(at + 1)]
}

export function pemOf(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }) as string
}

/** Another method for the same kind of key; where there is none, a method of another kind. */
export function siblingOf(method: SigningMethod): SigningMethod {
  if (method === 'EdDSA') return 'ES256'
  const family = method.slice(0, 2)
  const siblings = signingMethods.filter((other) => other.startsWith(family))
  return siblings[(siblings.indexOf(method) + 1) % siblings.length] as SigningMethod
}
