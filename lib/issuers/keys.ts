import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { ownOf } from '../common/objects.js'
import { createEngine, type VerifySignature } from '../tokens/engine.js'
import { issuerMethods } from '../options/issuer-schemas.js'
import { FetchError } from './fetch.js'
import { limits } from './limits.js'
import type { SigningMethod } from '../../types/jwt.js'

/** One key of an issuer. */
export interface IssuerKey {
  /** The verifiers of the methods that it accepts, each made when it is needed for the first time. */
  readonly verifiers: ReadonlyMap<SigningMethod, () => VerifySignature>
}

/** The usable keys of a set, by `kid`. */
export interface IssuerKeys {
  readonly keys: ReadonlyMap<string, IssuerKey>
  /** How many keys were left out. */
  readonly leftOut: number
  /** How many of these had a private member: anybody may have read it. */
  readonly compromised: number
}

/** What is known of a kind of keys (RFC 7518 §6, RFC 8037 §2). */
interface KeyKind {
  /** Members that have to be texts. */
  readonly members: readonly string[]
  readonly methods: readonly SigningMethod[]
  /** The one method of a key that names none. */
  readonly standard: SigningMethod
}

const elliptic = (standard: SigningMethod): KeyKind => ({
  members: ['x', 'y'],
  methods: [standard],
  standard,
})
const edwards: KeyKind = { members: ['x'], methods: ['EdDSA'], standard: 'EdDSA' }

/** Every supported kind, by `kty` and `crv`. There is no `oct`: whoever reads a secret here could sign with it. */
const kinds: ReadonlyMap<string, KeyKind> = new Map([
  [
    'RSA',
    {
      members: ['n', 'e'],
      methods: issuerMethods.filter((method) => /^[RP]S/.test(method)),
      standard: 'RS256',
    },
  ],
  ['EC P-256', elliptic('ES256')],
  ['EC P-384', elliptic('ES384')],
  ['EC P-521', elliptic('ES512')],
  ['OKP Ed25519', edwards],
  ['OKP Ed448', edwards],
])

/** Members of private and symmetric keys (RFC 7518 §6.2.2, §6.3.2 and §6.4). */
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

/**
 * Reads a key set (RFC 7517 §5). Keys that cannot be used are left out; so is every one of several with the same `kid`,
 * because nothing says which of them is meant.
 *
 * @param algorithms - the methods that are accepted; undefined: each key says so for itself
 * @throws FetchError when it is no key set, has too many keys, or none that can be used
 */
export function readKeySet(
  document: unknown,
  algorithms: readonly SigningMethod[] | undefined,
): IssuerKeys {
  const list = typeof document === 'object' && document !== null && ownOf(document, 'keys')
  if (!Array.isArray(list)) throw new FetchError('the document is no key set')
  if (list.length > limits.keys) throw new FetchError(`the set has more than ${limits.keys} keys`)
  const counts = countKids(list)
  const keys = new Map<string, IssuerKey>()
  for (const jwk of list as unknown[]) {
    const kid = kidOf(jwk)
    const key = kid !== null && counts.get(kid) === 1 ? readKey(jwk as object, algorithms) : null
    if (key !== null) keys.set(kid as string, key)
  }
  if (keys.size === 0) throw new FetchError('the set has no key that can be used')
  const compromised = list.filter((jwk) => isObject(jwk) && hasPrivateMember(jwk)).length
  return { keys, leftOut: list.length - keys.size, compromised }
}

/** Counted before any key is left out for another reason. */
function countKids(list: readonly unknown[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const jwk of list) {
    const kid = kidOf(jwk)
    if (kid !== null) counts.set(kid, (counts.get(kid) ?? 0) + 1)
  }
  return counts
}

function kidOf(jwk: unknown): string | null {
  const kid = isObject(jwk) ? ownOf(jwk, 'kid') : null
  return typeof kid === 'string' ? kid : null
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function hasPrivateMember(jwk: object): boolean {
  return ownOf(jwk, 'kty') !== 'oct' && privateMembers.some((member) => Object.hasOwn(jwk, member))
}

/** @returns null for a key that cannot be used */
function readKey(jwk: object, algorithms: readonly SigningMethod[] | undefined): IssuerKey | null {
  const kind = kindOf(jwk)
  if (kind === undefined || hasPrivateMember(jwk) || !isForSignatures(jwk)) return null
  const methods = methodsOf(jwk, kind, algorithms)
  const key = methods.length > 0 ? importKey(jwk, kind) : null
  if (key === null) return null
  const pem = key.export({ type: 'spki', format: 'pem' }) as string
  return { verifiers: new Map(methods.map((method) => [method, verifierOf(pem, method)])) }
}

function kindOf(jwk: object): KeyKind | undefined {
  const [kty, crv] = [ownOf(jwk, 'kty'), ownOf(jwk, 'crv')]
  if (typeof kty !== 'string') return undefined
  return kinds.get(typeof crv === 'string' ? `${kty} ${crv}` : kty)
}

/** RFC 7517 §4.2 and §4.3: what a key says of its use. */
function isForSignatures(jwk: object): boolean {
  const operations = ownOf(jwk, 'key_ops')
  const mayVerify =
    operations === undefined || (Array.isArray(operations) && operations.includes('verify'))
  return mayVerify && [undefined, 'sig'].includes(ownOf(jwk, 'use') as undefined)
}

/** The methods that a key accepts: the one that it names or that is usual for it, or of several that the app allows. */
function methodsOf(
  jwk: object,
  { methods, standard }: KeyKind,
  algorithms: readonly SigningMethod[] | undefined,
): readonly SigningMethod[] {
  const alg = ownOf(jwk, 'alg')
  if (alg !== undefined) {
    return methods.filter((method) => method === alg && algorithms?.includes(method) !== false)
  }
  return algorithms === undefined
    ? [standard]
    : methods.filter((method) => algorithms.includes(method))
}

/** Imports a key by the members of its kind alone: others, such as certificates, are not read. */
function importKey(jwk: object, { members }: KeyKind): KeyObject | null {
  // Without a prototype: nothing that somebody has put on `Object.prototype` is a member.
  const key = Object.create(null) as Record<string, unknown>
  for (const member of ['kty', 'crv', ...members]) {
    const value = ownOf(jwk, member)
    if (typeof value === 'string') key[member] = value
    else if (member !== 'crv') return null
  }
  try {
    const object = createPublicKey({ key: key as JsonWebKey, format: 'jwk' })
    const { modulusLength = 2048, publicExponent = 65_537n } = object.asymmetricKeyDetails ?? {}
    // Everybody can sign for a key with the exponent 1.
    return modulusLength < 2048 || publicExponent < 3n ? null : object
  } catch {
    return null
  }
}

function verifierOf(pem: string, method: SigningMethod): () => VerifySignature {
  let verify: VerifySignature | undefined
  return () => (verify ??= createEngine({ verify: pem }, method).verify)
}
