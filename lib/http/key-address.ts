/** IPv4 and IPv6 loopback (RFC 1122 §3.2.1.3, RFC 4291 §2.5.3), and the name that RFC 6761 §6.3 keeps for it. */
const loopback = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)$/

/**
 * An address that keys may be fetched from: https, or http to a loopback address, without credentials in it. The keys
 * decide who gets in, so nobody on the way may be able to change them.
 *
 * @returns null for any other text
 */
export function keyAddress(text: string): URL | null {
  if (/[\s\\]/.test(text) || !URL.canParse(text)) return null
  const url = new URL(text)
  const { protocol, hostname, username, password, hash } = url
  const isSafe = protocol === 'https:' || (protocol === 'http:' && loopback.test(hostname))
  return isSafe && username === '' && password === '' && hash === '' ? url : null
}
