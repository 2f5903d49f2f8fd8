// The keys, attestation objects and flags of the test vectors of WebAuthn Level 3 (§16), signed anew for our challenges.
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { answerOf } from '../helpers/accounts.js'
import {
  assertionOf,
  base64url,
  be,
  bs,
  clientData,
  es256Key,
  handleOf,
  sha256,
  signed,
  up,
  uv,
  type Credential,
} from '../helpers/authenticator.js'
import { passkeysApp, type PasskeysApp } from '../helpers/passkeys.js'
import { root } from '../helpers/project.js'

interface Vector {
  readonly credentialId: string
  readonly attestationObject: string
  readonly privateKey?: string
  /** The primes of an RSA key. */
  readonly p?: string
  readonly q?: string
  readonly attestationKey?: string
}

const vectors = JSON.parse(readFileSync(`${root}test/passkeys/vectors.json`, 'utf8')) as Record<
  string,
  Vector
>
const rpId = 'example.org'
const origin = `https://${rpId}`
const bytes = (hex = ''): Buffer => Buffer.from(hex, 'hex')

/** An RSA key of two primes, with e = 65537. */
function rsaKey(p: bigint, q: bigint): KeyObject {
  const e = 65_537n
  const inverse = (value: bigint, modulus: bigint): bigint => {
    let [a, b, x, y] = [value % modulus, modulus, 1n, 0n]
    while (b > 0n) [a, b, x, y] = [b, a % b, y, x - (a / b) * y]
    return ((x % modulus) + modulus) % modulus
  }
  const d = inverse(e, (p - 1n) * (q - 1n))
  const members = { n: p * q, e, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverse(q, p) }
  const key = Object.fromEntries(
    Object.entries(members).map(([name, value]) => {
      const hex = value.toString(16)
      return [name, base64url(bytes(hex.length % 2 ? `0${hex}` : hex))]
    }),
  )
  return createPrivateKey({ key: { kty: 'RSA', ...key } as never, format: 'jwk' })
}

function keyOf(name: string, { privateKey, p, q, attestationObject }: Vector): KeyObject {
  if (p !== undefined) return rsaKey(BigInt(`0x${p}`), BigInt(`0x${q}`))
  if (!name.endsWith('EdDSA')) return es256Key(bytes(privateKey))
  const [d, x] = [bytes(privateKey), bytes(attestationObject.slice(-64))].map(base64url)
  return createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d, x } as never, format: 'jwk' })
}

/** The attestation object with a signature of this client data, and with other flags. */
function attestation(vector: Vector, credential: Credential, data: Buffer, more: number) {
  const object = bytes(vector.attestationObject)
  const start = object.indexOf(sha256(rpId))
  object[start + 32] = (object[start + 32] ?? 0) | more
  const label = Buffer.from('csig')
  const place = object.indexOf(label) + label.length
  if (!object.includes(label)) return object
  const key = vector.attestationKey === undefined ? credential : es256Signer(vector.attestationKey)
  const signature = signed(key, Buffer.concat([object.subarray(start), sha256(data)]))
  const old = object[place + 1] ?? 0
  const head = Buffer.from([0x58, signature.length])
  return Buffer.concat([
    object.subarray(0, place),
    head,
    signature,
    object.subarray(place + 2 + old),
  ])
}
const es256Signer = (key: string) => ({ key: es256Key(bytes(key)), alg: -7 })

t.test('the test vectors of WebAuthn', async (t) => {
  const list = () => table.slice(-1).map(({ data }) => data)
  const { ask, post, logIn, table }: PasskeysApp = await passkeysApp(t, { origin, list })
  const { ask: askAll, ...app } = await passkeysApp(t, { origin })
  const algorithms: Record<string, number> = { EdDSA: -8, RS256: -257 }
  for (const [name, vector] of Object.entries(vectors)) {
    const alg = algorithms[String(name.split('.')[1])] ?? -7
    const id = bytes(vector.credentialId)
    const credential = { id, key: keyOf(name, vector), alg, userHandle: handleOf(1) }
    const text = base64url(id)
    const respond = async (
      asked: typeof ask,
      send: typeof post,
      headers: object,
      flags: number,
      signedFor?: Buffer,
    ) => {
      const { token, publicKey } = await asked('/passkeys/options', headers as never)
      const data = clientData('webauthn.create', publicKey.challenge, { origin })
      const object = attestation(vector, credential, signedFor ?? data, flags)
      const response = { clientDataJSON: base64url(data), attestationObject: base64url(object) }
      const whole = { id: text, rawId: text, type: 'public-key', response }
      return send('/passkeys', { token, response: whole }, headers as never)
    }
    const isVerified = /(?:self|packed)\.(?:ES|RS)256/.test(name)
    const asItIs = await respond(ask, post, await logIn(), 0)
    t.equal(answerOf(asItIs).slice(0, 3), isVerified ? '201' : '403', `${name} as it is`)
    if (name.startsWith('packed')) {
      const forged = await respond(ask, post, await logIn(), uv, Buffer.from('{}'))
      t.equal(forged.statusCode, 403, `${name} with a signature for something else`)
    }
    const added = await respond(askAll, app.post, await app.logIn(), uv)
    t.equal(added.statusCode, 201, `${name} with user verification: ${added.body}`)
    const { id: stored, backedUp } = added.json<{ id: string; backedUp: boolean }>()
    t.equal(stored, text)
    const enter = async (flags: number) => {
      const { token, publicKey } = await askAll('/login/passkey/options')
      const changes = { rpId, flags, client: { origin } }
      const response = assertionOf(credential, publicKey.challenge, changes)
      return app.post('/login/passkey', { token, response })
    }
    const synced = backedUp ? be | bs : 0
    t.equal((await enter(up | uv | synced)).statusCode, 200, `${name} logs in`)
    t.equal((await enter(up | synced)).statusCode, 403, `${name} without user verification`)
  }
  t.equal(table.length, 3)
})
