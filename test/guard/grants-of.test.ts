import t, { type Test } from 'tap'
import {
  AuthenticationError,
  grantsOf,
  type AccessOptions,
  type AuthnOptions,
} from '../../lib/index.js'
import { actingAs, authnTesting } from '../../lib/testing/index.js'
import { appWith, bearer, secret, type TestApp } from '../helpers/app.js'
import { isFault } from '../helpers/flows.js'

const stored = { name: 'alice', roles: ['editor'] }

async function appOf(t: Test, more: AuthnOptions = {}): Promise<TestApp> {
  const userService = { findByUsername: () => stored as never }
  return appWith(t, { userService, jwt: { secret }, ...more }, async (app) => {
    await app.register(authnTesting)
    app.get('/', { config: { auth: 'optional' } }, async (request) => {
      const { scopes, roles } = await grantsOf(request)
      return { scopes: [...scopes], roles: [...roles] }
    })
    app.get('/twice', { config: { auth: true } }, async (request) => {
      const first = (await grantsOf(request)) as { scopes: Set<string>; roles: Set<string> }
      for (const names of [first.scopes, first.roles]) names.add('admin')
      const { scopes, roles } = await grantsOf(request)
      return { scopes: [...scopes], roles: [...roles] }
    })
  })
}

const headersOf = (app: TestApp, claims: object = {}) =>
  bearer(app.jwtService.generateTokenWithClaims({ sub: 'alice', ...claims }))

const none = { scopes: [], roles: [] }

t.test('grantsOf() gives what marks see', async (t) => {
  const scope = 'notes:read notes:write'
  const both = { scopes: ['notes:read', 'notes:write'], roles: ['editor'] }
  const app = await appOf(t)
  const get = async (headers: object, url = '/') =>
    (await app.inject({ url, headers: { ...headers } })).json<object>()
  t.strictSame(await get(headersOf(app, { scope })), both)
  t.strictSame(await get(headersOf(app)), { scopes: [], roles: ['editor'] })
  t.strictSame(await get({}), none, 'anonymous')
  const headers = headersOf(app, { scope })
  for (const url of ['/twice', '/twice', '/'])
    t.strictSame(await get(headers, url), both, 'a handler that changes its sets changes no others')
  const acting = actingAs(stored, { scopes: ['a'], roles: [] })
  t.strictSame((await app.inject({ url: '/', ...acting })).json(), { scopes: ['a'], roles: [] })
})

t.test('grantsOf() calls the functions of access each time', async (t) => {
  let calls = 0
  const access: AccessOptions = {
    scopesOf: async (user) => [`${String((user as { name?: unknown }).name)}:${(calls += 1)}`],
    rolesOf: () => new Set([`role:${(calls += 1)}`]),
  }
  const app = await appOf(t, { access })
  const { body } = await app.inject({ url: '/twice', headers: headersOf(app) })
  t.strictSame(JSON.parse(body), { scopes: ['alice:3'], roles: ['role:4'] })
  t.strictSame((await app.inject('/')).json(), none)
  t.equal(calls, 4, 'not called for anonymous requests')
})

t.test('what a function of access throws is an internal error or a rejection', async (t) => {
  const fail = (error: unknown) => (): never => {
    throw error
  }
  const later = (error: Error) => async (): Promise<never> => {
    throw error
  }
  const secretError = new Error('password of the database')
  const faulty: AccessOptions[] = [
    { scopesOf: fail(secretError) },
    { rolesOf: fail(secretError) },
    { scopesOf: later(secretError), rolesOf: later(secretError) },
    { scopesOf: () => 'admin' as never },
  ]
  for (const access of faulty) {
    const app = await appOf(t, { access })
    isFault(t, await app.inject({ url: '/', headers: headersOf(app) }), 'ERR_AUTH_ACCESS')
  }
  const app = await appOf(t, {
    access: {
      rolesOf: fail(new AuthenticationError('Not today.', { code: 'ERR_AUTH_FORBIDDEN' })),
    },
  })
  const response = await app.inject({ url: '/', headers: headersOf(app) })
  t.match(response, { statusCode: 403 })
  t.match(response.json(), { code: 'ERR_AUTH_FORBIDDEN', message: 'Not today.' })
})
