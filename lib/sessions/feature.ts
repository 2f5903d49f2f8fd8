import { acceptSameTokens } from '../authenticators/shared-keys.js'
import { isUsageError, wrongOption } from '../errors/errors.js'
import { wantedLogin } from '../login/route.js'
import { sessionsApi } from './api.js'
import { beginSession } from './issue.js'
import { revokeReplaced } from './logout.js'
import { sessionRoutes } from './routes.js'
import { openTools, storeTimeout } from './tools.js'
import type { Feature, FeatureContext } from '../feature.js'
import type { ResolvedSessions } from './options.js'

export { resolve, schema } from './options.js'

/**
 * The option `sessions`: refresh tokens, logout, and access tokens that can be revoked.
 *
 * @throws ERR_AUTH_OPTION
 */
export function create(context: FeatureContext<ResolvedSessions>): Feature {
  const { app, options } = context
  if ((options.jwt ?? options.jwtService) === undefined) {
    wrongOption('option "sessions" is set, but "jwt" is missing: it has the keys of the tokens.')
  }
  if (options.login !== false && options.login.tokenFunc !== undefined) {
    wrongOption(
      'option "login.tokenFunc" cannot be used with "sessions": its tokens lack the claim "sid", so they could not be revoked. Use login.claims instead, which adds claims to the tokens of the plugin.',
    )
  }
  const tools = openTools(context)
  const { service, method } = tools
  if (service.hasKeySet) service.require(method, 'sign', 'the option "sessions"')
  const { store, client, revocations } = tools
  store.watch(revocations)
  return {
    name: 'sessions',
    api: sessionsApi(tools, app),
    tokenChecks: [{ claims: (claims) => revocations.check(claims) }],
    async issueTokens(...login) {
      await revokeReplaced(tools, ...login)
      return beginSession(tools, ...login)
    },
    routes(registration) {
      const login = wantedLogin(registration)
      return login === null ? [] : sessionRoutes(registration, login, tools)
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
      storeFailures: client.failures,
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
