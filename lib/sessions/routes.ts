import type { FastifyInstance, RouteShorthandOptions } from 'fastify'
import { defined } from '../common/objects.js'
import { isAuthenticationError, refusal, wrongOption } from '../errors.js'
import { channels } from '../events.js'
import { declareEntry, reportEntry, sendTokens, tokensSchema, type Work } from '../login/entry.js'
import { logoutBody, refreshBody, type SessionBody } from './bodies.js'
import { leave, leavingOf, type Leaving } from './logout.js'
import { refreshSession } from './refresh.js'
import { throttled } from './throttled.js'
import type { SessionTools } from './tools.js'
import type { ResolvedLogin } from '../options/resolve.js'
import type { Registration } from '../registration.js'

/** The paths of the routes that stand beside a login route. */
export function sessionPaths(login: string): { refresh: string; logout: string } {
  const path = login.replace(/\/+$/, '')
  return { refresh: `${path}/refresh`, logout: `${path.replace(/\/[^/]*$/, '')}/logout` }
}

/**
 * Declares the routes that refresh and end sessions. Like the login route they are always open.
 *
 * @throws ERR_AUTH_OPTION where a path is taken
 */
export function declareSessionRoutes(
  app: FastifyInstance,
  registration: Registration,
  login: ResolvedLogin,
  tools: SessionTools,
): void {
  const paths = sessionPaths(login.path)
  const { authenticators, cookies } = registration
  const rejected = { 401: 'The token is missing or invalid, or its session was revoked.' }
  const notes = {
    refresh: { responses: { 200: tokensSchema(registration), ...rejected } },
    logout: {
      responses: { 204: 'The session is revoked.', ...rejected },
      accepts: [authenticators.get('jwt') ?? []].flat(),
    },
  }
  const bodies = { refresh: refreshBody(cookies === null), logout: logoutBody() }
  for (const kind of ['refresh', 'logout'] as const) {
    const url = `${app.prefix.replace(/\/$/, '')}${paths[kind]}`
    if (app.hasRoute({ method: 'POST', url })) {
      wrongOption(
        `option "sessions": POST ${url} is already declared. Declare that one under another path, or choose another "login.path".`,
      )
    }
    const work = works[kind](registration, tools)
    const route = { kind, registration, notes: notes[kind] }
    declareEntry(app, paths[kind], route, bodies[kind], work, optionsOf(login, kind))
  }
}

/** Options of the login route that the others have too. Hooks of the app may look for a username: they stay with it. */
function optionsOf(
  { routeOptions }: ResolvedLogin,
  kind: keyof typeof shown,
): RouteShorthandOptions {
  const { config, constraints, bodyLimit, logLevel, schema } = routeOptions
  const { tags = ['authentication'], hide } = (schema ?? {}) as { tags?: string[]; hide?: boolean }
  // Plain: Fastify's own types know these members only where @fastify/swagger is loaded.
  const own: object = { ...shown[kind], ...defined({ tags, hide }) }
  return { ...defined({ config, constraints, bodyLimit, logLevel }), schema: own }
}

/** The part of the route schemas that only API documents read. */
const shown = {
  refresh: {
    summary: 'Refresh the tokens',
    description: 'Exchanges a refresh token for new tokens. Each refresh token can be used once.',
  },
  logout: {
    summary: 'Log out',
    description: 'Ends the session of a token, or with `everywhere` all sessions of its user.',
  },
}

function refresh(registration: Registration, tools: SessionTools): Work<SessionBody> {
  const { cookies } = registration
  return async ({ refreshToken = null }, request, reply, started) => {
    const inCookie = cookies?.refreshToken(request) ?? null
    const text = inCookie ?? refreshToken
    if (text === null) throw refusal('auth.no-credentials-provided')
    const { tokens, user } = await throttled(registration, request, text, () =>
      refreshSession(tools, registration, request, text),
    )
    reportEntry(registration, request, user, 'refresh', started)
    return sendTokens(registration, request, reply, tokens, inCookie === null)
  }
}

function logOut(registration: Registration, tools: SessionTools): Work<SessionBody> {
  const { cookies } = registration
  return async ({ refreshToken = null, everywhere = false }, request, reply) => {
    const text = cookies?.refreshToken(request) ?? refreshToken
    let leaving: Leaving
    try {
      leaving = await throttled(registration, request, text, () =>
        leavingOf(tools, registration, request, text),
      )
    } catch (error) {
      // There is nothing left to end, and the browser should not keep what is worth nothing.
      if (isAuthenticationError(error) && error.statusCode === 401) cookies?.clear(request, reply)
      throw error
    }
    const ended = await leave(tools, leaving, everywhere)
    const { sid, sub } = leaving
    channels.logout.publish({ request, authenticator: 'logout', sid, sub, everywhere, ended })
    cookies?.clear(request, reply)
    return reply.code(204).send()
  }
}

const works = { refresh, logout: logOut }
