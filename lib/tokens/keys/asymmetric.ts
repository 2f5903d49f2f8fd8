import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'

/** PEM, or the member `kty` of a JSON Web Key in quotes, which may be escaped. */
const keyText = /-----\s*BEGIN|(["']|&quot;|%22)kty\\*\1/i

/** Whether what is given as a secret is a key, as it stands or in base64, also twice: a public one is known to others. */
export function isKey(secret: string | Uint8Array): boolean {
  const bytes = withoutMark(Buffer.from(secret as string))
  const text = bytes.toString()
  const decoded = withoutMark(Buffer.from(text, 'base64'))
  const twice = withoutMark(Buffer.from(decoded.toString(), 'base64'))
  const forms = [bytes, Buffer.from(text, 'latin1'), decoded, twice]
  return forms.some((form) => keyText.test(plainText(form)) || isDer(form))
}

/** Without a byte order mark. */
function withoutMark(bytes: Buffer): Buffer {
  return bytes.indexOf('\ufeff') === 0 ? bytes.subarray(3) : bytes
}

/** Also of UTF-16, and of characters that JSON has escaped. */
function plainText(bytes: Buffer): string {
  const text = bytes.toString('latin1').replaceAll('\0', '')
  return text.replaceAll(/\\+u00([\da-f]{2})/gi, (_, code: string) =>
    String.fromCharCode(parseInt(code, 16)),
  )
}

const readers: readonly ((key: Buffer) => unknown)[] = [
  (key) => createPublicKey({ key, format: 'der', type: 'spki' }),
  (key) => createPublicKey({ key, format: 'der', type: 'pkcs1' }),
  (key) => createPrivateKey({ key, format: 'der', type: 'pkcs8' }),
  (key) => createPrivateKey({ key, format: 'der', type: 'sec1' }),
  (key) => new X509Certificate(key),
]

/** Every key in DER begins with the tag of a SEQUENCE (X.690 §8.9). */
function isDer(bytes: Buffer): boolean {
  const isRead = (read: (typeof readers)[number]): boolean => {
    try {
      read(bytes)
      return true
    } catch (error) {
      return (error as { code?: unknown }).code === 'ERR_MISSING_PASSPHRASE'
    }
  }
  return bytes[0] === 0x30 && readers.some(isRead)
}
