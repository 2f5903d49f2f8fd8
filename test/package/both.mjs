// What `import` and `require` give is one and the same. Two copies of the package, such as two versions of it, in one
// process and in one app: they must see the same things.
import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { createRequire } from 'node:module'
import Fastify from 'fastify'
import * as imported from 'fastify-authn'
import * as importedSessions from 'fastify-authn/sessions'
import * as importedKit from 'fastify-authn/testing'

const here = createRequire(import.meta.url)
const key = Symbol.for('fastify-authn.context')
assert.ok(!(key in globalThis), 'the main entry point does not switch the AsyncLocalStorage on')
const importedContext = await import('fastify-authn/context')
for (const [name, module] of Object.entries({
  'fastify-authn': imported,
  'fastify-authn/context': importedContext,
  'fastify-authn/sessions': importedSessions,
  'fastify-authn/testing': importedKit,
})) {
  const required = here(name)
  // The second name is what fastify-plugin adds.
  const names = Object.keys(required).filter((each) => !/^(?:__esModule|fastifyAuthn)$/.test(each))
  assert.deepEqual(new Set(Object.keys(module)), new Set(names), name)
  for (const each of names) assert.equal(module[each], required[each], `${name}: ${each}`)
}

cpSync('node_modules/fastify-authn', 'copy/node_modules/fastify-authn', { recursive: true })
const there = createRequire(new URL('copy/index.js', import.meta.url))
const [one, other] = [here, there].map((require) => ({
  ...require('fastify-authn'),
  ...require('fastify-authn/context'),
}))
assert.notEqual(one.runAs, other.runAs)
one.runAs({ name: 'job' }, () => assert.deepEqual(other.userFromContext(), { name: 'job' }))
other.runAs({ name: 'job' }, () => assert.deepEqual(one.userFromContext(), { name: 'job' }))
assert.notEqual(one.default, other.default)

const secret = 'secret-secret-secret-secret-secret'
const userService = { findByUsername: (name) => ({ name, password: 'hash' }) }
const refusing = (AuthenticationError) => ({
  authenticate() {
    throw new AuthenticationError('auth.jwt-expired')
  },
})

for (const [outer, inner] of [
  [one, other],
  [other, one],
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
      'an error of the other copy is a refusal',
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
