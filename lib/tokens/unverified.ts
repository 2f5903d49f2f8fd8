/**
 * Decodes the header (0) or the claims (1) of a token (RFC 7515 §7.1), without verifying anything. A member that stands
 * there twice has its last value, as it has for the engine (RFC 7515 §4).
 *
 * @returns null where that part is no JSON object
 */
export function unverifiedPart(token: string, part: 0 | 1): Record<string, unknown> | null {
  const [header = '', claims = ''] = token.split('.', 2)
  try {
    const decoded: unknown = JSON.parse(
      Buffer.from(part === 0 ? header : claims, 'base64url').toString(),
    )
    if (typeof decoded !== 'object' || decoded === null || Array.isArray(decoded)) return null
    // Without a prototype, so that nothing which the process has put there is read as a member.
    return Object.assign(Object.create(null), decoded) as Record<string, unknown>
  } catch {
    return null
  }
}
