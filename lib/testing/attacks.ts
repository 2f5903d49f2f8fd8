import { setTimeout as delay } from 'node:timers/promises'
import { accessCases } from './attack-access.js'
import {
  elsewhereCases,
  headerCases,
  keyCases,
  type AttackCase,
  type Cases,
  type Headers,
} from './attack-cases.js'
import { badTokens } from './broken.js'
import { cookieCases } from './attack-cookies.js'
import { apiKeyCases, goodKey } from './attack-keys.js'
import { goodHeaders, scopeOf, type AttackedApp, type AttackOptions } from './attack-options.js'
import { attackMaterial, type Material } from './material.js'
import { AttackReport, problemOf } from './report.js'
import { watch } from './watched.js'

/** How long a response may take, in milliseconds. */
const patience = 10_000

/**
 * Sends attacks to a route of an app: broken tokens, malformed headers, wrong passwords, cookies and API keys,
 * credentials in wrong places. Every response but a 401 is reported as a problem. Each request comes from another
 * address, because throttling by address would otherwise refuse what authentication accepts.
 *
 * On a route with a scope or a role, the right user is played without it too, or with one that is nearly the same:
 * there, every response but a 403 is a problem. Roles, and scopes that are not those of a token, take `authnTesting`.
 *
 * At the beginning and at the end it checks that good credentials are accepted: a route that rejects everything
 * would prove nothing.
 *
 * @param app - the app; `ready()` is called. `authnTesting` need not be registered otherwise
 * @returns the report; `report.problems` is empty when all is well
 * @throws ERR_AUTH_TESTING, ERR_AUTH_MARK for options that do not fit
 *
 * @example
 * const report = await authAttacks(app, { url: '/me', sub: 'alice' })
 * assert.deepEqual(report.problems, [])
 */
export async function authAttacks(app: AttackedApp, options: AttackOptions): Promise<AttackReport> {
  await app.ready()
  const attack = new Attack(app, options)
  await attack.run()
  return attack.report
}

class Attack {
  readonly report: AttackReport
  readonly #app: AttackedApp
  readonly #options: AttackOptions
  readonly #method: NonNullable<AttackOptions['method']>
  readonly #material: Material
  #good: Headers | undefined

  constructor(app: AttackedApp, options: AttackOptions) {
    const { method = 'GET', url } = options
    this.#app = app
    this.#options = options
    this.#method = method
    this.#material = attackMaterial(app, options)
    this.#good = goodHeaders(options, this.#material)
    this.report = new AttackReport(`${method.toUpperCase()} ${url}`)
  }

  async run(): Promise<void> {
    const key = await this.#goodKey()
    let isIn = false
    const watched = await watch(async (simulate) => {
      isIn = await this.#letsIn('good credentials', { simulate })
    })
    if (!isIn || (await this.#isOpen())) return
    const good = this.#good ?? {}
    const cookieName = watched?.cookie ?? null
    const { tokens, leftOut } = badTokens(this.#material)
    const username = String(this.#options.sub ?? 'alice')
    const cases = [
      ...elsewhereCases(this.#method, good, cookieName),
      ...keyCases(good),
      ...headerCases(good.authorization, this.#material, username, tokens),
    ]
    await this.#play({ cases, leftOut })
    const byCookie = cookieCases(good, this.#material.token, cookieName, this.#method, tokens)
    if (byCookie !== null && (await this.#readsCookie(byCookie.good))) await this.#play(byCookie)
    await this.#play(await apiKeyCases(good, key, watched, this.#method, this.#options))
    const [scope, material] = [scopeOf(this.#options), this.#material]
    const statusOf = (request: AttackCase['request']) => this.#statusOf(request)
    await this.#play(await accessCases({ watched, scope, material, good, statusOf }))
    if (this.#good !== undefined) await this.#letsIn('good credentials, after all the others')
  }

  /** An API key where the route takes one; it is the good credentials where the route takes no tokens of the material. */
  async #goodKey(): Promise<string | undefined> {
    const { sub, good, issuer = 'jwt' } = this.#options
    if (sub === undefined) return undefined
    const headers = { authorization: 'Bearer x' }
    const refused = await watch((simulate) => this.#statusOf({ headers, simulate }), 'failure')
    const key = await goodKey(refused, this.#options)
    if (key !== undefined && good === undefined && refused?.names.includes(issuer) !== true) {
      this.#good = { authorization: `Bearer ${key}` }
    }
    return key
  }

  /** Checks that good credentials are accepted: a route that rejects everything would pass every other case. */
  async #letsIn(name: string, more: AttackCase['request'] = {}): Promise<boolean> {
    if (this.#good === undefined) {
      const why = 'no good credentials are known, so the route may reject all: give "sub" or "good"'
      this.report.problems.push({ case: name, status: null, why })
      return true
    }
    const status = await this.#statusOf({ headers: this.#good, ...more })
    if (status !== null && status < 400) return true
    const why =
      'rejected, so that the report would prove nothing: correct "good", "sub", "claims" or "payload"'
    this.report.problems.push({ case: name, status, why })
    return false
  }

  /** Checks whether the route needs no credentials at all; then one problem is reported, and not one for each case. */
  async #isOpen(): Promise<boolean> {
    const status = await this.#statusOf({})
    if (this.#options.optional === true || status === null || status >= 400) return false
    const why =
      'accepted: the route requires no user (is it marked?). If it is meant to: "optional"'
    this.report.problems.push({ case: 'no credentials', status, why })
    return true
  }

  /** Whether the route takes its token from the cookie: it may look at the header only. */
  async #readsCookie(headers: Headers): Promise<boolean> {
    if (this.#good?.cookie !== undefined) return true
    return (await watch((simulate) => this.#statusOf({ headers, simulate }))) !== null
  }

  async #play({ cases, leftOut }: Cases): Promise<void> {
    this.report.leftOut.push(...leftOut)
    for (const { name, request, none = false, refusals = [401] } of cases) {
      if (this.#isExcepted(name) || (none && this.#options.optional === true)) continue
      if (this.#isForeign(request)) continue
      this.report.cases += 1
      const status = await this.#statusOf(request)
      const why = problemOf(status, [...refusals, ...(this.#options.refusals ?? [])])
      if (why !== undefined) this.report.problems.push({ case: name, status, why })
    }
  }

  #isExcepted(name: string): boolean {
    const { except = [] } = this.#options
    const isExcepted = except.some((each) =>
      typeof each === 'string' ? each === name : each.test(name),
    )
    if (isExcepted) this.report.leftOut.push(`${name} (excepted)`)
    return isExcepted
  }

  /** Whether an optional route takes a header for no credentials at all: one of another scheme than its own. */
  #isForeign({ headers }: AttackCase['request']): boolean {
    if (this.#options.optional !== true || headers?.authorization === undefined) return false
    const scheme = this.#good?.authorization?.split(' ', 1)[0]?.toLowerCase()
    return !String(headers.authorization).toLowerCase().startsWith(`${scheme} `)
  }

  async #statusOf({ headers, ...request }: AttackCase['request']): Promise<number | null> {
    const { url, payload } = this.#options
    const at = this.report.cases
    const response = this.#app.inject({
      method: this.#method,
      url,
      ...(payload !== undefined && request.method !== 'HEAD' && { payload }),
      ...request,
      headers: { ...this.#options.headers, ...headers },
      // Loopback, where cookies need no prefix; another one for each case, because failures are counted by address.
      remoteAddress: `127.1.${at >> 8}.${at & 255}`,
    })
    const answered = await Promise.race([response, delay(patience, null, { ref: false })])
    return answered?.statusCode ?? null
  }
}
