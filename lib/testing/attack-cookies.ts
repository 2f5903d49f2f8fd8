import type { AttackCase, Cases, Headers } from './attack-cases.js'
import type { Bad } from './broken.js'

/** A cookie that is let in. */
interface GoodCookie {
  readonly name: string
  readonly value: string
  /** Other cookies that have to come with it, as `name=value`. */
  readonly others: readonly string[]
}

/** Methods that change nothing: pages of other sites may send them. */
const safe: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Bad cookies, and good ones in requests of other sites.
 *
 * @param good - headers with good credentials
 * @param token - a good token
 * @param cookieName - the cookie that the plugin reads there
 * @param tokens - bad ones
 * @returns with the headers of a good cookie; null where none is known
 */
export function cookieCases(
  good: Headers,
  token: string | undefined,
  cookieName: string | null,
  method: string,
  tokens: readonly Bad[],
): (Cases & { readonly good: Headers }) | null {
  const cookie = goodCookie(good.cookie, token, cookieName)
  if (cookie === null) return null
  // Without the header that would count in place of the cookie.
  const { authorization: _, ...beside } = good
  const headersOf = (...pairs: readonly string[]): Headers => ({
    ...beside,
    cookie: [...cookie.others, ...pairs].join('; '),
  })
  const { name, value } = cookie
  const broken = tokens.map(([title, text]): Bad => [`token: ${title}`, `${name}=${text}`])
  const bad = [...badPairs(cookie), ...broken].map(([title, ...pairs]) => ({
    name: `cookie: ${title}`,
    request: { headers: headersOf(...pairs) },
    none: !pairs.some((pair) => pair.startsWith(`${name}=`) && pair !== `${name}=`),
  }))
  const fresh = headersOf(`${name}=${value}`)
  const crossSite = safe.has(method.toUpperCase()) ? [] : crossSiteCases(fresh)
  const leftOut = crossSite.length > 0 ? [] : [`cross-site requests (${method} changes nothing)`]
  return { good: fresh, cases: [...bad, ...crossSite], leftOut }
}

/** Among the good headers; or the good token, where the plugin reads a cookie. */
function goodCookie(
  header: string | undefined,
  token: string | undefined,
  cookieName: string | null,
): GoodCookie | null {
  if (header === undefined) {
    const isKnown = cookieName !== null && token !== undefined
    return isKnown ? { name: cookieName, value: token, others: [] } : null
  }
  const pairs = header.split(/; */)
  const isOwn = (pair: string): boolean =>
    pair.startsWith(`${cookieName}=`) || pair.endsWith(`=${token}`)
  const own = pairs.find(isOwn) ?? header.split(';', 1).join()
  const [name = '', ...value] = own.split('=')
  return { name, value: value.join('='), others: pairs.filter((pair) => pair !== own) }
}

function badPairs({ name, value }: GoodCookie): [title: string, ...pairs: string[]][] {
  const bare = name.replace(/^__(?:Host|Secure)-/i, '')
  const names = [`__Secure-${bare}`, bare.toUpperCase(), `x${name}`, `${name}x`, `${name}[0]`]
  const pair = `${name}=${value}`
  return [
    ['twice', pair, pair],
    ['twice, a bad one first', `${name}=x`, pair],
    ['twice, a bad one last', pair, `${name}=x`],
    ['a character less', pair.slice(0, -1)],
    ['a character more', `${pair}x`],
    ['Bearer', `${name}=Bearer ${value}`],
    ['quoted', `${name}="${value}"`],
    ['15,000 letters', `${name}=${'x'.repeat(15_000)}`],
    ['empty', `${name}=`],
    ...[...new Set([bare, ...names])]
      .filter((other) => other !== name)
      .map((other): [string, string] => [`${other}=<value>`, `${other}=${value}`]),
  ]
}

/** Requests that a page of another site causes, with the good cookie in them. */
function crossSiteCases(good: Headers): AttackCase[] {
  const evil = 'https://evil.example'
  const rows: [title: string, headers: Headers][] = [
    ['another site', { 'sec-fetch-site': 'cross-site', origin: evil }],
    ['a subdomain', { 'sec-fetch-site': 'same-site', origin: 'https://evil.localhost' }],
    ['without an origin', { 'sec-fetch-site': 'cross-site' }],
    ['an older browser', { origin: evil }],
    ['an older browser, a frame in a sandbox', { origin: 'null' }],
    ['an older browser, a name that begins alike', { origin: 'http://localhost.evil.example' }],
    ['a forged Referer', { origin: evil, referer: 'http://localhost/' }],
    ['a forged X-Forwarded-Host', { origin: evil, 'x-forwarded-host': 'evil.example' }],
  ]
  return rows.map(([title, headers]) => ({
    name: `cross-site: ${title}`,
    request: { headers: { ...headers, ...good } },
    refusals: [403],
  }))
}
