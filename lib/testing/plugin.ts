import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { rootOf } from '../app/fastify.js'
import { membersOf } from '../authenticators/any-of.js'
import { registrationOf } from '../request/registration.js'
import { setAsked, setClaims, setCredential, setGrants, setLevel } from '../request/state.js'
import { isProduction } from '../common/production.js'
import { kit, testGrants } from '../common/kit.js'
import { actingOf, type Acting } from './acting.js'
import { testingError } from './error.js'
import type { IssuersTesting } from '../issuers/feature.js'
import type { Authenticator } from '../../types/authenticator.js'

const roots = new WeakSet<object>()

/**
 * A plugin for the app under test. `actingAs` works only in an app with this plugin, and then in the whole app.
 * Register it before or after `fastify-authn`, before the app is ready. The app may also listen:
 * no request from the network can act as a user.
 * @throws ERR_AUTH_TESTING where `NODE_ENV` is `production` or `prod`, in any case
 */
export const authnTesting = fp(
  async (app: FastifyInstance): Promise<void> => {
    if (isProduction()) {
      testingError(
        `authnTesting is registered while NODE_ENV is ${JSON.stringify(process.env.NODE_ENV)}. It is for tests only: register it in the test, not in the app.`,
      )
    }
    roots.add(rootOf(app))
  },
  { fastify: '^5.12.5', name: 'fastify-authn-testing' },
)

/** Whether `actingAs` works in the app of a scope. */
export function hasTestKit(scope: FastifyInstance): boolean {
  return roots.has(rootOf(scope))
}

/** The member `testing` of a feature of the nearest registration. */
export function testingOf<Testing extends object>(
  scope: FastifyInstance,
  feature: string,
): Testing | undefined {
  const features = registrationOf(scope)?.features ?? []
  return features.find(({ name }) => name === feature)?.testing as Testing | undefined
}

kit.standIn = (authenticator, scope) => {
  if (!hasTestKit(scope as FastifyInstance)) return authenticator
  const authenticate = (request: FastifyRequest): unknown => {
    const acting = actingOf(request)
    if (acting === undefined) return authenticator.authenticate(request)
    const ofKeys = acting.apiKey && registrationOf(request.server)?.authenticators.get('apiKey')
    const asked = ofKeys ?? membersOf(authenticator)[0] ?? authenticator
    setAsked(request, asked)
    return enter(request, acting, asked)
  }
  return Object.create(authenticator, {
    authenticate: { value: authenticate },
    // Bound, because an instance of a class may use its private members there.
    onUnauthorized: { value: authenticator.onUnauthorized?.bind(authenticator) },
  }) as Authenticator
}

function enter(request: FastifyRequest, acting: Acting, asked: Authenticator): object {
  const { user, claims, apiKey, extra, scopes, roles, mfa, authTime } = acting
  if (claims !== undefined) setClaims(request, claims, true)
  const issuers = testingOf<IssuersTesting>(request.server, 'issuers')
  const grants = issuers?.grantsOf(asked, claims ?? {})
  if (grants) setGrants(request, grants)
  setLevel(request, {
    ...(mfa !== undefined && { isMfa: () => mfa }),
    authTime: () => authTime ?? Date.now() / 1000,
  })
  if (apiKey !== undefined) {
    const grants = { scopes: new Set(apiKey.scopes), isLimit: true }
    setCredential(request, grants, { apiKeyId: apiKey.id }, { apiKey })
  }
  Object.assign(request.extra, extra)
  testGrants.set(request, { scopesOf: scopes, rolesOf: roles })
  return user
}
