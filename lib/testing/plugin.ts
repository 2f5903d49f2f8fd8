import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { EXTRA_JWT_CLAIMS } from '../extra.js'
import { kMembers, kStandIn } from '../symbols.js'
import { actingOf, type Acting } from './acting.js'
import { misuse } from './error.js'
import type { StandIn } from '../registration.js'
import type { Authenticator } from '../../types/authenticator.js'

async function register(app: FastifyInstance): Promise<void> {
  if (process.env.NODE_ENV === 'production') {
    misuse(
      'authnTesting is registered while NODE_ENV is "production". It is for tests only: register it in the test, not in the app.',
    )
  }
  Object.defineProperty(rootOf(app), kStandIn, { value: standIn, configurable: true })
}

/**
 * A plugin for the app under test: with it, and only with it, `actingAs` works, in the whole app. Before or
 * after `fastify-authn`, before the app is ready.
 *
 * An app with it may also listen: what comes over a socket is never taken for an injected request.
 *
 * @throws ERR_AUTH_TESTING where `NODE_ENV` is `production`
 */
export const authnTesting = fp(register, { fastify: '5.x', name: 'fastify-authn-testing' })

/** Scopes inherit from the scope around them. */
function rootOf(app: FastifyInstance): FastifyInstance {
  const outer = Object.getPrototypeOf(app) as FastifyInstance
  return 'addHook' in outer ? rootOf(outer) : app
}

/** The authenticator itself for all requests but those that act as somebody. */
const standIn: StandIn = (authenticator) => {
  const { scheme, optional, onUnauthorized } = authenticator
  const { [kMembers]: members } = authenticator as { [kMembers]?: readonly Authenticator[] }
  return {
    ...(scheme !== undefined && { scheme }),
    ...(optional !== undefined && { optional }),
    ...(members !== undefined && { [kMembers]: members }),
    ...(onUnauthorized && {
      onUnauthorized: (...args: Parameters<typeof onUnauthorized>) =>
        authenticator.onUnauthorized?.(...args),
    }),
    authenticate(request) {
      const acting = actingOf(request)
      return acting === undefined ? authenticator.authenticate(request) : enter(request, acting)
    },
  }
}

function enter(
  request: Parameters<Authenticator['authenticate']>[0],
  { user, options: { claims, extra } }: Acting,
): object {
  if (claims !== undefined) request.extra[EXTRA_JWT_CLAIMS] = claims
  Object.assign(request.extra, extra)
  return user
}
