import { createHash, type KeyObject } from 'node:crypto'

/** The members of each type of key that count, in the order of RFC 7638 section 3.2 and RFC 8037 section 2. */
const members: Readonly<Record<string, readonly string[]>> = Object.assign(Object.create(null), {
  EC: ['crv', 'kty', 'x', 'y'],
  RSA: ['e', 'kty', 'n'],
  OKP: ['crv', 'kty', 'x'],
})

/** The public part of an asymmetric key as a JSON Web Key (RFC 7517), and nothing else of it. */
export function publicJwk(key: KeyObject): Record<string, string> {
  const jwk = key.export({ format: 'jwk' }) as Record<string, string>
  const names = members[jwk.kty as string] as readonly string[]
  return Object.fromEntries(names.map((name) => [name, jwk[name] as string]))
}

/** The thumbprint of an asymmetric key (RFC 7638): SHA-256 in base64url. Equal for both halves of a pair. */
export function thumbprintOf(key: KeyObject): string {
  return createHash('sha256')
    .update(JSON.stringify(publicJwk(key)))
    .digest('base64url')
}
