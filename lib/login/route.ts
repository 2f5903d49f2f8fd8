import type { FastifySchema } from 'fastify'
import { wrongOption } from '../errors/errors.js'
import { finishLogin, sendBody } from './finish.js'
import { pluginRouteOf, type PluginRoute, type Work } from '../http/plugin-route.js'
import { declarePluginRoute, throwTaken, urlOf } from './plugin-routes.js'
import { askedSchema, loginBody } from './schema.js'
import { issuedAfter } from './token.js'
import type { ResolvedLogin } from '../options/resolve.js'
import type { Feature, Registration } from '../feature.js'
import type { UserService } from '../../types/user-service.js'

/** Null for none. @throws ERR_AUTH_OPTION for a route that could not work; ERR_AUTH_KEY if no key of a key set signs */
export function wantedLogin({ options, jwtService, features }: Registration): ResolvedLogin | null {
  const { login, userService } = options
  if (login === false) return null
  if (userService !== undefined && login.tokenFunc === undefined && jwtService.hasKeySet) {
    const wanted = 'the login route (login: false leaves it out)'
    jwtService.require(login.signingMethod, 'sign', wanted)
  }
  const canIssue = login.tokenFunc !== undefined || jwtService.canSign(login.signingMethod)
  if (userService !== undefined && canIssue) return login
  const issuer = issuerOf(features)
  if (!login.isExplicit && issuer === undefined) return null
  const needed = userService === undefined ? '"userService"' : '"jwt" with a key that signs'
  return wrongOption(
    `option "${login.isExplicit ? 'login' : issuer?.name}" is set, but the option ${needed} is missing. Set it, or login: false.`,
  )
}

function issuerOf(features: Registration['features']): Feature | undefined {
  return features.find(({ issueTokens }) => issueTokens !== undefined)
}

/** A route that the app did not ask for gives way to another registration's. @throws ERR_AUTH_OPTION, ERR_AUTH_KEY */
export function addLogin(registration: Registration, routes: readonly object[]): void {
  const login = wantedLogin(registration)
  if (login === null) return
  const { app, features } = registration
  const route = loginRoute(registration, login)
  const url = urlOf(app, login.path)
  if (!app.hasRoute({ method: 'POST', url })) return declarePluginRoute(registration, route)
  const isDefault = !login.isExplicit && issuerOf(features) === undefined
  const isOurs = routes.some(
    (each) => pluginRouteOf(each) && (each as { url?: string }).url === url,
  )
  if (!isDefault || !isOurs) throwTaken(route, url)
  app.log.warn(
    `POST ${url} already exists, so this registration of fastify-authn adds no login route. Set login: { path } if it needs one`,
  )
}

function loginRoute(registration: Registration, login: ResolvedLogin): PluginRoute {
  const { config, schema } = login.routeOptions
  if (config !== undefined && 'auth' in config) {
    wrongOption(
      'option "login.routeOptions.config.auth": the login route is always open. Leave it out.',
    )
  }
  const { usernameField, passwordField, path } = login
  if (usernameField === passwordField) {
    wrongOption(
      `options "login.usernameField" and "login.passwordField": found ${JSON.stringify(usernameField)} for both, expected two fields.`,
    )
  }
  const { options, passwords, tokenChecks, features, carrier, secondFactor } = registration
  const responses = {
    200: carrier.schema(issuerOf(features) !== undefined),
    ...(secondFactor && { 202: askedSchema }),
    401: 'The username or the password is wrong.',
  }
  const documented = {
    summary: 'Log in',
    description: 'Returns a token for a username and a password.',
    tags: ['authentication'],
  }
  const body = loginBody(usernameField, passwordField, exampleOf(schema))
  const users = {
    userService: options.userService as UserService,
    passwordField: options.passwordField,
  }
  const check = passwords.loginCheck(users, (user) => issuedAfter(tokenChecks, user))
  const work: Work = async (request, reply, started) => {
    const { username, password } = body.read(request.body)
    const { user, confirm, replacement } = await check(username, password, request)
    const authentication = { amr: ['pwd'] }
    const attempt = { username, user, started, confirm, authentication, replacement }
    return sendBody(reply, await finishLogin(registration, request, reply, attempt))
  }
  const route = { kind: 'login', method: 'POST', path, body, work, notes: { responses } } as const
  const merged = { ...login.routeOptions, schema: { ...documented, ...schema } }
  return { ...route, givesTokens: true, option: 'login.path', ifTaken: moveRoutes, options: merged }
}

export const moveRoutes =
  'Move the routes of fastify-authn with login: { path }, which also moves refresh and logout, or leave all of them out with login: false.'

/** The first of the `examples` in the app's schema of the body, whose other members are not used. */
function exampleOf(schema: FastifySchema | undefined): object | undefined {
  const { examples } = (schema?.body ?? {}) as { examples?: unknown }
  const example: unknown = Array.isArray(examples) ? examples[0] : undefined
  return typeof example === 'object' && example !== null ? example : undefined
}
