import type { FastifyInstance } from 'fastify'
import { AuthnUsageError, isAuthenticationError, refusal } from '../errors.js'
import { channels } from '../events.js'
import { answering, noStore, reportEntry, sendTokens, type Handler } from '../login/answer.js'
import { sameSiteOnly } from '../login/route.js'
import { kLogin, ValidationError, type SessionFacts } from '../login/schema.js'
import { logoutBody, refreshBody, type BodyReader } from './bodies.js'
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
  const bodies = { refresh: refreshBody(registration.cookies === null), logout: logoutBody() }
  for (const kind of kinds) {
    const body = bodies[kind]
    const handler = handlers[kind](registration, tools, body)
    declare(app, login, { kind, registration }, paths[kind], body, handler)
  }
}

const kinds = ['refresh', 'logout'] as const

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

function declare(
  app: FastifyInstance,
  { routeOptions }: ResolvedLogin,
  facts: SessionFacts,
  path: string,
  body: BodyReader,
  handler: Handler,
): void {
  const url = `${app.prefix.replace(/\/$/, '')}${path}`
  if (app.hasRoute({ method: 'POST', url })) {
    throw new AuthnUsageError(
      'ERR_AUTH_OPTION',
      `option "sessions": POST ${url} is already declared. Declare that one under another path, or choose another "login.path".`,
    )
  }
  // Hooks of the app may look for a username: they stay with the login route.
  const { config, constraints, bodyLimit, logLevel, schema } = routeOptions
  const { tags = ['authentication'], hide } = (schema ?? {}) as { tags?: string[]; hide?: boolean }
  const entry: { [kLogin]: SessionFacts } = { [kLogin]: facts }
  app.route({
    ...(constraints !== undefined && { constraints }),
    ...(bodyLimit !== undefined && { bodyLimit }),
    ...(logLevel !== undefined && { logLevel }),
    ...entry,
    method: 'POST',
    url: path,
    config: { ...config, auth: false },
    onRequest: [noStore, ...sameSiteOnly(facts.registration, facts.kind)],
    schema: { ...shown[facts.kind], tags, ...(hide !== undefined && { hide }), body: body.schema },
    validatorCompiler: () => (value) => {
      const problem = body.problem(value)
      return problem === null ? { value } : { error: new ValidationError(problem) }
    },
    handler,
  })
}

function refreshHandler(
  registration: Registration,
  tools: SessionTools,
  body: BodyReader,
): Handler {
  const { cookies } = registration
  return answering(registration, 'refresh', false, async (request, reply, started) => {
    const { refreshToken = null } = body.read(request.body)
    const inCookie = cookies?.refreshToken(request) ?? null
    const text = inCookie ?? refreshToken
    if (text === null) throw refusal('auth.no-credentials-provided')
    const { tokens, user } = await throttled(registration, request, text, () =>
      refreshSession(tools, registration, request, text),
    )
    reportEntry(registration, request, user, 'refresh', started)
    return sendTokens(registration, request, reply, tokens, inCookie === null)
  })
}

function logoutHandler(registration: Registration, tools: SessionTools, body: BodyReader): Handler {
  const { cookies } = registration
  return answering(registration, 'logout', true, async (request, reply) => {
    const { refreshToken = null, everywhere = false } = body.read(request.body)
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
  })
}

const handlers = { refresh: refreshHandler, logout: logoutHandler }
