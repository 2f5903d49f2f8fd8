/** IPv4 and IPv6 loopback (RFC 1122 §3.2.1.3, RFC 4291 §2.5.3), and its reserved name (RFC 6761 §6.3). */
const loopback = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)$/

/**
 * Parses an address of a server that is trusted with keys, tokens or logins: https, or http to a loopback address,
 * without credentials and fragment; null for any other string. An attacker on the way who could change the keys could
 * sign tokens.
 */
export function secureAddress(text: string): URL | null {
  // In a URL, `hash` is the same for an empty fragment and for none.
  const url = /[\s\\#]/.test(text) ? null : parsedUrl(text)
  if (url === null) return null
  const { protocol, hostname, username, password } = url
  const isSafe = protocol === 'https:' || (protocol === 'http:' && loopback.test(hostname))
  return isSafe && username === '' && password === '' ? url : null
}

/** When it is hot, `URL.canParse()` of Node 20 takes the bytes of é for UTF-8, and says no. */
export function parsedUrl(text: string): URL | null {
  try {
    return new URL(text)
  } catch {
    return null
  }
}

/** The address in the metadata of an issuer; null if it is not secure, or http to this machine for an https issuer. */
export function metadataAddress(issuer: string, text: unknown): URL | null {
  const url = typeof text === 'string' ? secureAddress(text) : null
  return url?.protocol === 'http:' && /^https:/i.test(issuer) ? null : url
}
