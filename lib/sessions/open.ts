import type { FastifyInstance } from 'fastify'
import { isProduction } from '../common/production.js'
import { within } from '../common/timeout.js'
import { wrongOption } from '../errors.js'
import { defaults, type ResolvedLogin, type ResolvedSessions } from '../options/resolve.js'
import { sessionsApi } from './api.js'
import { beginSession } from './begin.js'
import { Ends } from './ends.js'
import { declareSessionRoutes } from './routes.js'
import { StoreAccess } from './store-access.js'
import { memorySessions } from './stores/memory.js'
import { watchEnds } from './watch.js'
import type { SessionKeeper } from '../registration.js'
import type { SessionTools } from './tools.js'
import type { ValidAfter } from '../users/valid-after.js'
import type { JwtServiceLike } from '../../types/jwt.js'
import type { SessionStoreFactory } from '../../types/sessions.js'

/** The most seconds by which an authenticator lets clocks differ (`clockTolerance`). */
const longestTolerance = 300
/** Milliseconds that the boot waits until it is known which sessions are ended. */
const bootPatience = 2000

/** The registration that sessions are made for. */
export interface Surroundings {
  readonly app: FastifyInstance
  /** The root of the tree of Fastify instances. */
  readonly root: FastifyInstance
  readonly login: ResolvedLogin | false
  readonly service: JwtServiceLike | null
  readonly validAfter: ValidAfter | null
}

/**
 * Makes what the option `sessions` adds to a registration.
 *
 * @throws ERR_AUTH_OPTION
 */
export function openSessions(
  settings: ResolvedSessions,
  { app, root, login, service, validAfter }: Surroundings,
): SessionKeeper {
  if (service === null) stop('"sessions" is set, but "jwt" is missing, with the keys of its tokens')
  if (login !== false && login.tokenFunc !== undefined) {
    stop(
      '"login.tokenFunc" stands beside "sessions": its tokens could not be ended, since they lack the claim "sid". Use login.claims, which adds claims to the tokens of the plugin, and leave "tokenFunc" out',
    )
  }
  const factory = settings.store ?? memorySessions()
  claimSpace(app, root, factory.prefix, settings.name)
  warnLocal(app, factory)
  const store = factory.open(settings.name)
  const access = new StoreAccess(store, app.log)
  const ends = new Ends((error) => access.note(error))
  const expiry = service.expiry ?? defaults.jwt.expiry
  warnLongTokens(app, expiry, settings.idle)
  const tools: SessionTools = {
    settings,
    access,
    ends,
    service,
    method: login === false ? undefined : login.signingMethod,
    expiry,
    keepEnd: expiry + longestTolerance,
    claims: login === false ? undefined : login.claims,
    validAfter,
    counts: { begun: 0, refreshed: 0, reused: 0 },
  }
  const unwatch = watchEnds(store, ends)
  app.addHook('onReady', async () => {
    await within(bootPatience, ends.settled, () => new Error()).catch(() => undefined)
  })
  app.addHook('onClose', async () => {
    unwatch()
    await store.close()
  })
  return keeperOf(tools)
}

function keeperOf(tools: SessionTools): SessionKeeper {
  const { ends, access, counts } = tools
  return {
    api: sessionsApi(tools),
    judge: (claims) => ends.judge(claims),
    begin: (username, request, user) => beginSession(tools, username, request, user),
    declareRoutes: (app, registration, login) =>
      declareSessionRoutes(app, registration, login, tools),
    stats: () => ({
      ...counts,
      ended: ends.size,
      storeFailures: access.failures,
      isCaughtUp: ends.isCaughtUp,
    }),
  }
}

/** What sessions are kept under, by the root of each app: where from, and in which scope. */
const spaces = new WeakMap<FastifyInstance, Map<string, FastifyInstance>>()

/** @throws ERR_AUTH_OPTION where another registration keeps its sessions under the same names */
function claimSpace(
  app: FastifyInstance,
  root: FastifyInstance,
  prefix: string,
  name: string,
): void {
  const taken = spaces.get(root) ?? new Map<string, FastifyInstance>()
  spaces.set(root, taken)
  const key = JSON.stringify([prefix, name])
  const other = taken.get(key)
  // A second registration in one scope replaces the first.
  if (other !== undefined && other !== app) {
    const places = [other, app].map((each) => JSON.stringify(each.prefix || '/')).join(' and ')
    stop(
      `"sessions.name": found ${JSON.stringify(name)} for the registrations in the scopes ${places}, with the prefix ${JSON.stringify(prefix)} for both, so that alice of the one could refresh as alice of the other. Give each a name of its own, as in sessions: { name: 'admin' }`,
    )
  }
  taken.set(key, app)
}

function warnLocal(app: FastifyInstance, { isLocal }: SessionStoreFactory): void {
  if (!isLocal || !isProduction()) return
  app.log.warn(
    'fastify-authn keeps its sessions in the memory of this process: a restart logs everybody out, and other processes do not know them. Set sessions: { store } (redisSessions or sqlSessions of fastify-authn/sessions).',
  )
}

function warnLongTokens(app: FastifyInstance, expiry: number, idle: number): void {
  if (expiry < idle) return
  app.log.warn(
    `fastify-authn: access tokens live for ${expiry} s ("jwt.expiry") and sessions that are not used for ${idle} s ("sessions.idle"), so that nobody who refreshes when a token is over still has a session. Lower "jwt.expiry".`,
  )
}

function stop(problem: string): never {
  wrongOption(`option ${problem}.`)
}
