import {
  createECDH,
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  type KeyObject,
} from 'node:crypto'
import { origin, rpId } from './passkeys.js'

/** A credential of an authenticator that signs whatever it is told to. */
export interface Credential {
  readonly id: Buffer
  readonly key: KeyObject
  /** Of COSE. */
  readonly alg: number
  readonly userHandle: string
}

/** What differs from a response that is accepted. */
export interface Changes {
  readonly rpId?: string
  readonly flags?: number
  readonly counter?: number
  /** Bytes behind the rest of the authenticator data, which begin with a key if `coseKey` is set. */
  readonly extensions?: Buffer
  readonly coseKey?: Buffer
  /** The format of an attestation, and its statement in CBOR. */
  readonly attestation?: readonly [format: string, statement: Buffer]
  /** Members of the client data. */
  readonly client?: Readonly<Record<string, unknown>>
  /** Members of `response`, or of the whole where they are there. */
  readonly whole?: Readonly<Record<string, unknown>>
  readonly response?: Readonly<Record<string, unknown>>
}

/** Flags: present, verified, can be synchronized, is synchronized, has a credential, has extensions. */
export const [up, uv, be, bs, at, ed] = [1, 4, 8, 16, 64, 128] as const

export const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest()
export const base64url = (data: string | Buffer): string => Buffer.from(data).toString('base64url')
export const handleOf = (sub: unknown): string => base64url(JSON.stringify(sub))

/** A new credential for ES256 of a user. */
export function credentialOf(sub: unknown): Credential {
  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  return { id: randomBytes(32), key, alg: -7, userHandle: handleOf(sub) }
}

/** The private key of ES256 with these bytes. */
export function es256Key(bytes: Buffer): KeyObject {
  const curve = createECDH('prime256v1')
  curve.setPrivateKey(bytes)
  const point = curve.getPublicKey()
  const [x, y, d] = [point.subarray(1, 33), point.subarray(33), bytes].map(base64url)
  return createPrivateKey({ key: { kty: 'EC', crv: 'P-256', x, y, d } as never, format: 'jwk' })
}

export function signed({ key, alg }: Pick<Credential, 'key' | 'alg'>, data: Buffer): Buffer {
  return sign(alg === -8 ? null : 'sha256', data, key)
}

export function clientData(type: string, challenge: string, more: object = {}): Buffer {
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false, ...more }))
}

export function authData(
  domain: string,
  flags: number,
  counter = 0,
  more: Buffer = Buffer.alloc(0),
) {
  const count = Buffer.alloc(4)
  count.writeUInt32BE(counter)
  return Buffer.concat([sha256(domain), Buffer.from([flags]), count, more])
}

function answer({ id }: Credential, { whole, response }: Changes, members: object) {
  const text = base64url(id)
  return {
    id: text,
    rawId: text,
    type: 'public-key',
    response: { ...members, ...response },
    ...whole,
  }
}

/** The response to a challenge of a log-in. */
export function assertionOf(credential: Credential, challenge: string, changes: Changes = {}) {
  const { rpId: domain = rpId, flags = up | uv, counter, client, extensions } = changes
  const data = clientData('webauthn.get', challenge, client)
  const all = extensions === undefined ? flags : flags | ed
  const authenticator = authData(domain, all, counter, extensions)
  return answer(credential, changes, {
    clientDataJSON: base64url(data),
    authenticatorData: base64url(authenticator),
    signature: base64url(signed(credential, Buffer.concat([authenticator, sha256(data)]))),
    userHandle: credential.userHandle,
  })
}

/** The response to a challenge of a new passkey, without an attestation. */
export function attestationOf(credential: Credential, challenge: string, changes: Changes = {}) {
  const { rpId: domain = rpId, flags = up | uv | at, counter, client, extensions } = changes
  const { attestation: [format, statement] = ['none', cbor(new Map<string, Cbor>())] as const } =
    changes
  const data = clientData('webauthn.create', challenge, client)
  const length = Buffer.alloc(2)
  length.writeUInt16BE(credential.id.length)
  const { coseKey = coseOf(credential) } = changes
  const attested = Buffer.concat([Buffer.alloc(16), length, credential.id, coseKey])
  const more = [flags & at ? attested : Buffer.alloc(0), extensions ?? Buffer.alloc(0)]
  const all = extensions === undefined ? flags : flags | ed
  const authenticator = authData(domain, all, counter, Buffer.concat(more))
  return answer(credential, changes, {
    clientDataJSON: base64url(data),
    attestationObject: base64url(
      Buffer.concat([
        Buffer.from([0xa3]),
        cbor('fmt'),
        cbor(format),
        cbor('attStmt'),
        statement,
        cbor('authData'),
        cbor(authenticator),
      ]),
    ),
    transports: ['usb', 'nfc'],
  })
}

export function coseOf({ key, alg }: Credential, more: [number, Cbor][] = []): Buffer {
  const { x = '', y = '' } = key.export({ format: 'jwk' })
  const [one, other] = [x, y].map((each) => Buffer.from(each, 'base64url')) as [Buffer, Buffer]
  return cbor(new Map<number, Cbor>([[1, 2], [3, alg], [-1, 1], [-2, one], [-3, other], ...more]))
}

export type Cbor = number | string | Buffer | Cbor[] | Map<string | number, Cbor>

/** Enough of RFC 8949 for these objects. */
export function cbor(value: Cbor): Buffer {
  const head = (major: number, size: number): Buffer => {
    const start = major << 5
    if (size < 24) return Buffer.from([start | size])
    return size < 256
      ? Buffer.from([start | 24, size])
      : Buffer.from([start | 25, size >> 8, size & 255])
  }
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value)
  if (typeof value === 'string')
    return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(cbor)])
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  const members = [...value].flatMap(([key, member]) => [cbor(key), cbor(member)])
  return Buffer.concat([head(5, value.size), ...members])
}
