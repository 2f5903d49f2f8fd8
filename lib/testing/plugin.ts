import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { EXTRA_JWT_CLAIMS } from '../request/extra.js'
import { rootOf } from '../app/fastify.js'
import { isProduction } from '../common/production.js'
import { kit, testGrants } from '../common/kit.js'
import { actingOf, type Acting } from './acting.js'
import { misuse } from './error.js'
import type { Authenticator } from '../../types/authenticator.js'

/** The apps in which this plugin is registered. */
const roots = new WeakSet<object>()

async function register(app: FastifyInstance): Promise<void> {
  if (isProduction()) {
    misuse(
      `authnTesting is registered while NODE_ENV is ${JSON.stringify(process.env.NODE_ENV)}. It is for tests only: register it in the test, not in the app.`,
    )
  }
  roots.add(rootOf(app))
}

/**
 * A plugin for the app under test. `actingAs` works only in an app with this plugin, and then in the whole app. Register
 * it before or after `fastify-authn`, before the app is ready.
 *
 * The app may also listen: requests from the network are never taken for injected ones.
 *
 * @throws ERR_AUTH_TESTING where `NODE_ENV` is `production` or `prod`, in any case
 */
export const authnTesting = fp(register, { fastify: '5.x', name: 'fastify-authn-testing' })

/** Whether `actingAs` works in the app of a scope. */
export function hasTestKit(scope: FastifyInstance): boolean {
  return roots.has(rootOf(scope))
}

// Wraps an authenticator: requests of `actingAs` get their user, all others go to the authenticator itself. The
// wrapper has the same members, and they are called with the authenticator as `this`.
kit.standIn = (authenticator, scope) => {
  if (!hasTestKit(scope as FastifyInstance)) return authenticator
  const authenticate = (request: FastifyRequest): unknown => {
    const acting = actingOf(request)
    return acting === undefined ? authenticator.authenticate(request) : enter(request, acting)
  }
  return new Proxy({} as Authenticator, {
    get(_, name) {
      if (name === 'authenticate') return authenticate
      const member: unknown = Reflect.get(authenticator, name)
      return typeof member === 'function' ? (member.bind(authenticator) as unknown) : member
    },
    // The plugin reads own properties of authenticators, see ownOf(): the wrapper has to have the same ones.
    getOwnPropertyDescriptor(_, name) {
      const own = Reflect.getOwnPropertyDescriptor(authenticator, name)
      return own && { ...own, configurable: true }
    },
  })
}

function enter(
  request: FastifyRequest,
  { user, options: { claims, extra }, grants }: Acting,
): object {
  if (claims !== undefined) request.extra[EXTRA_JWT_CLAIMS] = claims
  Object.assign(request.extra, extra)
  testGrants.set(request, grants)
  return user
}
