import type { FastifyInstance, FastifySchema } from 'fastify'
import { wrongOption } from '../errors.js'
import { declareEntry, reportEntry, sendTokens, tokensSchema, type Work } from './entry.js'
import { loginBody, type Credentials, type OwnRoute } from './schema.js'
import { issue, tokenMaker } from './token.js'
import type { ResolvedLogin } from '../options/resolve.js'
import type { Registration, SessionKeeper } from '../registration.js'
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
  const body = loginBody(usernameField, passwordField, exampleOf(schema))
  const work = logIn(registration, beginning(registration, login))
  const responses = {
    200: tokensSchema(registration),
    401: 'The username or the password is wrong.',
  }
  const route: OwnRoute = { kind: 'login', registration, notes: { responses } }
  declareEntry(app, login.path, route, body, work, {
    ...login.routeOptions,
    schema: { ...shown, ...schema },
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

function logIn(registration: Registration, begin: SessionKeeper['begin']): Work<Credentials> {
  const { userService, passwordField } = registration.options
  const check = registration.passwords.credentialCheck(
    userService as UserService,
    passwordField,
    'login',
  )
  return async ({ username, password }, request, reply, started) => {
    const user = await check(username, password, request)
    const tokens = await begin(username, request, user)
    reportEntry(registration, request, user, 'login', started)
    return sendTokens(registration, request, reply, tokens)
  }
}

/** What makes the tokens of a login: a session, or else a token alone. */
function beginning(registration: Registration, login: ResolvedLogin): SessionKeeper['begin'] {
  const { sessions } = registration
  const makeToken = tokenMaker(login, registration)
  if (sessions !== null) return (...args) => sessions.begin(...args)
  return async (...args) => ({ token: await issue(makeToken, ...args) })
}
