import type { FastifyInstance } from 'fastify'
import { AuthnUsageError, wrongOption } from '../errors.js'
import { declareLogin } from '../login/route.js'
import type { ResolvedLogin } from '../options/resolve.js'
import { registrationOf, type Registration } from '../registration.js'
import type { Authn } from '../../types/authn.js'
import type { JwtServiceLike } from '../../types/jwt.js'
import type { Tree } from './tree.js'

/** Adds the login route. A default one, for which the app did not ask, does not replace that of another registration. */
export function addLogin(
  app: FastifyInstance,
  registration: Registration,
  login: ResolvedLogin,
  { logins }: Tree,
): void {
  const url = `${app.prefix.replace(/\/$/, '')}${login.path}`
  if (!app.hasRoute({ method: 'POST', url })) {
    declareLogin(app, registration, login)
    registration.sessions?.routes(app, registration)
    logins.add(url)
  } else if (!login.isExplicit && registration.sessions === null && logins.has(url)) {
    app.log.warn(`POST ${url} is already there; this registration of fastify-authn adds none`)
  } else {
    wrongOption(
      `option "login.path": POST ${url} is already declared. Choose another path, or set login: false.`,
    )
  }
}

/** @throws ERR_AUTH_DECORATOR */
export function decorate(
  app: FastifyInstance,
  name: 'authn' | 'jwtService',
  value: Authn | JwtServiceLike,
): void {
  if (Object.hasOwn(app, name)) {
    throw new AuthnUsageError(
      'ERR_AUTH_DECORATOR',
      `another plugin has already decorated the app with "${name}". Rename that one.`,
    )
  }
  app.decorate(name, value as never)
}

/** Removes from a scope what an earlier registration decorated it with, because a new one replaces it. */
export function undecorate(app: FastifyInstance): void {
  Reflect.deleteProperty(app, 'authn')
  // A registration without tokens did not add `jwtService`: the property belongs to the app.
  if (registrationOf(app)?.jwtService) Reflect.deleteProperty(app, 'jwtService')
}

/** Sets a property of one instance, and replaces the value of an earlier registration. */
export function own(app: FastifyInstance, key: PropertyKey, value: unknown): void {
  Object.defineProperty(app, key, { value, configurable: true, enumerable: false, writable: true })
}
