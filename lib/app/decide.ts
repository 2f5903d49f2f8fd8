import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { wrongMark } from '../errors.js'
import { ownMark, routeName, unguarded } from '../marks/inherit.js'
import { parseMark } from '../marks/parse.js'
import { besideMark, misplacedInRoute } from '../marks/spelling.js'
import { registrationOf, type Decision } from '../registration.js'
import { isCorsPreflight } from './fastify.js'
import { markOf, routeMark, tokenOf, type DeclaredRoute } from './routes.js'

const open: Decision = Object.freeze({ plan: null })

/**
 * Decisions, by the token of a route. One that is made stays: whatever finds this object by the symbol of the tree
 * cannot change who may call a route.
 */
export class Decisions {
  readonly #made = new WeakMap<object, Decision>()

  constructor() {
    Object.freeze(this)
  }

  get(token: object): Decision | undefined {
    return this.#made.get(token)
  }

  add(token: object, decision: Decision): void {
    if (!this.#made.has(token)) this.#made.set(token, Object.freeze(decision))
  }
}

/**
 * Finds the decision for the route of a request. Later changes to the `config` of the route have no effect.
 *
 * @param missedRoutes - whether routes were declared before we could listen: they are decided at their first request
 * @returns a function that throws when the route is not known
 */
export function decisionFinder(
  decisions: Decisions,
  missedRoutes: boolean,
): (request: FastifyRequest) => Decision {
  /** By every `config` object that Fastify has made for a route. */
  const known = new WeakMap<object, Decision>()
  return (request) => {
    // Each read of `routeOptions` makes a new object, but `config` is always the same object.
    const { config, schema, method, url } = request.routeOptions
    const found = known.get(config)
    if (found !== undefined) return found
    const token = tokenOf(config)
    const decided = token && decisions.get(token)
    const decision = decided ?? (request.is404 ? open : missed())
    known.set(config, decision)
    return decision

    function missed(): Decision {
      if (!missedRoutes) throw new Error('The route is not known.')
      const options = { config, schema, method, url }
      checkPlaces(options, request.server)
      return resolve(ownMark(config), request.server, method, url)
    }
  }
}

/**
 * Decides what is done with the requests of a route.
 *
 * @throws ERR_AUTH_MARK for a mark that is not valid, has no effect, or names an authenticator that is not registered
 */
export function decide(route: DeclaredRoute): Decision {
  const { options, server, made } = route
  if (ownMark(options.config) !== made || route.isGivenChanged()) voidMark(options)
  checkPlaces(options, server)
  const own = routeMark(route)
  if (own === undefined && isCorsPreflight(options, server)) return open
  return resolve(own, server, options.method, options.url)
}

/** @throws ERR_AUTH_MARK for a mark that is not valid, or for which there is no authenticator */
function resolve(own: unknown, server: FastifyInstance, method: unknown, url: unknown): Decision {
  const place = routeName(method, url)
  const mark = markOf(own, server)
  if (mark === undefined) return open
  parseMark(mark, place)
  if (mark === false) return open
  const registration = registrationOf(server)
  if (registration === undefined) unguarded(method, url)
  const plan = registration.plan(mark, place)
  return plan.mode === false ? open : { plan, registration }
}

/** @throws ERR_AUTH_MARK for a mark in a place where it has no effect */
function checkPlaces(
  options: { readonly method: unknown; readonly url: unknown; readonly config?: unknown },
  server: FastifyInstance,
): void {
  const { method, url, config } = options
  const beside = besideMark(config, markOf(undefined, server))
  if (beside !== undefined) {
    const where = ownMark(config as object) === undefined ? 'without' : 'beside'
    wrongMark(
      `${routeName(method, url)}: found config.${beside} ${where} config.auth, where nobody asks for it; expected it in the mark of the route: config: { auth: { ${beside}: '…' } }. If config.${beside} means something else, rename it.`,
    )
  }
  const found = misplacedInRoute(options)
  if (found === undefined) return
  wrongMark(
    `${routeName(method, url)}: found ${found}, which has no effect, so the route would be open; expected the mark in config: app.get('/path', { config: { auth: true } }, handler). If ${found} means something else, add config: { auth: true }, or { auth: false } if everybody may call the route.`,
  )
}

function voidMark({ method, url }: RouteOptions): never {
  wrongMark(
    `${routeName(method, url)}: the mark has no effect, since it was changed after the route was declared, or is no enumerable property of config itself. Put it into config where the route is declared, or in an onRoute hook.`,
  )
}
