// What `import` and `require` give is one and the same. Two copies of the package, such as two versions of it, in one
// process share the user of a request and of a context, and recognise each other's errors.
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
const rejecting = (AuthenticationError) => ({
  authenticate() {
    throw new AuthenticationError('auth.jwt-expired')
  },
})

for (const [mine, theirs] of [
  [one, other],
  [other, one],
]) {
  const app = Fastify()
  await app.register(mine.default, {
    userService,
    jwt: { secret },
    login: false,
    authenticators: { rejecting: rejecting(theirs.AuthenticationError) },
  })
  const see = (request) => {
    assert.equal(theirs.userFromContext(), request.user)
    assert.equal(mine.userFromContext(), request.user)
    assert.equal(theirs.storedUser(request), mine.storedUser(request))
    return { ...request.user, hash: theirs.storedUser(request)?.password }
  }
  app.get('/me', { config: { auth: true } }, see)
  app.get('/rejecting', { config: { auth: { use: 'rejecting' } } }, see)
  app.get('/open', see)
  try {
    await app.ready()
    const headers = {
      authorization: `Bearer ${app.jwtService.generateToken('alice')}`,
      'accept-language': 'en',
    }
    const me = await app.inject({ url: '/me', headers })
    assert.deepEqual([me.statusCode, me.json()], [200, { name: 'alice', hash: 'hash' }])
    assert.equal((await app.inject('/me')).statusCode, 401)
    assert.deepEqual((await app.inject('/open')).json(), {})
    const rejected = await app.inject({ url: '/rejecting', headers })
    assert.deepEqual(
      [rejected.statusCode, rejected.json()],
      [401, { error: 'Your authentication token is expired.' }],
      'an error of the other copy is a rejection',
    )
  } finally {
    await app.close()
  }
}

// What cannot work makes startup fail, and says that there are two copies.
const options = { userService, jwt: { secret }, login: false }
const marked = async (scope) => {
  scope.get('/marked', { config: { auth: true } }, () => 'never')
}
const inScope = (plugin) => async (scope) => {
  await scope.register(plugin, options)
  await scope.register(marked, { prefix: '/inner' })
}
const mixed = {
  'registered inside of the other one': (app) =>
    app.register(one.default, options).register(marked).register(inScope(other.default)),
  'registered inside of the other one, the only marks in both': (app) =>
    app.register(one.default, options).register(inScope(other.default)),
  'registered in sibling scopes': (app) =>
    app.register(inScope(one.default)).register(inScope(other.default), { prefix: '/b' }),
  'registered in one scope': (app) =>
    app.register(one.default, options).register(other.default, options),
  'the service of the other one': (app) =>
    app.register(one.default, { userService, jwtService: new other.JwtService({ secret }) }),
  ...Object.fromEntries(
    [
      other.jwtAuthenticator(),
      other.basicAuthenticator(),
      other.configBasicAuthenticator({ username: 'admin', password: 'open sesame' }),
      other.anyOf(one.jwtAuthenticator(), one.basicAuthenticator()),
    ].map((authenticator, index) => [
      `authenticator ${index} of the other one`,
      (app) => app.register(one.default, { ...options, authenticator }),
    ]),
  ),
}
for (const [title, declare] of Object.entries(mixed)) {
  const app = Fastify()
  declare(app)
  await assert.rejects(async () => app.ready(), /Two copies.*npm ls fastify-authn/, title)
  await app.close().catch(() => {})
}
for (const jwtService of [{}, Object.create(null)]) {
  const app = Fastify()
  app.register(one.default, { userService, jwtService })
  await assert.rejects(
    async () => app.ready(),
    ({ message }) => /JwtService/.test(message) && !/Two copies/.test(message),
  )
}
