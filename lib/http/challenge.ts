/** A quoted-string (RFC 9110 §5.6.4). */
function quote(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

/** A challenge for `WWW-Authenticate` (RFC 9110 §11.6.1). @param parameters - by name; those that are undefined are left out */
export function challenge(
  scheme: string,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : `${name}=${quote(value)}`,
  )
  return `${scheme} ${given.join(', ')}`
}
