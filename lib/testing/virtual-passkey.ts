import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'
import { testingError } from './error.js'

interface CreationOptions {
  readonly challenge: string
  readonly rp: { readonly id?: string }
  readonly user: { readonly id: string }
  readonly pubKeyCredParams: readonly { readonly alg: number }[]
  readonly excludeCredentials?: readonly { readonly id: string }[]
}

interface RequestOptions {
  readonly challenge: string
  readonly rpId?: string
}

/** A response of an authenticator as JSON: the member `response` of a body. */
export interface PasskeyResponse {
  /** The credential ID. */
  readonly id: string
  /** The same. */
  readonly rawId: string
  /** The only type that there is. */
  readonly type: 'public-key'
  /** What the authenticator has signed, in base64url; at `create` also how it is reached. */
  readonly response: Readonly<Record<string, string | readonly string[]>>
}

/** A browser with an authenticator that has one passkey at most and verifies its user. */
export interface VirtualPasskey {
  /**
   * Makes a new passkey, in place of the one before.
   * @param publicKey - what `POST /passkeys/options` has sent
   * @throws ERR_AUTH_TESTING where a browser or an authenticator would fail
   */
  create(publicKey: object): PasskeyResponse
  /**
   * Signs a challenge with the passkey.
   * @param publicKey - what `POST /login/passkey/options` has sent
   * @throws ERR_AUTH_TESTING where a browser or an authenticator would fail
   */
  get(publicKey: object): PasskeyResponse
}

interface Credential {
  readonly id: string
  readonly userHandle: string
  readonly privateKey: KeyObject
}

/** ES256 (RFC 9053 §2.1) */
const es256 = -7

/** The user is present and verified, and the passkey is synchronized (WebAuthn §6.1). */
const flags = 0b0001_1101
const hasCredential = 0b0100_0000

const sha256 = (data: string | Uint8Array): Buffer => createHash('sha256').update(data).digest()
const encoded = (data: string | Uint8Array): string => Buffer.from(data).toString('base64url')

const joined = (...parts: (Uint8Array | readonly number[])[]): Buffer =>
  Buffer.concat(parts.map((part) => Buffer.from(part)))

/** A short text of CBOR (RFC 8949 §3.1). */
const text = (value: string): Buffer => joined([0x60 + value.length], Buffer.from(value))

/**
 * Makes a browser with a software authenticator, for tests of log-ins with passkeys. It has no attestation, and its counter
 * is always 0, as that of synchronized passkeys is.
 * @param at - `origin`: that of the page. `rpId`: the domain of the passkeys
 * @example
 * const passkey = virtualPasskey({ origin: 'https://shop.example', rpId: 'shop.example' })
 * const { token, publicKey } = (await post('/login/passkey/options')).json()
 * await post('/login/passkey', { token, response: passkey.get(publicKey) })
 */
export function virtualPasskey({ origin, rpId }: { origin: string; rpId: string }): VirtualPasskey {
  let made: Credential | null = null
  const clientData = (type: string, challenge: string): Buffer =>
    Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))
  const authenticatorData = (more: Buffer = Buffer.alloc(0)): Buffer => {
    const all = more.length > 0 ? flags | hasCredential : flags
    return joined(sha256(rpId), [all, 0, 0, 0, 0], more)
  }
  const responseOf = (id: string, data: Buffer, response: PasskeyResponse['response']) => {
    const all = { clientDataJSON: encoded(data), ...response }
    return { id, rawId: id, type: 'public-key', response: all } as const
  }
  return {
    create(publicKey) {
      const asked = publicKey as CreationOptions
      const { challenge, rp, user, pubKeyCredParams, excludeCredentials = [] } = asked
      requireDomain(rpId, rp.id)
      if (!pubKeyCredParams.some(({ alg }) => alg === es256)) fail('ES256 is not offered')
      if (excludeCredentials.some(({ id }) => id === made?.id)) fail('it is excluded')
      const id = randomBytes(16)
      const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      made = { id: encoded(id), userHandle: user.id, privateKey: pair.privateKey }
      const { x = '', y = '' } = pair.publicKey.export({ format: 'jwk' })
      const data = authenticatorData(joined(Buffer.alloc(16), [0, id.length], id, coseOf(x, y)))
      // { fmt: 'none', attStmt: {}, authData }
      const start = [[0xa3], text('fmt'), text('none'), text('attStmt'), [0xa0], text('authData')]
      const attestation = joined(...start, [0x59, data.length >> 8, data.length & 255], data)
      return responseOf(made.id, clientData('webauthn.create', challenge), {
        attestationObject: encoded(attestation),
        transports: ['internal'],
      })
    },
    get(publicKey) {
      const { challenge, rpId: asked } = publicKey as RequestOptions
      requireDomain(rpId, asked)
      if (made === null) return fail('it has no passkey: call create() first')
      const { id, userHandle, privateKey } = made
      const data = clientData('webauthn.get', challenge)
      const authData = authenticatorData()
      const signature = sign('sha256', joined(authData, sha256(data)), privateKey)
      return responseOf(id, data, {
        authenticatorData: encoded(authData),
        signature: encoded(signature),
        userHandle,
      })
    },
  }
}

/** The key as a map of CBOR: kty EC2, alg ES256, crv P-256, x, y (RFC 9053 §7.1.1). */
function coseOf(x: string, y: string): Buffer {
  const bytes = (data: string): Buffer => joined([0x58, 32], Buffer.from(data, 'base64url'))
  return joined([0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21], bytes(x), [0x22], bytes(y))
}

function requireDomain(rpId: string, asked: string | undefined): void {
  if (asked !== rpId) fail(`the options are for the domain ${JSON.stringify(asked)}`)
}

function fail(problem: string): never {
  return testingError(`virtualPasskey: ${problem}.`)
}
