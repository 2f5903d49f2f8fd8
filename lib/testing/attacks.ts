import { setTimeout as delay } from 'node:timers/promises'
import { scopesOf } from '../users/granted.js'
import { mintApiKey } from './api-keys.js'
import { accessCases, enoughOf } from './attack-access.js'
import { misplacedCases, headerCases, keyCases, type AttackCase } from './attack-cases.js'
import { badTokens } from './broken.js'
import { cookieCases } from './attack-cookies.js'
import { apiKeyCases } from './attack-keys.js'
import {
  givenHeaders,
  scopeOf,
  type AttackedApp,
  type AttackOptions,
  type Headers,
} from './attack-options.js'
import type { Material } from './forge.js'
import { attackMaterial } from './material.js'
import { badOpaqueTokens } from './opaque.js'
import { AttackReport, statusProblemOf } from './report.js'
import { watchRequest, type Watched } from './watched.js'

/** Milliseconds that a response may take. */
const patience = 10_000

const parts = [misplacedCases, keyCases, headerCases, cookieCases, apiKeyCases, accessCases]

/**
 * Sends attacks to a route of an app: broken tokens, malformed headers, wrong passwords, cookies and API keys,
 * credentials in wrong places. Every response but a 401 is reported as a problem. Each request comes from another
 * address, because throttling by address would otherwise reject what authentication accepts.
 *
 * On a route with a scope or a role, the right user is played without it too, or with one that is nearly the same:
 * there, every response but a 403 is a problem. Roles, and scopes that are not those of a token, take `authnTesting`.
 *
 * On a route with `mfa` or `fresh`, tokens are sent that lack `amr` or `auth_time`, or have another one: give good ones in
 * `claims`.
 *
 * At the beginning and at the end it checks that good credentials are accepted: a route that rejects everything
 * would prove nothing.
 * @param app - the app; `ready()` is called. `authnTesting` need not be registered otherwise
 * @returns the report; `report.problems` is empty when all is well
 * @throws ERR_AUTH_TESTING, ERR_AUTH_MARK for options that do not fit
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
  readonly #method: Uppercase<NonNullable<AttackOptions['method']>>
  readonly #material: Material
  #good: Headers

  constructor(app: AttackedApp, options: AttackOptions) {
    const { method = 'GET', url, good, sub, claims } = options
    this.#app = app
    this.#options = options
    this.#method = method.toUpperCase() as Uppercase<typeof method>
    this.#good = givenHeaders(options)
    this.#material = attackMaterial(app, options, this.#good)
    const { token } = this.#material
    if (good === undefined && token !== undefined && (sub ?? claims) !== undefined) {
      this.#good = { authorization: `Bearer ${token}` }
    }
    this.report = new AttackReport(`${this.#method} ${url}`)
  }

  async run(): Promise<void> {
    const { leftOut, problems } = this.report
    const key = await this.#makeKey()
    const good = this.#good
    const hasGood = Object.keys(good).length > 0
    const [isIn, watched] = hasGood ? await this.#letsIn('good credentials') : [true, null]
    if (!hasGood) {
      const why = 'no good credentials are known, so the route may reject all: give "sub" or "good"'
      problems.push({ case: 'good credentials', status: null, why })
    }
    if (!isIn || (await this.#isOpen())) return
    const [options, method, material] = [this.#options, this.#method, this.#material]
    const isAnyAudience = options.issuer === undefined && watched?.isAnyAudience === true
    const tokens = [
      ...badTokens(material, leftOut, isAnyAudience),
      ...badOpaqueTokens(this.#app, options),
    ]
    const statusOf = (request: AttackCase['request']) => this.#statusOf(request)
    const target = { options, method, good, material, tokens, watched, key, leftOut, statusOf }
    for (const casesOf of parts) await this.#play(await casesOf(target))
    if (hasGood) await this.#letsIn('good credentials, after all the others')
  }

  /** Makes an API key with the scopes that are needed. It is the good credentials where the route takes no tokens. */
  async #makeKey(): Promise<string | undefined> {
    const { sub: owner, good, claims, issuer = 'jwt' } = this.#options
    if (owner === undefined) return undefined
    const headers = { authorization: 'Bearer x' }
    const rejected = await watchRequest((simulate) => this.#statusOf({ headers, simulate }))
    if (!rejected?.keyApp) return undefined
    const need = scopeOf(this.#options) ?? rejected.scope
    const scopes = new Set([...(need === null ? [] : enoughOf(need)), ...scopesOf(claims)])
    const key = await mintApiKey(rejected.keyApp, { owner, scopes: [...scopes] })
    if (good === undefined && !rejected.names.includes(issuer)) {
      this.#good = { authorization: `Bearer ${key}` }
    }
    return key
  }

  /** Checks that good credentials are accepted: a route that rejects everything would pass every other case. */
  async #letsIn(name: string): Promise<[isIn: boolean, watched: Watched | null]> {
    let status = null as number | null
    const watched = await watchRequest(async (simulate) => {
      status = await this.#statusOf({ headers: this.#good, simulate })
    })
    const { rejection = null } = watched ?? {}
    if (status !== null && status < 400) return [true, rejection === null ? watched : null]
    const reason = rejection === null ? '' : ` (${rejection})`
    const why = `rejected${reason}, so that the report would prove nothing: correct "good", "sub", "claims" or "payload"`
    this.report.problems.push({ case: name, status, why })
    return [false, watched]
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

  async #play(cases: readonly AttackCase[]): Promise<void> {
    const { optional = false, except = [], rejections: more = [] } = this.#options
    for (const { name, request, none = false, rejections = [401] } of cases) {
      if (except.some((each) => (typeof each === 'string' ? each === name : each.test(name)))) {
        this.report.leftOut.push(`${name} (excepted)`)
        continue
      }
      if (optional && (none || this.#isForeign(request))) continue
      this.report.cases += 1
      const status = await this.#statusOf(request)
      const why = statusProblemOf(status, [...rejections, ...more])
      if (why !== undefined) this.report.problems.push({ case: name, status, why })
    }
  }

  /** Whether an optional route takes a header for no credentials at all: one of another scheme than its own. */
  #isForeign({ headers }: AttackCase['request']): boolean {
    if (headers?.authorization === undefined) return false
    const scheme = this.#good.authorization?.split(' ', 1)[0]?.toLowerCase()
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
