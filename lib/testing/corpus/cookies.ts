import { isCookieValue } from '../../http/cookie.js'
import type { AttackCase } from './cases.js'
import type { Named } from './keys.js'

/** A cookie that is let in. */
export interface GoodCookie {
  readonly name: string
  readonly value: string
  /** Other cookies that have to come with it, as `name=value`. */
  readonly others: readonly string[]
}

/** Methods that links and images of other sites may send: see `lib/cookies/cross-site.ts`. */
const safe: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** The header `Cookie` with these values in place of the good one. */
export function cookieHeader({ name, others }: GoodCookie, ...values: readonly string[]): string {
  return [...others, ...values.map((value) => `${name}=${value}`)].join('; ')
}

/** Cookies that must not be let in. */
export function cookieCases(cookie: GoodCookie, tokens: readonly Named[]): AttackCase[] {
  const { name, value, others } = cookie
  const encoded = value.replaceAll('.', '%2E')
  const wrong: [title: string, ...values: string[]][] = [
    ['twice', value, value],
    ['twice, a bad one first', 'x', value],
    ['twice, a bad one last', value, 'x'],
    ['twice, an empty one first', '', value],
    ['twice, an empty one last', value, ''],
    ['three times', value, value, value],
    ['a character less', value.slice(0, -1)],
    ['a character more', `${value}x`],
    ['with a comma', `${value},${value}`],
    ['Bearer', `Bearer ${value}`],
    ['quoted', `"${value}"`],
    ['in brackets', `[${value}]`],
    ['15,000 letters', 'x'.repeat(15_000)],
    ['good, with 12,000 letters more', `${value}${'x'.repeat(12_000)}`],
    ...(encoded === value ? [] : [['percent-encoded', encoded] as [string, string]]),
    ...['null', 'undefined', '__proto__', '{}', '%00', '..'].map((text): [string, string] => [
      text,
      text,
    ]),
  ]
  return [
    ...wrong.map(([title, ...values]) => ({
      name: `cookie: ${title}`,
      request: { headers: { cookie: cookieHeader(cookie, ...values) } },
    })),
    ...tokens
      .filter(([, token]) => token !== value && token !== '' && isCookieValue(token))
      .map(([title, token]) => ({
        name: `cookie: token: ${title}`,
        request: { headers: { cookie: cookieHeader(cookie, token) } },
      })),
    ...[`${name}=`, name, ...otherNames(name).map((other) => `${other}=${value}`)].map((pair) => ({
      name: `cookie: ${pair.replaceAll(value, '<value>')}`,
      request: { headers: { cookie: [...others, pair].join('; ') } },
      none: true,
    })),
  ]
}

/** Names that somebody else can set: without the prefix, with another one, in another case. */
function otherNames(name: string): string[] {
  const bare = name.replace(/^__(?:Host|Secure)-/i, '')
  const names = [bare, `__Host-${bare}`, `__Secure-${bare}`, `__host-${bare}`, bare.toUpperCase()]
  const more = [`${name} `, `x${name}`, `${name}x`, `${name}[0]`, `%5F${name}`, `${name}.0`]
  return [...new Set([...names, ...more])].filter((other) => other !== name)
}

/**
 * Requests that a page of another site causes, with the good cookie in them. Only 403 is a refusal of theirs.
 *
 * @param method - of the route: what changes nothing need not be refused
 */
export function crossSiteCases(cookie: GoodCookie, method: string): AttackCase[] {
  if (safe.has(method.toUpperCase())) return []
  const evil = 'https://evil.example'
  const rows: [title: string, headers: Record<string, string>][] = [
    ['another site', { 'sec-fetch-site': 'cross-site', origin: evil }],
    ['a subdomain', { 'sec-fetch-site': 'same-site', origin: 'https://evil.localhost' }],
    ['without an origin', { 'sec-fetch-site': 'cross-site' }],
    ['an older browser', { origin: evil }],
    ['an older browser, a frame in a sandbox', { origin: 'null' }],
    ['an older browser, a subdomain', { origin: 'http://evil.localhost' }],
    ['an older browser, another port', { origin: 'http://localhost:1' }],
    ['an older browser, a name that begins alike', { origin: 'http://localhost.evil.example' }],
    ['an older browser, a name that ends alike', { origin: 'http://evil-localhost' }],
    ['two headers', { 'sec-fetch-site': 'same-origin, cross-site', origin: evil }],
    ['another case', { 'sec-fetch-site': 'Same-Origin', origin: evil }],
    ['an empty header', { 'sec-fetch-site': '', origin: evil }],
    ['a forged Referer', { origin: evil, referer: 'http://localhost/' }],
    ['a forged X-Forwarded-Host', { origin: evil, 'x-forwarded-host': 'evil.example' }],
    ['a form', { origin: evil, 'content-type': 'application/x-www-form-urlencoded' }],
  ]
  return rows.map(([title, headers]) => ({
    name: `cross-site: ${title}`,
    request: { headers: { ...headers, cookie: cookieHeader(cookie, cookie.value) } },
    refusal: 403,
  }))
}
