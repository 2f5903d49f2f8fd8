import { acceptSameTokens } from '../authenticators/shared-keys.js'
import { isUsageError, wrongOption } from '../errors.js'
import { bodyCarrier } from '../login/finish.js'
import { wantedLogin } from '../login/route.js'
import { claimsMaker } from '../login/token.js'
import { resolveSessions, type ResolvedLogin } from '../options/resolve.js'
import { openStore } from '../stores/store-access.js'
import { sessionsApi } from './api.js'
import { beginSession } from './issue.js'
import { revokeReplaced } from './logout.js'
import { Revocations } from './revocations.js'
import { declareSessionRoutes } from './routes.js'
import { memorySessions } from './stores/memory.js'
import { digestOf } from './refresh-token.js'
import { storeTimeout, type SessionTools } from './tools.js'
import { UserRevocations } from './user-revocations.js'
import type { Feature, FeatureContext } from '../feature.js'

/** The largest `clockTolerance` that an authenticator can have, in seconds. */
const longestTolerance = 300

/**
 * The option `sessions`: refresh tokens, logout, and access tokens that can be revoked.
 *
 * @throws ERR_AUTH_OPTION
 */
export function createFeature(context: FeatureContext): Feature {
  const { app, options, jwtService: service, tokenChecks } = context
  const settings = resolveSessions(options.sessions || {})
  if ((options.jwt ?? options.jwtService) === undefined) {
    wrongOption('option "sessions" is set, but "jwt" is missing: it has the keys of the tokens.')
  }
  const { tokenFunc, signingMethod }: Partial<ResolvedLogin> = options.login || {}
  if (tokenFunc !== undefined) {
    wrongOption(
      'option "login.tokenFunc" cannot be used with "sessions": its tokens lack the claim "sid", so they could not be revoked. Use login.claims instead, which adds claims to the tokens of the plugin.',
    )
  }
  const factory = settings.store ?? memorySessions()
  const { store, access, place } = openStore(context, {
    option: 'sessions',
    factory,
    name: settings.name,
    ifLocal:
      'fastify-authn keeps its sessions in the memory of this process: a restart logs all users out, and other processes do not know them. Set sessions: { store } (redisSessions or sqlSessions of fastify-authn/sessions).',
    ifUnavailable:
      'The session store is unavailable: logins, refreshes and logouts are rejected until it is back',
    patience: storeTimeout,
  })
  const revocations = new Revocations((error, isFirst) =>
    access.log(error, isFirst ? factory.help : ''),
  )
  const tools: SessionTools = {
    settings,
    tag: digestOf(place).slice(0, 6),
    access,
    revocations,
    userRevocations: new UserRevocations(),
    service,
    method: signingMethod,
    revocationTtl: service.expiry + longestTolerance,
    claimsOf: claimsMaker(options.login),
    tokenChecks,
    counts: { begun: 0, refreshed: 0, reused: 0 },
  }
  store.watch(revocations)
  let carrier = bodyCarrier
  return {
    name: 'sessions',
    api: sessionsApi(tools, app),
    tokenChecks: [{ claims: (claims) => revocations.check(claims) }],
    async issueTokens(...login) {
      await revokeReplaced(tools, carrier, ...login)
      return beginSession(tools, ...login)
    },
    routes(registration) {
      ;({ carrier } = registration)
      const login = wantedLogin(registration)
      if (login !== null) declareSessionRoutes(registration, login, tools)
    },
    check(registration, all) {
      if (all.some((other) => other !== registration && acceptSameTokens(registration, other))) {
        app.log.warn(
          'fastify-authn: another registration verifies with the same key, but does not know these sessions, so it accepts access tokens of revoked sessions until they expire. Give each its own "audience", or use one registration for both.',
        )
      }
    },
    stats: () => ({
      ...tools.counts,
      revoked: revocations.size,
      storeFailures: access.failures,
      isCaughtUp: revocations.isCaughtUp,
    }),
    async ready() {
      const late = (): void => revocations.lost(new Error(`no answer in ${storeTimeout} s`))
      const timer = setTimeout(late, storeTimeout * 1000)
      const error = await revocations.settled
      clearTimeout(timer)
      // Other errors are logged: a database may come later than the app.
      if (isUsageError(error)) throw error
    },
    close: () => store.close(),
  }
}
