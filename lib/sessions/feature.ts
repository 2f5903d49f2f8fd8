import type { FastifyInstance } from 'fastify'
import { isProduction } from '../common/production.js'
import { wrongOption } from '../errors.js'
import { defaults, type ResolvedLogin, type ResolvedSessions } from '../options/resolve.js'
import { sessionsApi } from './api.js'
import { beginSession } from './issue.js'
import { Revocations } from './revocations.js'
import { declareSessionRoutes } from './routes.js'
import { StoreAccess } from './store-access.js'
import { memorySessions } from './stores/memory.js'
import type { SessionKeeper } from '../registration.js'
import type { SessionTools } from './tools.js'
import type { ValidAfter } from '../users/valid-after.js'
import type { JwtServiceLike } from '../../types/jwt.js'

/** The most seconds by which an authenticator lets clocks differ (`clockTolerance`). */
const longestTolerance = 300

/**
 * What the option `sessions` adds to a registration.
 *
 * @throws ERR_AUTH_OPTION
 */
export function sessionsFeature(
  settings: ResolvedSessions,
  app: FastifyInstance,
  login: ResolvedLogin | false,
  service: JwtServiceLike | null,
  validAfter: ValidAfter | null,
): SessionKeeper {
  if (service === null) stop('"sessions" is set, but "jwt" is missing, with the keys of its tokens')
  const { tokenFunc, signingMethod, claims }: Partial<ResolvedLogin> = login === false ? {} : login
  if (tokenFunc !== undefined) {
    stop(
      '"login.tokenFunc" stands beside "sessions": its tokens could not be revoked, since they lack the claim "sid". Use login.claims, which adds claims to the tokens of the plugin, and leave "tokenFunc" out',
    )
  }
  const { prefix, isLocal, open } = settings.store ?? memorySessions()
  const expiry = service.expiry ?? defaults.jwt.expiry
  if (isLocal && isProduction()) app.log.warn(lostSessions)
  const store = open(settings.name)
  const access = new StoreAccess(store, app.log)
  const revocations = new Revocations((error) => access.log(error))
  const tools: SessionTools = {
    settings,
    access,
    revocations,
    service,
    method: signingMethod,
    expiry,
    revocationTtl: expiry + longestTolerance,
    claims,
    validAfter,
    counts: { begun: 0, refreshed: 0, reused: 0 },
  }
  store.watch(revocations)
  app.addHook('onReady', () => revocations.settled)
  const feature: SessionKeeper = {
    name: 'sessions',
    api: sessionsApi(tools),
    place: JSON.stringify([prefix, settings.name]),
    checkToken: (claims) => revocations.check(claims),
    issueTokens: (username, request, user) => beginSession(tools, username, request, user),
    routes: (scope, registration) => declareSessionRoutes(scope, registration, tools),
    check(registrations) {
      const others = registrations.map(({ sessions }) => sessions).filter((it) => it !== feature)
      if (others.some((other) => other?.place === feature.place)) {
        stop(
          `"sessions.name": found ${JSON.stringify(settings.name)} for two registrations, with the prefix ${JSON.stringify(prefix)} for both, so that alice of the one could refresh as alice of the other. Give each a name of its own, as in sessions: { name: 'admin' }`,
        )
      }
    },
    stats: () => ({
      ...tools.counts,
      revoked: revocations.size,
      storeFailures: access.failures,
      isCaughtUp: revocations.isCaughtUp,
    }),
    close: () => store.close(),
  }
  return feature
}

const lostSessions =
  'fastify-authn keeps its sessions in the memory of this process: a restart logs all users out, and other processes do not know them. Set sessions: { store } (redisSessions or sqlSessions of fastify-authn/sessions).'

function stop(problem: string): never {
  wrongOption(`option ${problem}.`)
}
