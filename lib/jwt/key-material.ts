import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'

/** Where PEM text begins, whatever stands before it. */
export const pemMarker = /-----\s*BEGIN/i

/** What DER of all of them begins with: the tag of a sequence. Each form that does not fit costs an error. */
const sequence = 0x30

/** Forms of DER that a key or a certificate can have. */
const derForms: ((key: Buffer) => unknown)[] = [
  (key) => createPublicKey({ key, format: 'der', type: 'spki' }),
  (key) => createPublicKey({ key, format: 'der', type: 'pkcs1' }),
  (key) => new X509Certificate(key),
  (key) => createPrivateKey({ key, format: 'der', type: 'pkcs8' }),
  (key) => createPrivateKey({ key, format: 'der', type: 'pkcs1' }),
  (key) => createPrivateKey({ key, format: 'der', type: 'sec1' }),
]

/**
 * Whether bytes that are meant as a secret are an asymmetric key or a certificate: PEM, DER, or base64 of
 * either. What is public would let everybody sign (CVE-2023-48223 and its kin).
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
 * Whether a text that is meant as the path of a key file is a key itself: JSON, or base64 of its PEM or of
 * its DER, which is a sequence as long as it says.
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
