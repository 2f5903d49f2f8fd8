// The ESM and the CommonJS build in one process and in one app: they must see the same things.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import Fastify from 'fastify'
import * as esmCore from 'fastify-authn'

const require = createRequire(import.meta.url)
const cjsCore = require('fastify-authn')
const key = Symbol.for('fastify-authn.context')
assert.ok(!(key in globalThis), 'neither build switches the AsyncLocalStorage on by itself')
const esm = { ...esmCore, ...(await import('fastify-authn/context')) }
const cjs = { ...cjsCore, ...require('fastify-authn/context') }
assert.notEqual(esm.runAs, cjs.runAs)
esm.runAs({ name: 'job' }, () => assert.deepEqual(cjs.userFromContext(), { name: 'job' }))
cjs.runAs({ name: 'job' }, () => assert.deepEqual(esm.userFromContext(), { name: 'job' }))
assert.notEqual(esm.default, cjsCore)

const secret = 'secret-secret-secret-secret-secret'
const userService = { findByUsername: (name) => ({ name, password: 'hash' }) }
const refusing = (AuthenticationError) => ({
  authenticate() {
    throw new AuthenticationError('auth.jwt-expired')
  },
})

for (const [outer, inner] of [
  [esm, cjs],
  [cjs, esm],
]) {
  const app = Fastify()
  await app.register(outer.default, {
    userService,
    jwtService: new inner.JwtService({ secret }),
    login: false,
    authenticators: {
      theirs: inner.jwtAuthenticator(),
      any: outer.anyOf(inner.jwtAuthenticator(), outer.configBasicAuthenticator(admin())),
      refusing: refusing(inner.AuthenticationError),
      failing: inner.jwtAuthenticator({ userService: { findByUsername: fail } }),
    },
  })
  const see = (request) => {
    assert.equal(inner.userFromContext(), request.user)
    assert.equal(outer.userFromContext(), request.user)
    assert.equal(inner.storedUser(request), outer.storedUser(request))
    return { ...request.user, hash: inner.storedUser(request)?.password }
  }
  app.get('/ours', { config: { auth: true } }, see)
  app.get('/theirs', { config: { auth: { use: 'theirs' } } }, see)
  app.get('/any', { config: { auth: { use: 'any' } } }, see)
  app.get('/refusing', { config: { auth: { use: 'refusing' } } }, see)
  app.get('/failing', { config: { auth: { use: 'failing' } } }, see)
  app.get('/open', see)
  await app.register(async (scope) => {
    await scope.register(inner.default, {
      userService,
      jwt: { secret: secret.toUpperCase() },
      login: false,
      auth: true,
    })
    scope.get('/inner', see)
    scope.get('/inner/open', { config: { auth: false } }, see)
  })
  await app.ready()

  const outerToken = app.jwtService.generateToken('alice')
  const innerToken = new outer.JwtService({ secret: secret.toUpperCase() }).generateToken('bob')
  const get = async (url, token) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const { statusCode, body } = await app.inject({ url, headers })
    return [statusCode, JSON.parse(body)]
  }
  const alice = { name: 'alice', hash: 'hash' }
  const english = { 'accept-language': 'en' }
  try {
    assert.deepEqual(await get('/ours', outerToken), [200, alice])
    assert.deepEqual(await get('/theirs', outerToken), [200, alice])
    assert.deepEqual(await get('/any', outerToken), [200, alice])
    assert.deepEqual(await get('/inner', innerToken), [200, { name: 'bob', hash: 'hash' }])
    assert.equal((await get('/inner', outerToken))[0], 401, 'the nearest registration counts')
    assert.equal((await get('/inner'))[0], 401)
    assert.equal((await get('/ours'))[0], 401)
    assert.equal((await get('/open'))[0], 200)
    assert.equal((await get('/inner/open'))[0], 200)
    const refused = await app.inject({ url: '/refusing', headers: english })
    assert.deepEqual(
      [refused.statusCode, refused.json()],
      [401, { error: 'Your authentication token is expired.' }],
      'an error of the other build is a refusal',
    )
    const [status, fault] = await get('/failing', outerToken)
    assert.deepEqual(
      [status, fault.code],
      [500, 'ERR_AUTH_USER_SERVICE'],
      'so is its fault a fault',
    )
    const challenges = (await app.inject('/any')).headers['www-authenticate']
    assert.equal([challenges].flat().length, 2, 'both members of anyOf challenge')
  } finally {
    await app.close()
  }
}

function fail() {
  throw new Error('no database')
}

function admin() {
  return { username: 'admin', password: 'secret' }
}
