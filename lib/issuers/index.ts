import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { kit } from '../common/kit.js'
import { defaults, filled, type ResolvedOptions } from '../options/resolve.js'
import { resolveIssuers } from '../options/resolve-issuers.js'
import { issuerAuthenticator } from './authenticator.js'
import { IssuerJudge } from './judge.js'
import { combineByIssuer, type Combine } from './picker.js'
import { userFinders, type UserFinders } from './user-finders.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { IssuerStats } from '../../types/issuers.js'

/** What the test kit may know of an issuer, by its authenticator. */
const forTests = new WeakMap<object, Pick<IssuerJudge, 'issuer' | 'source'>>()

kit.replaceKeys = (authenticator, makeKeys) => {
  const judge = forTests.get(authenticator)
  judge?.source.replace(makeKeys(judge.issuer))
  return judge?.issuer
}

/** The issuers of one registration. */
export interface Issuers {
  /** One for each issuer, by its name. */
  readonly authenticators: ReadonlyMap<string, Authenticator>
  /** Combines authenticators, and picks among issuers by the token. */
  readonly combine: Combine
  /** @throws ERR_AUTH_OPTION where users are found by `sub`, and a login or Basic finds them in the same place */
  readonly requireOwnUsers: UserFinders['requireOwnUsers']
  stats(): Record<string, IssuerStats>
  /** Has the keys fetched when the app is ready, and ends what is under way when it closes. */
  open(app: FastifyInstance): void
}

/**
 * Makes the authenticators of the option `issuers`. Nothing is fetched yet.
 *
 * @param own - the issuer of the tokens that the app signs itself
 * @param combine - combines authenticators by their schemes
 * @throws ERR_AUTH_OPTION
 */
export function openIssuers(
  options: ResolvedOptions,
  own: string | undefined,
  combine: Combine,
  log: FastifyBaseLogger,
): Issuers {
  const taken = Object.keys(options.authenticators)
  const issuers = resolveIssuers(options.issuers ?? {}, taken, own)
  const { finderOf, requireOwnUsers } = userFinders(options, issuers)
  const given = options.jwt?.tokenCache
  const tokenCache = given !== false && filled(defaults.tokenCache, given)
  const opened = issuers.map((issuer) => {
    const judge = new IssuerJudge(issuer, tokenCache, log)
    const authenticator = issuerAuthenticator(judge, finderOf(issuer), issuer.issuer)
    forTests.set(authenticator, judge)
    return { issuer, authenticator, source: judge.source }
  })
  return {
    authenticators: new Map(
      opened.map(({ issuer, authenticator }) => [issuer.name, authenticator]),
    ),
    combine: combineByIssuer(
      new Map(opened.map(({ issuer, authenticator }) => [authenticator, issuer.issuer])),
      combine,
    ),
    requireOwnUsers,
    stats: () =>
      Object.fromEntries(opened.map(({ issuer, source }) => [issuer.name, source.stats()])),
    open(app) {
      const stop = (done: () => void): void => {
        for (const { source } of opened) source.stop()
        done()
      }
      app.addHook('onReady', (done) => {
        for (const { source } of opened) source.start()
        done()
      })
      app.addHook('preClose', stop)
      app.addHook('onClose', (_app, done) => stop(done))
    },
  }
}
