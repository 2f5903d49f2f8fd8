import { safeMethods } from '../cookies/csrf.js'
import { watchRequest } from './watched.js'
import type { AttackCase, Target } from './attack-cases.js'
import type { Headers } from './attack-options.js'
import type { Bad } from './broken.js'

interface GoodCookie {
  readonly name: string
  readonly value: string
  /** Other cookies that have to come with it, as `name=value`. */
  readonly others: readonly string[]
}

/** Bad cookies, and good ones in requests of other sites; none where no good cookie is known. */
export async function cookieCases(target: Target): Promise<AttackCase[]> {
  const { good, method, tokens, leftOut, statusOf } = target
  const cookie = goodCookie(target)
  if (cookie === null) return []
  // The header `Authorization` would count in place of the cookie.
  const { authorization: _, ...beside } = good
  const headersOf = (...pairs: readonly string[]): Headers => ({
    ...beside,
    cookie: [...cookie.others, ...pairs].join('; '),
  })
  const { name, value } = cookie
  const fresh = headersOf(`${name}=${value}`)
  // A route that reads only the Authorization header cannot be attacked by cookies.
  if (good.cookie === undefined) {
    const watched = await watchRequest((simulate) => statusOf({ headers: fresh, simulate }))
    if (watched?.rejection !== null) return []
  }
  const broken = tokens.map(([title, text]): Bad => [`token: ${title}`, `${name}=${text}`])
  const bad = [...badPairs(cookie), ...broken].map(([title, ...pairs]) => ({
    name: `cookie: ${title}`,
    request: { headers: headersOf(...pairs) },
    none: !pairs.some((pair) => pair.startsWith(`${name}=`) && pair !== `${name}=`),
  }))
  if (!safeMethods.has(method)) return [...bad, ...crossSiteCases(fresh)]
  leftOut.push(`cross-site requests (${method} changes nothing)`)
  return bad
}

/** Among the good headers; or the good token, where the plugin reads a cookie. */
function goodCookie({ good, material: { token }, watched }: Target): GoodCookie | null {
  const cookieName = watched?.cookie ?? null
  if (good.cookie === undefined) {
    const isKnown = cookieName !== null && token !== undefined
    return isKnown ? { name: cookieName, value: token, others: [] } : null
  }
  const pairs = good.cookie.split(/; */)
  const isOwn = (pair: string): boolean =>
    pair.startsWith(`${cookieName}=`) || pair.endsWith(`=${token}`)
  const own = pairs.find(isOwn) ?? good.cookie.split(';', 1).join()
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
    rejections: [403],
  }))
}
