import { createHash } from 'node:crypto'

const digests = ['md5', 'sha1', 'sha256', 'sha384', 'sha512']

/** With fewer characters in common, name and secret may be alike by chance. */
const least = 8

/**
 * Whether the name of a secret tells something about it: whether it is the secret, a part of it, or a digest of it.
 * Everybody sees the name in the header of each token, and could try secrets against a digest.
 */
export function isDerived(kid: string, secret: string | Uint8Array): boolean {
  const bytes = Buffer.from(secret as string)
  const jwk = JSON.stringify({ k: bytes.toString('base64url'), kty: 'oct' })
  const forms = [bytes, Buffer.from(jwk)].flatMap((form) =>
    digests.map((digest) => createHash(digest).update(form).digest()),
  )
  const name = plain(kid)
  return [bytes, ...forms]
    .flatMap((form) => [form.toString('hex'), form.toString('base64'), form.toString('latin1')])
    .map(plain)
    .some((text) => [text, name].every((part) => part.length >= least) && areNested(text, name))
}

function areNested(one: string, other: string): boolean {
  return one.includes(other) || other.includes(one)
}

/** A text without the differences between base64 and base64url, and between hexadecimal in large and small letters. */
function plain(text: string): string {
  return text.replace(/[-+_/=:]/g, '').toLowerCase()
}
