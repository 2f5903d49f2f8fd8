/**
 * The plugin, the functions that apps call, and the types of both.
 * @module fastify-authn
 */

import fp from 'fastify-plugin'
import { authnPlugin } from './plugin.js'
import type { AuthnPlugin } from '../types/plugin.js'

export { anyOf } from './authenticators/any-of.js'
export { basicAuthenticator } from './authenticators/basic.js'
export { configBasicAuthenticator } from './authenticators/config-basic.js'
export { jwtAuthenticator } from './authenticators/jwt.js'
export { configFromEnv, type Environment, type EnvironmentConfig } from './options/environment.js'
export { EXTRA_JWT_CLAIMS, storedUser } from './request/state.js'
export { AuthenticationError } from './errors/errors.js'
export { channels } from './events.js'
export { grantsOf } from './guard/grants.js'
export { hashPassword, needsRehash, verifyPassword } from './passwords/password.js'
export { JwtService } from './tokens/service.js'
export type * from './feature-table.js'
export type * from '../types/index.js'

/** The plugin: `await app.register(authn, { userService, jwt: { secret } })`. */
export const authn = fp(authnPlugin, { fastify: '^5.12.5', name: 'fastify-authn' }) as AuthnPlugin
export default authn
