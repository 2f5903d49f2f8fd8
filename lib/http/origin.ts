/** An origin with another scheme, such as `capacitor://localhost` of an app with a web view. */
const otherOrigin = /^(?!https?:)[a-z][a-z0-9+.-]*:\/\/[a-z0-9][a-z0-9._-]*(?::\d{1,5})?$/

/** Whether a string is an origin as browsers send it. `null` is none: any page can have it. */
export function isOrigin(text: string): boolean {
  if (otherOrigin.test(text)) return true
  return /^https?:\/\/[^*]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text
}

/** Whether an origin is the server's own. Strings are compared: browsers write an origin in one way only. */
export function isOwnOrigin(origin: string, protocol: string, host: string): boolean {
  const scheme = schemeOf(protocol)
  const own = `${scheme}://${host}`
  // Browsers leave the default port out of an origin (RFC 6454 §6.2).
  return origin === own || own === `${origin}:${scheme === 'https' ? 443 : 80}`
}

/** The scheme of a page's origin where a proxy names that of a WebSocket, as Traefik does. */
export function schemeOf(protocol: string): string {
  return protocol.replace(/^ws(?=s?$)/, 'http')
}
