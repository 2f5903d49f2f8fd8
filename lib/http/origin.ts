/** The ports that browsers leave out of an origin (RFC 6454 §6.2). */
const defaultPort: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  http: ':80',
  https: ':443',
})

/** The scheme of a page's origin where a proxy names that of a WebSocket, as Traefik does. */
const pageScheme: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  ws: 'http',
  wss: 'https',
})

/** An origin with another scheme, such as `capacitor://localhost` of an app with a web view. */
const otherOrigin = /^(?!https?:)[a-z][a-z0-9+.-]*:\/\/[a-z0-9][a-z0-9._-]*(?::\d{1,5})?$/

/** Whether a string is an origin as browsers send it. `null` is none: any page can have it. */
export function isOrigin(text: string): boolean {
  return otherOrigin.test(text) || (/^https?:\/\/[^*]+$/.test(text) && originOf(text) === text)
}

function originOf(text: string): string | undefined {
  try {
    return new URL(text).origin
  } catch {
    return undefined
  }
}

/**
 * Whether an origin is that of the server itself. Strings are compared, since browsers write an origin in one way only.
 *
 * @param protocol - `http` or `https`, or what a proxy says
 * @param host - the value of the header `Host`, which may name the default port
 */
export function isOwnOrigin(origin: string, protocol: string, host: string): boolean {
  const scheme = schemeOf(protocol)
  const own = `${scheme}://${host}`
  if (origin === own) return true
  const port = defaultPort[scheme]
  return port !== undefined && own === `${origin}${port}`
}

export function schemeOf(protocol: string): string {
  return pageScheme[protocol] ?? protocol
}
