/** Schemes of the registry of HTTP authentication schemes (RFC 9110 §16.4), and others that are common. */
const known = [
  'Basic',
  'Bearer',
  'Digest',
  'DPoP',
  'GNAP',
  'HOBA',
  'Mutual',
  'Negotiate',
  'NTLM',
  'OAuth',
  'PrivateToken',
  'SCRAM-SHA-1',
  'SCRAM-SHA-256',
  'vapid',
  'ApiKey',
  'JWT',
  'Token',
]

/** A scheme, and the credentials that follow it (RFC 9110 §11.4, `token` of §5.6.2). */
const pattern = /^([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32})(?: *$|( +[^ ]))/

/**
 * Why an `Authorization` header holds no credentials for an authenticator, for the log. Nothing in the answer
 * is the client's: where the scheme is missing, a token or a password stands in its place.
 *
 * @param expected - the schemes of the authenticator
 * @returns null when there is no header, or nothing to be said of it
 */
export function wrongScheme(
  header: string | undefined,
  expected: readonly string[],
): string | null {
  if (header === undefined || expected.length === 0) return null
  const [, word = '', credentials] = pattern.exec(header) ?? []
  const hasCredentials = credentials !== undefined
  const scheme = [...expected, ...known].find((each) => each.toLowerCase() === word.toLowerCase())
  if (hasCredentials && scheme !== undefined && expected.includes(scheme)) return null
  return `Authorization: found ${found(scheme, hasCredentials)}, expected ${expected.join(' or ')}`
}

function found(scheme: string | undefined, hasCredentials: boolean): string {
  if (scheme === undefined) return hasCredentials ? 'another scheme' : 'no scheme'
  return hasCredentials ? `the scheme ${scheme}` : `the scheme ${scheme} without credentials`
}
