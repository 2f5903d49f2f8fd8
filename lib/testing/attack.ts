import {
  badTokens,
  elsewhereCases,
  headerCases,
  keyCases,
  tokenCases,
  type AttackCase,
} from './corpus/cases.js'
import { wireCases } from './corpus/wire.js'
import { accessCases } from './attack-access.js'
import { cookieAttacks } from './attack-cookies.js'
import { problemOf, type AttackReport } from './report.js'
import { goodHeaders, materialFor } from './target.js'
import { scopeOf, type AttackedApp, type AttackOptions } from './attack-options.js'
import { watch, type Watched } from './watched.js'
import { patience, statusOf, statusWithin, type Wire } from './wire.js'
import type { Material } from './material.js'

/** One run of the corpus. */
export class Attack {
  readonly #app: AttackedApp
  readonly #options: AttackOptions
  readonly #report: AttackReport
  readonly #wire: Wire | null
  readonly #refusals: readonly number[]
  readonly #material: Material
  readonly #good: Readonly<Record<string, string>> | undefined

  constructor(app: AttackedApp, options: AttackOptions, report: AttackReport, wire: Wire | null) {
    this.#app = app
    this.#options = options
    this.#report = report
    this.#wire = wire
    this.#refusals = options.refusals ?? []
    this.#material = materialFor(app, options)
    this.#good = goodHeaders(options, this.#material)
  }

  async run(): Promise<void> {
    let isIn = false
    const watched = await watch(async (simulate) => {
      isIn = await this.#letsIn('good credentials', { simulate })
    })
    if (!isIn || (await this.#isOpen())) return
    const { method = 'GET', sub = 'alice' } = this.#options
    const good = this.#good ?? {}
    const keysUrl = this.#wire?.keysUrl ?? 'http://127.0.0.1:9/'
    const { tokens, leftOut } = badTokens(this.#material, keysUrl)
    this.#report.leftOut.push(...leftOut)
    const cookieName = watched?.cookie ?? null
    const all = [
      ...elsewhereCases(method, good, cookieName),
      ...keyCases(good),
      ...headerCases(good.authorization, this.#material, String(sub)),
      ...tokenCases(tokens),
    ]
    const byCookie = cookieAttacks({ good, material: this.#material, cookieName, method, tokens })
    if (byCookie !== null && (await this.#letsIn('a good cookie', { headers: byCookie.good }))) {
      all.push(...byCookie.cases)
      this.#report.leftOut.push(...byCookie.leftOut)
    }
    for (const each of this.#chosen(all)) await this.#play(each)
    await this.#playAccess(watched)
    await this.#playWire(good.authorization)
    if (this.#good !== undefined) await this.#letsIn('good credentials, after all the others')
  }

  /** Checks that good credentials are accepted: a route that refuses everything would pass every other case. */
  async #letsIn(name: string, more: AttackCase['request'] = {}): Promise<boolean> {
    if (this.#good === undefined) {
      const why = 'none are known, so that nobody may get in at all: give "sub" or "good"'
      this.#report.problems.push({ case: name, status: null, why })
      return true
    }
    const status = await this.#statusOf({ headers: this.#good, ...more })
    if (status !== null && status < 400) return true
    const why =
      'refused, so that the report would prove nothing: mend "good", "sub", "claims" or "payload"'
    this.#report.problems.push({ case: name, status, why })
    return false
  }

  /** Checks whether the route needs no credentials at all; then one problem is reported, and not one for each case. */
  async #isOpen(): Promise<boolean> {
    const status = await this.#statusOf({})
    if (this.#options.optional === true || status === null || status >= 400) return false
    const why =
      'let through: the route requires nobody (is it marked?). If it is meant to: "optional"'
    this.#report.problems.push({ case: 'no credentials', status, why })
    return true
  }

  #chosen(cases: readonly AttackCase[]): AttackCase[] {
    const { optional = false } = this.#options
    const scheme = this.#good?.authorization?.split(' ', 1)[0]?.toLowerCase()
    return cases.filter(({ name, none = false, request: { headers } }) => {
      if (this.#isExcepted(name)) return false
      if (!optional) return true
      // A header of another scheme than the route's counts as no credentials there.
      const own = String(headers?.authorization).toLowerCase().startsWith(`${scheme} `)
      return !none && (headers?.authorization === undefined || own)
    })
  }

  #isExcepted(name: string): boolean {
    const { except = [] } = this.#options
    const found = except.some((each) =>
      typeof each === 'string' ? each === name : each.test(name),
    )
    if (found) this.#report.leftOut.push(`${name} (excepted)`)
    return found
  }

  async #playAccess(watched: Watched | null): Promise<void> {
    const { cases, leftOut } = await accessCases({
      watched,
      scope: scopeOf(this.#options),
      material: this.#material,
      good: this.#good ?? {},
      statusOf: (request) => this.#statusOf(request),
    })
    this.#report.leftOut.push(...leftOut)
    for (const each of cases) if (!this.#isExcepted(each.name)) await this.#play(each)
  }

  async #play({ name, request, refusal = 401, refusals = [] }: AttackCase): Promise<void> {
    this.#report.cases += 1
    this.#judge(name, await this.#statusOf(request), [refusal, ...refusals])
  }

  #judge(name: string, status: number | null, refusals: readonly number[]): void {
    const why = problemOf(status, [...refusals, ...this.#refusals])
    if (why !== undefined) this.#report.problems.push({ case: name, status, why })
  }

  async #statusOf({ headers, ...request }: AttackCase['request']): Promise<number | null> {
    const { url, method = 'GET', payload } = this.#options
    const at = this.#report.cases
    const answer = this.#app.inject({
      method,
      url,
      ...(payload !== undefined && request.method !== 'HEAD' && { payload }),
      ...request,
      headers: { ...this.#options.headers, ...headers },
      remoteAddress: `10.${(at >> 16) & 255}.${(at >> 8) & 255}.${at & 255}`,
    })
    return statusWithin(answer, patience)
  }

  async #playWire(authorization: string | undefined): Promise<void> {
    if (this.#wire === null) {
      this.#report.leftOut.push('raw bytes on a socket ("sockets" is false)')
      return
    }
    const { port, fetched } = this.#wire
    const { url, method = 'GET', headers = {}, optional = false } = this.#options
    const own = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    const start = `${method.toUpperCase()} ${url} HTTP/1.1`
    for (const { name, lines, none = false } of wireCases(authorization, badOf(authorization))) {
      if ((optional && none) || this.#isExcepted(`socket: ${name}`)) continue
      const head = [start, 'Host: localhost', 'Connection: close', ...own, ...lines, '', '']
      const status = await statusOf(port, head.join('\r\n'))
      this.#report.cases += 1
      // Node.js itself refuses with a 400 or a 431, or closes the connection.
      if (status !== 'closed') this.#judge(`socket: ${name}`, status, [401, 400, 431])
    }
    const count = fetched()
    if (count === 0) return
    const why = `${count} times: the app fetches keys from where a stranger wants it to (SSRF)`
    this.#report.problems.push({ case: 'a URL in the header of a token', status: null, why })
  }
}

/** A wrong value of the scheme that the route accepts. */
function badOf(authorization: string | undefined): string {
  return /^basic /i.test(authorization ?? '') ? 'Basic eDp5' : 'Bearer x.y.z'
}
