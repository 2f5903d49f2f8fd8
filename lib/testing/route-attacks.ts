import { randomBytes, randomInt } from 'node:crypto'
import type { FastifyInstance, LightMyRequestResponse as Response } from 'fastify'
import { recordOf } from '../app/record.js'
import { pluginRouteOf } from '../http/plugin-route.js'
import { belowLogin, besideLogin, urlOf } from '../login/plugin-routes.js'
import { registrationOf } from '../request/registration.js'
import { testingError } from './error.js'
import { hasTestKit, testingOf } from './plugin.js'
import { AttackReport, statusProblemOf } from './report.js'
import type { Registration } from '../feature.js'
import type { ResolvedLogin } from '../options/resolve.js'

/** Ends the attacks, because what follows would prove nothing. Its problem is in the report. */
export class Stopped extends Error {}

export const ours = 'this is a fault of fastify-authn'

/** What a body may hold in place of a string. */
const odd = [null, 1, true, [], {}, '', '\0', 'x'.repeat(4000)]

export class RouteAttacks<Tools extends object> {
  readonly registration: Registration
  /** What the feature shows to the test kit. */
  readonly tools: Tools
  readonly report: AttackReport
  readonly login: ResolvedLogin
  readonly loginUrl: string
  #requests = randomInt(2 ** 22)

  /** @throws ERR_AUTH_TESTING without `authnTesting` or the option of the feature */
  constructor(
    readonly app: FastifyInstance,
    suite: string,
    option: string,
  ) {
    const tools = hasTestKit(app) && testingOf<Tools>(app, option)
    if (!tools) {
      const expected = `expected authnTesting and the option "${option}" in the app`
      testingError(`${suite}: ${expected} (in an inner scope: pass that scope).`)
    }
    this.tools = tools
    this.registration = registrationOf(app) as Registration
    this.login = this.registration.options.login as ResolvedLogin
    this.loginUrl = this.#urlOf(this.login.path)
    this.report = new AttackReport(this.login.path, suite)
  }

  /** @param play - may throw {@link Stopped} */
  async run(play: () => Promise<void>): Promise<AttackReport> {
    await play().catch((error: unknown) => {
      if (!(error instanceof Stopped)) throw error
    })
    return this.report
  }

  readonly below = (name: string): string => this.#urlOf(belowLogin(this.login.path, name))
  readonly beside = (name: string): string => this.#urlOf(besideLogin(this.login.path, name))
  readonly #urlOf = (path: string): string => urlOf(this.registration.app, path)

  async post(url: string, payload: object, headers: Readonly<Record<string, string>> = {}) {
    this.#requests += 1
    // Each request comes from another client, since failures are counted. On loopback, cookies need no prefix.
    const remoteAddress = `127.${[16, 8, 0].map((bits) => (this.#requests >> bits) & 255).join('.')}`
    return this.app.inject({ method: 'POST', url, payload, headers, remoteAddress })
  }

  check(
    name: string,
    { statusCode: status }: Pick<Response, 'statusCode'>,
    right: number[],
    why: string,
  ) {
    this.report.cases += 1
    if (right.includes(status)) return true
    const general = status === 429 || status >= 500 ? statusProblemOf(status, []) : undefined
    const said = `${status < 400 ? 'let through' : 'rejected'}: ${why}`
    this.report.problems.push({ case: name, status, why: general ?? said })
    return false
  }

  /**
   * Sends what none of them may accept to each route that gives tokens or needs a session, whichever feature's it is: a token
   * for something else, guesses, values of other kinds, and requests of other sites.
   * @param name - what the token is, for the report @param meant - the URL of the route that accepts it
   */
  async all(name: string, token: string, meant?: string): Promise<void> {
    const { app, requestChecks } = this.registration
    for (const { server, options } of recordOf(app).routes) {
      const route = pluginRouteOf(options)
      if (server !== app || route?.method !== 'POST') continue
      const { path, body, givesTokens, mark } = route
      const needsUser = typeof mark === 'object' && mark.mode !== 'try'
      if (!givesTokens && !needsUser) continue
      const url = this.#urlOf(path)
      const members = Object.keys(body?.schema.properties ?? {})
      const send = (value: unknown, headers = {}) =>
        this.post(url, Object.fromEntries(members.map((each) => [each, value])), headers)
      const rejected = async (what: string, response: Promise<Response>, right: number[]) =>
        this.check(`${what} at ${url}`, await response, right, ours)
      const headers = { authorization: `Bearer ${token}` }
      if (url !== meant) await rejected(name, send(token, headers), needsUser ? [401] : wrong)
      if (!givesTokens) continue
      const guesses = Array.from({ length: 5 }, () => send(randomBytes(32).toString('base64url')))
      for (const guess of guesses) await rejected('a guess', guess, wrong)
      for (const value of odd)
        await rejected(`${JSON.stringify(value).slice(0, 9)} for each member`, send(value), wrong)
      if (requestChecks.length > 0)
        await rejected('another site', send('x', crossSite), needsUser ? [401] : [403])
    }
  }
}

const wrong = [400, 401, 403]
const crossSite = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example', cookie: 'a=b' }
