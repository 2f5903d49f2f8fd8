import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'

/** The first line of PEM text, wherever it stands in a text. */
export const pemMarker = /-----\s*BEGIN/i

/** The first byte of every key in DER: the tag SEQUENCE. Checked first, because each failed attempt to parse is slow. */
const sequence = 0x30

/** Parsers for each form that a key or a certificate in DER can have. */
const derForms: ((key: Buffer) => unknown)[] = [
  (key) => createPublicKey({ key, format: 'der', type: 'spki' }),
  (key) => createPublicKey({ key, format: 'der', type: 'pkcs1' }),
  (key) => new X509Certificate(key),
  (key) => createPrivateKey({ key, format: 'der', type: 'pkcs8' }),
  (key) => createPrivateKey({ key, format: 'der', type: 'pkcs1' }),
  (key) => createPrivateKey({ key, format: 'der', type: 'sec1' }),
]

/**
 * Whether the bytes of an HMAC secret are really an asymmetric key or a certificate: PEM, DER, or base64 of either.
 * A public key that is used as a secret lets everybody sign tokens (as in CVE-2023-48223).
 */
export function isAsymmetricKey(bytes: Buffer): boolean {
  return [bytes, Buffer.from(bytes.toString('latin1'), 'base64')].some(
    (form) =>
      pemMarker.test(form.toString('latin1')) ||
      (form[0] === sequence && derForms.some((parse) => parses(parse, form))),
  )
}

function parses(parse: (key: Buffer) => unknown, key: Buffer): boolean {
  try {
    parse(key)
    return true
  } catch {
    return false
  }
}

/** Whether a text is a JSON Web Key, a set of them, or an array of them (RFC 7517). */
export function isJwk(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return [value].flat().some((key) => key instanceof Object && ('kty' in key || 'keys' in key))
  } catch {
    return false
  }
}

/**
 * Whether the path of a key file is really a key: JSON, or base64 of PEM or of DER. DER is recognised by its tag and
 * by its length, which has to match.
 */
export function isBareKey(value: string): boolean {
  const text = value.replace(/\\n|\s/g, '')
  if (isJwk(value) || text.startsWith('LS0tLS1CRUdJTi')) return true
  const der = Buffer.from(text, 'base64')
  const [tag, length = 0] = der
  const octets = length < 0x80 ? 0 : length & 0x7f
  if (tag !== sequence || octets > 4 || der.length < 2 + octets) return false
  const size = octets === 0 ? length : der.readUIntBE(2, octets)
  return der.length > 32 && der.length === 2 + octets + size
}
