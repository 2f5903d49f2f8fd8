import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { ABANDONED } from '../client.js'
import { reportRefusal, reportSuccess, startClock } from '../diagnostics.js'
import { AuthenticationFault, AuthnUsageError, isAuthenticationError } from '../errors.js'
import { sendRefusal } from '../unauthorized.js'
import { kLogin } from '../symbols.js'
import { viewOf } from '../user-view.js'
import { loginBody } from './schema.js'
import type { LoginFacts } from '../openapi/login.js'
import type { Registration } from '../registration.js'
import type { JwtServiceLike } from '../../types/jwt.js'
import type { LoginOptions, TokenFunc } from '../../types/options.js'
import type { UserService } from '../../types/user-service.js'

/** A validation fault as Fastify reports its own. */
class ValidationError extends Error {
  readonly code = 'FST_ERR_VALIDATION'
  readonly statusCode = 400
}

/**
 * Whether there is to be a login route.
 *
 * @throws ERR_AUTH_OPTION when one is asked for that could not work
 */
export function wantsLogin({ options, jwtService }: Registration): boolean {
  const { login, userService } = options
  if (login === false) return false
  const explicit = login !== undefined
  const canIssue =
    login?.tokenFunc !== undefined || jwtService?.canSign(login?.signingMethod) === true
  if (userService !== undefined && canIssue) return true
  if (!explicit) return false
  const needed = userService === undefined ? '"userService"' : '"jwt" with a key that signs'
  throw new AuthnUsageError(
    'ERR_AUTH_OPTION',
    `option "login" is set, but the option ${needed} is missing. Set it, or login: false.`,
  )
}

/**
 * Declares `POST /login` (specification, "POST /login"): always open, also in a protected scope, and
 * with a validator of its own, so that the compilers of the app are neither needed nor disturbed.
 *
 * @throws ERR_AUTH_OPTION, ERR_AUTH_KEY
 */
export function declareLogin(app: FastifyInstance, registration: Registration): void {
  const { options, jwtService } = registration
  const login: LoginOptions = options.login || {}
  const { config, schema, onRequest, ...routeOptions } = login.routeOptions ?? {}
  if (config !== undefined && 'auth' in config) {
    throw new AuthnUsageError(
      'ERR_AUTH_OPTION',
      'option "login.routeOptions.config.auth": the login route is always open. Leave it out.',
    )
  }
  const { usernameField = 'username', passwordField = 'password' } = login
  if (usernameField === passwordField) {
    throw new AuthnUsageError(
      'ERR_AUTH_OPTION',
      `options "login.usernameField" and "login.passwordField": found ${JSON.stringify(usernameField)} for both, expected two fields.`,
    )
  }
  const body = loginBody(usernameField, passwordField)
  const handler = loginHandler(registration, body, tokenMaker(login, jwtService))
  const facts: Described = { [kLogin]: { registration, usernameField, passwordField } }
  app.route({
    ...routeOptions,
    ...facts,
    method: 'POST',
    url: login.path ?? '/login',
    config: { ...config, auth: false },
    onRequest: [noStore, ...[onRequest ?? []].flat()],
    schema: { ...shown, ...schema, body: body.schema },
    validatorCompiler: () => (value) => {
      const problem = body.problem(value)
      return problem === null ? { value } : { error: new ValidationError(problem) }
    },
    handler,
  })
}

/** What documents find out of the route. */
interface Described {
  readonly [kLogin]: LoginFacts
}

/** For documents; nothing that validates or serializes. */
const shown = {
  summary: 'Log in',
  description: 'Answers with a token for a username and a password.',
  tags: ['authentication'],
}

/** Nothing that a login answers may be stored, errors included. */
const noStore: onRequestHookHandler = (_, reply, done) => {
  void reply.header('cache-control', 'no-store')
  done()
}

/** The function of the app, or tokens whose `sub` is the submitted username. */
function tokenMaker(
  { tokenFunc, signingMethod }: LoginOptions,
  jwtService: JwtServiceLike | null,
): (username: string, ...args: Parameters<TokenFunc>) => string | Promise<string> {
  if (tokenFunc !== undefined) return (_, request, user) => tokenFunc(request, user)
  const service = jwtService as JwtServiceLike
  const method = signingMethod ?? service.signingMethod
  service.require(method, 'sign', 'login')
  return (username) => service.generateTokenWithClaims({ sub: username }, method)
}

function loginHandler(
  registration: Registration,
  body: ReturnType<typeof loginBody>,
  makeToken: ReturnType<typeof tokenMaker>,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  const { userService, passwordField } = registration.options
  const check = registration.credentialCheck(userService as UserService, passwordField, 'login')
  return async (request, reply) => {
    // Again, and not only in the validator: a request of some content types has got past it before
    // (CVE-2026-25223 of Fastify), and attachValidation can be set by a hook.
    const problem = body.problem(request.body)
    if (problem !== null) throw new ValidationError(problem)
    const { username, password } = body.read(request.body)
    const started = startClock()
    let user: object
    try {
      user = await check(username, password, request)
    } catch (error) {
      if (error === ABANDONED) return reply.hijack()
      if (!isAuthenticationError(error)) throw error
      reportRefusal(request, error, 'login', started)
      sendRefusal(error, request, reply, registration, ['Bearer'], false)
      return reply
    }
    const token = await issue(makeToken, username, request, user)
    reportLogin(registration, request, user, started)
    return reply
      .header('content-type', 'application/json; charset=utf-8')
      .send(JSON.stringify({ token }))
  }
}

/** @throws AuthenticationFault for a user that cannot be shown */
function reportLogin(
  { hiddenFields }: Registration,
  request: FastifyRequest,
  user: object,
  started: number,
): void {
  let shown: object
  try {
    shown = viewOf(user, hiddenFields)
  } catch (error) {
    throw new AuthenticationFault('ERR_AUTH_AUTHENTICATOR', error)
  }
  reportSuccess(request, shown, 'login', started)
}

/** @throws AuthenticationFault when no token comes out */
async function issue(
  makeToken: ReturnType<typeof tokenMaker>,
  username: string,
  request: FastifyRequest,
  user: object,
): Promise<string> {
  let token: unknown
  try {
    token = await makeToken(username, request, user)
  } catch (error) {
    throw new AuthenticationFault('ERR_AUTH_TOKEN_FUNC', error)
  }
  if (typeof token === 'string' && token !== '') return token
  throw new AuthenticationFault(
    'ERR_AUTH_TOKEN_FUNC',
    new TypeError(
      `tokenFunc returned ${token === '' ? 'an empty string' : typeof token}, expected a token.`,
    ),
  )
}
