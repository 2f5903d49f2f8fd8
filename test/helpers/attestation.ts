import { createPublicKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import {
  at,
  attestationOf,
  authData,
  base64url,
  cbor,
  sha256,
  up,
  uv,
  type Credential,
} from './authenticator.js'
import { rpId } from './passkeys.js'

/** Enough of DER (X.690) for certificates. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const head = length < 128 ? [tag, length] : [tag, 0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from(head), content])
}
const sequence = (...parts: readonly Uint8Array[]): Buffer => der(0x30, ...parts)
const number = (value: number, tag = 2): Buffer => der(tag, Buffer.from([value]))
const octets = (content: Uint8Array): Buffer => der(4, content)
const hex = (text: string): Buffer => Buffer.from(text, 'hex')

const ecdsaWithSha256 = sequence(hex('06082a8648ce3d040302'))
const nameOf = (text: string): Buffer =>
  sequence(der(0x31, sequence(hex('0603550403'), der(0x0c, Buffer.from(text)))))
const extension = (oid: string, value: Uint8Array): Buffer => sequence(hex(oid), octets(value))

function certificate(subject: string, key: KeyObject, signer: KeyObject, ...extensions: Buffer[]) {
  const times = ['200101000000Z', '491231000000Z'].map((time) => der(0x17, Buffer.from(time)))
  const content = sequence(
    der(0xa0, number(2)),
    number(1),
    ecdsaWithSha256,
    nameOf('root'),
    sequence(...times),
    nameOf(subject),
    createPublicKey(key).export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  )
  const signature = der(3, Buffer.from([0]), sign('sha256', content, signer))
  return sequence(content, ecdsaWithSha256, signature)
}

/**
 * A new passkey with an attestation of Android that is right but for its root, which a client has made. Its certificate
 * names an address for the list of revoked ones.
 */
export function androidAttestation(credential: Credential, challenge: string, address: string) {
  const plain = attestationOf(credential, challenge)
  const hash = sha256(Buffer.from(String(plain.response.clientDataJSON), 'base64url'))
  const root = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const levels = [number(3), number(0, 10), number(1), number(0, 10)]
  const lists = [sequence(), sequence()]
  const description = sequence(...levels, octets(hash), octets(hex('00')), ...lists)
  const name = der(0x86, Buffer.from(address))
  const leaf = certificate(
    'leaf',
    credential.key,
    root,
    extension('060a2b06010401d679020111', description),
    extension('0603551d1f', sequence(sequence(der(0xa0, der(0xa0, name))))),
  )
  const isRoot = extension('0603551d13', sequence(hex('0101ff')))
  const chain = [leaf, certificate('root', root, root, isRoot)]
  const object = Buffer.from(String(plain.response.attestationObject), 'base64url')
  const data = object.subarray(object.indexOf(authData(rpId, up | uv | at).subarray(0, 32)))
  const signature = sign('sha256', Buffer.concat([data, hash]), credential.key)
  const statement = new Map<string, never>([
    ['alg', -7 as never],
    ['sig', signature as never],
    ['x5c', chain as never],
  ])
  const members = [cbor('fmt'), cbor('android-key'), cbor('attStmt'), cbor(statement)]
  const all = [Buffer.from([0xa3]), ...members, cbor('authData'), cbor(data)]
  const response = { ...plain.response, attestationObject: base64url(Buffer.concat(all)) }
  return { ...plain, response }
}
