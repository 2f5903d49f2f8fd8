import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AuthnUsageError, faultOf, isAuthenticationError } from '../errors.js'
import { channels, reportSuccess } from '../events.js'
import { answering, noStore, sendTokens, type Handler } from '../login/answer.js'
import { sameSiteOnly } from '../login/route.js'
import { ValidationError } from '../login/schema.js'
import { refusalOf } from '../common/refusals.js'
import { viewOf } from '../users/view.js'
import { logoutBody, refreshBody, type BodyReader } from './bodies.js'
import { leave, leavingOf } from './logout.js'
import { refreshSession, requireRefreshToken } from './refresh.js'
import { digestOf, parseRefreshToken } from './refresh-token.js'
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
  const { refresh, logout } = sessionPaths(login.path)
  const refreshed = refreshBody(registration.cookies === null)
  const left = logoutBody()
  declare(
    app,
    registration,
    login,
    refresh,
    refreshed,
    refreshHandler(registration, tools, refreshed),
    {
      summary: 'Refresh the tokens',
      description: 'Exchanges a refresh token for new tokens. Each refresh token can be used once.',
    },
  )
  declare(app, registration, login, logout, left, logoutHandler(registration, tools, left), {
    summary: 'Log out',
    description: 'Ends the session of a token, or with "everywhere" all sessions of its user.',
  })
}

function declare(
  app: FastifyInstance,
  registration: Registration,
  { routeOptions }: ResolvedLogin,
  path: string,
  body: BodyReader,
  handler: Handler,
  shown: object,
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
  app.route({
    ...(constraints !== undefined && { constraints }),
    ...(bodyLimit !== undefined && { bodyLimit }),
    ...(logLevel !== undefined && { logLevel }),
    method: 'POST',
    url: path,
    config: { ...config, auth: false },
    onRequest: [
      noStore,
      ...sameSiteOnly(registration, path.endsWith('/refresh') ? 'refresh' : 'logout'),
    ],
    schema: { ...shown, tags, ...(hide !== undefined && { hide }), body: body.schema },
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
  const { cookies, hiddenFields } = registration
  return answering(registration, 'refresh', false, async (request, reply, started) => {
    const { refreshToken = null } = body.read(request.body)
    const inCookie = cookies?.refreshToken(request) ?? null
    const text = inCookie ?? refreshToken ?? ''
    const { tokens, user } = await throttled(registration, request, text, () =>
      refreshSession(tools, registration, request, requireRefreshToken(text), ({ sid, sub }) => {
        channels.reuse.publish({ request, authenticator: 'refresh', sid, sub })
      }),
    )
    reportSuccess(request, shownUser(user, hiddenFields), 'refresh', started)
    return sendTokens(registration, request, reply, tokens, inCookie === null)
  })
}

function logoutHandler(registration: Registration, tools: SessionTools, body: BodyReader): Handler {
  const { cookies } = registration
  return answering(registration, 'logout', true, async (request, reply) => {
    const { refreshToken = null, everywhere = false } = body.read(request.body)
    const text = cookies?.refreshToken(request) ?? refreshToken
    const leaving = await throttled(registration, request, text ?? '', () =>
      leavingOf(tools, registration, request, text),
    )
    const ended = await leave(tools, leaving, everywhere)
    const { sid, sub } = leaving
    channels.logout.publish({ request, authenticator: 'logout', sid, sub, everywhere, ended })
    cookies?.clear(request, reply)
    return reply.code(204).send()
  })
}

/**
 * Judges a token as a login judges a password: those whose tokens were refused too often have to wait.
 *
 * @param text - the refresh token; empty where there is none
 * @throws (rejects) ERR_AUTH_TOO_MANY_ATTEMPTS, and what `work` throws
 */
async function throttled<T>(
  registration: Registration,
  request: FastifyRequest,
  text: string,
  work: () => Promise<T>,
): Promise<T> {
  const token = parseRefreshToken(text)
  const attempt = registration.openTokenAttempt(
    token === null ? '' : digestOf(token.handle),
    request,
  )
  await attempt.begin(true)
  try {
    const result = await work()
    await attempt.succeeded()
    return result
  } catch (error) {
    if (isAuthenticationError(error) && refusalOf(error.code)?.status === 401) {
      await attempt.failed()
    }
    throw error
  }
}

/** @throws AuthenticationFault when a getter of the user throws */
function shownUser(user: object, hiddenFields: ReadonlySet<string>): object {
  try {
    return viewOf(user, hiddenFields)
  } catch (error) {
    throw faultOf('ERR_AUTH_AUTHENTICATOR', error)
  }
}
