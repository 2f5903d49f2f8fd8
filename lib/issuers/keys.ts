import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { createEngine, type VerifySignature } from '../tokens/engine.js'
import { issuerMethods, type ResolvedIssuer } from './options.js'
import { metadataAddress, secureAddress } from '../http/address.js'
import { fetchJson, FetchError, fetchMetadata } from '../http/fetch.js'
import type { SigningMethod } from '../../types/jwt.js'

/** None of them is an option: other values would trust withdrawn keys for too long, or fetch too often. */
export const limits = {
  /** Milliseconds for a whole fetch: discovery, its fall-back and the key set, with their bodies. */
  fetchTime: 5_000,
  /** Keys in a set. */
  keys: 100,
  /** Milliseconds from which a set is renewed in the background. */
  renew: 8 * 60_000,
  /** Milliseconds for which a set is fresh. */
  fresh: 10 * 60_000,
  /** Milliseconds for which a set is used after that, while fetches fail. */
  stale: 60 * 60_000,
  /**
   * Milliseconds after a failure in which a stale set is used: the longest pause and the next fetch, so that requests of
   * a busy app do not wait for it. After idle time, a failure says nothing about now.
   */
  failing: 35_000,
  /** Milliseconds from one attempt to the next that an unknown `kid` may cause. */
  unknownKid: 30_000,
} as const

export interface IssuerKeys {
  /** The verifiers of each key by the methods that it accepts. The keys are found by `kid`. */
  readonly keys: ReadonlyMap<string, ReadonlyMap<SigningMethod, VerifySignature>>
  readonly leftOut: number
  /** Counts the keys with a private member, which must not be used. */
  readonly compromised: number
}

/** The methods of each type and curve of keys, first the default without an `alg`. There are no secrets (`oct`). */
const methodsByKind: ReadonlyMap<string, readonly SigningMethod[]> = new Map([
  ['rsa', issuerMethods.filter((method) => /^[RP]S/.test(method))],
  ['ec prime256v1', ['ES256']],
  ['ec secp384r1', ['ES384']],
  ['ec secp521r1', ['ES512']],
  ['ed25519', ['EdDSA']],
  ['ed448', ['EdDSA']],
])

/** Members of private and symmetric keys (RFC 7518 §6.2.2, §6.3.2 and §6.4). */
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

export async function fetchKeySet(
  { issuer, jwksUri }: Pick<ResolvedIssuer, 'issuer' | 'jwksUri'>,
  signal: AbortSignal,
): Promise<unknown> {
  const url = jwksUri === undefined ? await discover(issuer, signal) : secureAddress(jwksUri)
  if (url === null) throw new FetchError('jwks_uri is not an https address')
  return await fetchJson(url, signal)
}

async function discover(issuer: string, signal: AbortSignal): Promise<URL | null> {
  const { jwks_uri: address } = await fetchMetadata(issuer, signal)
  if (typeof address !== 'string') throw new FetchError('the metadata names no jwks_uri')
  return metadataAddress(issuer, address)
}

/**
 * Reads a key set (RFC 7517 §5). Keys that cannot be used are left out; so is every one of several with the same `kid`,
 * because a token could mean any of them. @throws FetchError for no key set, too many keys, or none that can be used
 */
export function readJwks(
  document: unknown,
  algorithms: readonly SigningMethod[] | undefined,
): IssuerKeys {
  const list = (document as { keys?: unknown } | null)?.keys
  if (!Array.isArray(list)) throw new FetchError('the document is not a key set')
  if (list.length > limits.keys) throw new FetchError(`the set has more than ${limits.keys} keys`)
  const jwks = (list as unknown[]).filter(isObject)
  const kids = jwks.map(({ kid }) => kid)
  const keys = new Map<string, ReadonlyMap<SigningMethod, VerifySignature>>()
  for (const jwk of jwks) {
    const { kid } = jwk
    if (typeof kid !== 'string' || kids.indexOf(kid) !== kids.lastIndexOf(kid)) continue
    const verifiers = verifiersOf(jwk, algorithms)
    if (verifiers.size > 0) keys.set(kid, verifiers)
  }
  if (keys.size === 0) throw new FetchError('the set has no usable key')
  const compromised = jwks.filter((jwk) => jwk.kty !== 'oct' && hasPrivateMember(jwk)).length
  return { keys, leftOut: list.length - keys.size, compromised }
}

function isObject(value: unknown): value is JsonWebKey {
  return typeof value === 'object' && value !== null
}

function hasPrivateMember(jwk: JsonWebKey): boolean {
  return privateMembers.some((member) => Object.hasOwn(jwk, member))
}

function verifiersOf(
  jwk: JsonWebKey,
  algorithms: readonly SigningMethod[] | undefined,
): ReadonlyMap<SigningMethod, VerifySignature> {
  const key = hasPrivateMember(jwk) || !isForSignatures(jwk) ? null : importKey(jwk)
  const methods = key === null ? [] : methodsOf(jwk, key, algorithms)
  return new Map(methods.map((method) => [method, verifierOf(key as KeyObject, method)]))
}

/** RFC 7517 §4.2 and §4.3. */
function isForSignatures({ use, key_ops: operations }: JsonWebKey): boolean {
  const mayVerify =
    operations === undefined || (Array.isArray(operations) && operations.includes('verify'))
  return mayVerify && (use === undefined || use === 'sig')
}

function importKey(jwk: JsonWebKey): KeyObject | null {
  try {
    const key = createPublicKey({ key: jwk, format: 'jwk' })
    const { modulusLength = 2048, publicExponent = 65_537n } = key.asymmetricKeyDetails ?? {}
    // Signatures of a key with the exponent 1 can be forged.
    return modulusLength < 2048 || publicExponent < 3n ? null : key
  } catch {
    return null
  }
}

/** The methods of a key: its `alg`, or else those that the app allows, or else the default for its type. */
function methodsOf(
  { alg }: JsonWebKey,
  { asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject,
  algorithms: readonly SigningMethod[] | undefined,
): readonly SigningMethod[] {
  const all = methodsByKind.get([type, details?.namedCurve].join(' ').trim()) ?? []
  if (alg === undefined && algorithms === undefined) return all.slice(0, 1)
  const isAccepted = (method: SigningMethod): boolean => algorithms?.includes(method) !== false
  return all.filter((method) => isAccepted(method) && (alg === undefined || alg === method))
}

/** Makes the engine at the first token: it takes half a millisecond, and most keys of a set sign nothing. */
function verifierOf(key: KeyObject, method: SigningMethod): VerifySignature {
  const pem = () => key.export({ type: 'spki', format: 'pem' }) as string
  let verify: VerifySignature | undefined
  return (token) => (verify ??= createEngine({ verify: pem() }, method).verify)(token)
}
