import { isSameService } from '../authenticators/shared-keys.js'
import { isUsageError, wrongOption } from '../errors/errors.js'
import { withTimeout } from '../common/timeout.js'
import { confirmRoutes } from '../login/confirm.js'
import { wantedLogin } from '../login/route.js'
import { sessionsApi } from './api.js'
import { beginSession } from './issue.js'
import { findReplaced } from './logout.js'
import { parseRefreshToken } from './refresh-token.js'
import { sessionRoutes } from './routes.js'
import { isOwnSession, openTools, storeTimeout, type SessionTools } from './tools.js'
import type { Feature, FeatureContext } from '../feature.js'
import type { TokenCheck } from '../tokens/issued.js'
import type { ResolvedSessions } from './options.js'

export { resolve, schema } from './options.js'

const toolsOf = new WeakMap<FeatureContext['app'], SessionTools>()

/** The option `sessions`: refresh tokens, logout, and access tokens that can be revoked. @throws ERR_AUTH_OPTION */
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
  let accountSubjects: SessionTools['accountSubject'][] = []
  const tools: SessionTools = { ...openTools(context, () => accountSubjects), family: [] }
  let isOnceNeeded = false
  toolsOf.set(app, tools)
  const { service, method } = tools
  if (service.hasKeySet) service.require(method, 'sign', 'the option "sessions"')
  const { store, client, revocations } = tools
  store.watch(revocations)
  /** Rejects revoked sessions in registrations with the same keys, which accept the tokens of these sessions. */
  const ofOthers: TokenCheck = {
    claims(claims) {
      if (isOwnSession(tools, String(claims.sid))) revocations.check(claims)
    },
  }
  return {
    name: 'sessions',
    givesMfa: context.resolved.mfa,
    api: sessionsApi(tools, app),
    knows: (text) => parseRefreshToken(text) !== null,
    tokenChecks: [{ claims: (claims) => revocations.check(claims) }],
    async issueTokens(...login) {
      const [, request, , { confirm, once, replaces }, registration] = login
      const isAnew = replaces === undefined
      const replaced = isAnew ? await findReplaced(tools, request, registration) : null
      // One that was used begins no session, and must not end that of the browser.
      if (once !== undefined) return beginSession(tools, replaced, ...login)
      if (replaced !== null) await confirm?.()
      await replaced?.revoke()
      return beginSession(tools, null, ...login)
    },
    routes(registration) {
      const login = wantedLogin(registration)
      if (login === null) return []
      return [...sessionRoutes(registration, login, tools), ...confirmRoutes(registration, login)]
    },
    check(registration, all) {
      const isRelated = (other: typeof registration): boolean =>
        isSameService(options.userService, other.options.userService)
      const needing = registration.features.find(({ beginsOnce }) => beginsOnce)
      isOnceNeeded = needing !== undefined
      if (needing && !tools.factory.once) {
        wrongOption(
          `option "sessions.store": found a store that cannot tell that a login was used, expected one for the option ${JSON.stringify(needing.name)}: memorySessions, redisSessions or sqlSessions, or a store of yours with "once: true" whose create() resolves to null for a "sid" that was used. sessionStoreSuite of fastify-authn/testing tries it.`,
        )
      }
      tools.family = all.filter(isRelated).flatMap((each) => toolsOf.get(each.app) ?? [])
      accountSubjects = tools.family.flatMap(({ accountSubject }) => accountSubject ?? [])
      const { login } = options
      if (accountSubjects.length > 0 && login !== false && login.subject === undefined) {
        wrongOption(
          `option "login.subject" is missing in the scope ${JSON.stringify(app.prefix || '/')}: another registration with the same "userService" has "accounts", and its resets revoke the sessions here by their "sub". Set the "login.subject" that it has.`,
        )
      }
      const others = all.filter((each) => each !== registration)
      for (const { tokenChecks } of others)
        if (!tokenChecks.includes(ofOthers)) tokenChecks.push(ofOthers)
    },
    stats: () => ({
      ...tools.counts,
      revoked: revocations.size,
      storeFailures: client.failures,
      isCaughtUp: revocations.isCaughtUp,
    }),
    async ready() {
      const late = (): Error => new Error(`no answer in ${storeTimeout} s`)
      const timer = setTimeout(() => revocations.lost(late()), storeTimeout * 1000)
      const probe = async () => isOnceNeeded && store.requireOnce?.()
      const probed = withTimeout(probe(), storeTimeout * 1000, late).catch(
        (error: unknown) => error,
      )
      const errors = await Promise.all([revocations.settled, probed])
      clearTimeout(timer)
      // Other errors are logged: a database may come later than the app.
      const usage = errors.find(isUsageError)
      if (usage !== undefined) throw usage
    },
    close: () => store.close(),
  }
}
