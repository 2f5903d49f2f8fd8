import type { Corpus } from './corpus/cases.js'
import { cookieCases, cookieHeader, crossSiteCases, type GoodCookie } from './corpus/cookies.js'
import type { Named } from './corpus/keys.js'
import type { Material } from './material.js'

type Headers = Readonly<Record<string, string>>

/** What is attacked: a route that has let good credentials in. */
export interface CookieTarget {
  /** Headers with good credentials. */
  readonly good: Headers
  readonly material: Pick<Material, 'token'>
  /** Bad ones. */
  readonly tokens: readonly Named[]
  /** The cookie that our guard reads there; null where it reads none, and where the guard is not ours. */
  readonly cookieName: string | null
  readonly method: string
}

/**
 * Bad cookies, and good ones in requests of other sites: to these, no page can add other headers.
 *
 * @returns with the headers of a good cookie; null where none is known
 */
export function cookieAttacks(target: CookieTarget): (Corpus & { readonly good: Headers }) | null {
  const { tokens, method } = target
  const cookie = goodCookie(target)
  if (cookie === null) return null
  // Without the header that would count in its place.
  const { authorization: _, ...beside } = target.good
  const crossSite = crossSiteCases(cookie, method)
  const bad = cookieCases(cookie, tokens).map((each) => ({
    ...each,
    request: { headers: { ...beside, ...each.request.headers } },
  }))
  return {
    good: { ...beside, cookie: cookieHeader(cookie, cookie.value) },
    cases: [...bad, ...crossSite],
    leftOut:
      crossSite.length > 0 ? [] : [`requests of other sites (${method} has to change nothing)`],
  }
}

/** Among the good headers; or the good token, where our guard reads a cookie. */
function goodCookie({ good, material: { token }, cookieName }: CookieTarget): GoodCookie | null {
  const { cookie } = good
  if (cookie === undefined) {
    const isKnown = cookieName !== null && token !== undefined
    return isKnown ? { name: cookieName, value: token, others: [] } : null
  }
  const pairs = cookie.split(/; */).filter((pair) => pair.includes('='))
  const valueOf = (pair: string): string => pair.slice(pair.indexOf('=') + 1)
  const own =
    pairs.find((pair) => pair.startsWith(`${cookieName}=`)) ??
    pairs.find((pair) => valueOf(pair) === token) ??
    pairs[0]
  if (own === undefined) return null
  const others = pairs.filter((pair) => pair !== own)
  return { name: own.slice(0, own.indexOf('=')), value: valueOf(own), others }
}
