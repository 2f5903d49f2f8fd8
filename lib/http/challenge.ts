/** The attributes of a Bearer challenge that say what was wrong (RFC 6750 §3). */
export interface BearerProblem {
  readonly error: 'invalid_token' | 'insufficient_scope'
  readonly description: string
  /** The scopes that are needed, separated by spaces. */
  readonly scope?: string
}

/** A quoted-string (RFC 9110 §5.6.4). */
export function quote(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

/**
 * A challenge for `WWW-Authenticate` (RFC 9110 §11.6.1).
 *
 * @param scheme - as it is to be sent; `Basic` gets the charset of RFC 7617 §2.1
 * @param realm - the protection space
 * @param problem - for Bearer, and only when a token was sent (RFC 6750 §3.1)
 */
export function challenge(scheme: string, realm: string, problem?: BearerProblem): string {
  const start = `${scheme} realm=${quote(realm)}`
  if (problem !== undefined) {
    const { error, description, scope } = problem
    const needed = scope === undefined ? '' : `, scope=${quote(scope)}`
    return `${start}, error="${error}", error_description=${quote(description)}${needed}`
  }
  return scheme.toLowerCase() === 'basic' ? `${start}, charset="UTF-8"` : start
}
