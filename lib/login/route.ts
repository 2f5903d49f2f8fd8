import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  onRequestHookHandler,
} from 'fastify'
import { ABANDONED } from '../http/disconnect.js'
import { reportRefusal, reportSuccess, startClock } from '../events.js'
import { AuthnUsageError, faultOf, isAuthenticationError } from '../errors.js'
import { sendRefusal, setChallenges, wordsOf } from '../guard/response.js'
import { viewOf } from '../users/view.js'
import { kLogin, loginBody, type LoginFacts } from './schema.js'
import { issue, tokenMaker, type MakeToken } from './token.js'
import type { ResolvedLogin } from '../options/resolve.js'
import type { Registration } from '../registration.js'
import type { UserService } from '../../types/user-service.js'

/** A validation fault as Fastify reports its own. */
class ValidationError extends Error {
  readonly code = 'FST_ERR_VALIDATION'
  readonly statusCode = 400
}

/**
 * The login route that there is to be; null for none.
 *
 * @throws ERR_AUTH_OPTION when one is asked for that could not work
 */
export function wantedLogin({ options, jwtService }: Registration): ResolvedLogin | null {
  const { login, userService } = options
  if (login === false) return null
  const canIssue =
    login.tokenFunc !== undefined || jwtService?.canSign(login.signingMethod) === true
  if (userService !== undefined && canIssue) return login
  if (!login.isExplicit) return null
  const needed = userService === undefined ? '"userService"' : '"jwt" with a key that signs'
  throw new AuthnUsageError(
    'ERR_AUTH_OPTION',
    `option "login" is set, but the option ${needed} is missing. Set it, or login: false.`,
  )
}

/**
 * Declares `POST /login`. The route is always open, also in a protected scope. It has a validator of its
 * own, so that a schema compiler of the app (Zod, say) does not have to understand our schema.
 *
 * @throws ERR_AUTH_OPTION, ERR_AUTH_KEY
 */
export function declareLogin(
  app: FastifyInstance,
  registration: Registration,
  login: ResolvedLogin,
): void {
  const { config, schema, onRequest, ...routeOptions } = login.routeOptions
  if (config !== undefined && 'auth' in config) {
    throw new AuthnUsageError(
      'ERR_AUTH_OPTION',
      'option "login.routeOptions.config.auth": the login route is always open. Leave it out.',
    )
  }
  const { usernameField, passwordField } = login
  if (usernameField === passwordField) {
    throw new AuthnUsageError(
      'ERR_AUTH_OPTION',
      `options "login.usernameField" and "login.passwordField": found ${JSON.stringify(usernameField)} for both, expected two fields.`,
    )
  }
  const body = loginBody(usernameField, passwordField)
  const handler = loginHandler(registration, body, tokenMaker(login, registration.jwtService))
  const facts: { [kLogin]: LoginFacts } = {
    [kLogin]: { registration, usernameField, passwordField, example: exampleOf(schema) },
  }
  app.route({
    ...routeOptions,
    ...facts,
    method: 'POST',
    url: login.path,
    config: { ...config, auth: false },
    onRequest: [noStore, ...sameSiteOnly(registration), ...[onRequest ?? []].flat()],
    schema: { ...shown, ...schema, body: body.schema },
    validatorCompiler: () => (value) => {
      const problem = body.problem(value)
      return problem === null ? { value } : { error: new ValidationError(problem) }
    },
    handler,
  })
}

/** The part of the route schema that only API documents read. */
const shown = {
  summary: 'Log in',
  description: 'Answers with a token for a username and a password.',
  tags: ['authentication'],
}

/** The first of `examples` in what the app says of the body: the rest is ours to say. */
function exampleOf(schema: FastifySchema | undefined): object | undefined {
  const { examples } = (schema?.body ?? {}) as { examples?: unknown }
  const example: unknown = Array.isArray(examples) ? examples[0] : undefined
  return typeof example === 'object' && example !== null ? example : undefined
}

/** Caches must not store a token (RFC 6749 section 5.1); error replies get the same header. */
const noStore: onRequestHookHandler = (_, reply, done) => {
  void reply.header('cache-control', 'no-store')
  done()
}

/**
 * With cookies, a page of another site could log its visitor in as somebody else, who then reads what the visitor
 * writes. Such a request is refused before its body is read.
 */
export function sameSiteOnly(registration: Registration): onRequestHookHandler[] {
  const { cookies } = registration
  if (cookies === null) return []
  return [
    (request, reply, done) => {
      const error = cookies.crossSite(request)
      if (error === null) return done()
      reportRefusal(request, error, 'login', startClock())
      sendRefusal(error, wordsOf(error, request, registration), reply)
    },
  ]
}

function loginHandler(
  registration: Registration,
  body: ReturnType<typeof loginBody>,
  makeToken: MakeToken,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  const { options, cookies } = registration
  const { userService, passwordField } = options
  const check = registration.credentialCheck(userService as UserService, passwordField, 'login')
  return async (request, reply) => {
    // Checked again after the validator: some content types have bypassed validation before
    // (CVE-2026-25223 of Fastify), and a hook of the app can set attachValidation.
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
      setChallenges(error, request, reply, registration, ['Bearer'], false)
      sendRefusal(error, wordsOf(error, request, registration), reply)
      return reply
    }
    const token = await issue(makeToken, username, request, user)
    const answer = cookies === null ? { token } : cookies.give(request, reply, { token })
    reportLogin(registration, request, user, started)
    return reply
      .header('content-type', 'application/json; charset=utf-8')
      .send(JSON.stringify(answer))
  }
}

/** @throws AuthenticationFault when a getter of the user throws */
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
    throw faultOf('ERR_AUTH_AUTHENTICATOR', error)
  }
  reportSuccess(request, shown, 'login', started)
}
