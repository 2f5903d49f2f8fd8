import type { FastifyInstance, FastifySchema } from 'fastify'
import { wrongOption } from '../errors.js'
import { declareOwnRoute, reportTokens, sendTokens, type Work } from './own-route.js'
import { loginBody, type Credentials, type LoginFacts } from './schema.js'
import { tokenIssuer } from './token.js'
import type { ResolvedLogin } from '../options/resolve.js'
import type { Registration } from '../registration.js'
import type { UserService } from '../../types/user-service.js'

/**
 * The login route that there is to be; null for none.
 *
 * @throws ERR_AUTH_OPTION when one is asked for that could not work
 */
export function wantedLogin({ options, jwtService, sessions }: Registration): ResolvedLogin | null {
  const { login, userService } = options
  if (login === false) return null
  const canIssue =
    login.tokenFunc !== undefined || jwtService?.canSign(login.signingMethod) === true
  if (userService !== undefined && canIssue) return login
  if (!login.isExplicit && sessions === null) return null
  const needed = userService === undefined ? '"userService"' : '"jwt" with a key that signs'
  return wrongOption(
    `option "${login.isExplicit ? 'login' : 'sessions'}" is set, but the option ${needed} is missing. Set it, or login: false.`,
  )
}

/**
 * Declares `POST /login`.
 *
 * @throws ERR_AUTH_OPTION, ERR_AUTH_KEY
 */
export function declareLogin(
  app: FastifyInstance,
  registration: Registration,
  login: ResolvedLogin,
): void {
  const { config, schema } = login.routeOptions
  if (config !== undefined && 'auth' in config) {
    wrongOption(
      'option "login.routeOptions.config.auth": the login route is always open. Leave it out.',
    )
  }
  const { usernameField, passwordField } = login
  if (usernameField === passwordField) {
    wrongOption(
      `options "login.usernameField" and "login.passwordField": found ${JSON.stringify(usernameField)} for both, expected two fields.`,
    )
  }
  const body = loginBody(usernameField, passwordField)
  const example = exampleOf(schema)
  const facts: LoginFacts = { kind: 'login', registration, usernameField, passwordField, example }
  declareOwnRoute(app, login.path, facts, body, logIn(registration, login), {
    ...login.routeOptions,
    schema: { ...documented, ...schema },
  })
}

/** The part of the route schema that only API documents read. */
const documented = {
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

function logIn(registration: Registration, login: ResolvedLogin): Work<Credentials> {
  const { options, passwords, sessions } = registration
  const userService = options.userService as UserService
  const check = passwords.credentialCheck(userService, options.passwordField, 'login')
  const issueToken = tokenIssuer(login, registration)
  const issueTokens = sessions?.issueTokens ?? issueToken
  return async ({ username, password }, request, reply, started) => {
    const user = await check(username, password, request)
    const tokens = await issueTokens(username, request, user)
    reportTokens(registration, request, user, 'login', started)
    return sendTokens(registration, request, reply, tokens)
  }
}
