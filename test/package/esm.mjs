// An app in ESM JavaScript: a login, an accepted and a rejected request.
import assert from 'node:assert/strict'
import bcrypt from 'bcrypt'
import Fastify from 'fastify'
import authn, {
  anyOf,
  authn as named,
  AuthenticationError,
  basicAuthenticator,
  configBasicAuthenticator,
  configFromEnv,
  EXTRA_JWT_CLAIMS,
  jwtAuthenticator,
  JwtService,
  storedUser,
} from 'fastify-authn'
import { runAs, userFromContext } from 'fastify-authn/context'
import manifest from 'fastify-authn/package.json' with { type: 'json' }

assert.equal(manifest.name, 'fastify-authn')
assert.equal(named, authn)
for (const made of [
  anyOf,
  basicAuthenticator,
  configBasicAuthenticator,
  configFromEnv,
  jwtAuthenticator,
]) {
  assert.equal(typeof made, 'function')
}
assert.equal(new AuthenticationError('auth.jwt-expired').code, 'ERR_AUTH_JWT_EXPIRED')
await assert.rejects(() => import('fastify-authn/dist/esm/lib/guard/attempt.js'), {
  code: 'ERR_PACKAGE_PATH_NOT_EXPORTED',
})

runAs({ name: 'job' }, () => assert.deepEqual(userFromContext(), { name: 'job' }))
assert.equal(userFromContext(), null)

const alice = { id: 1, name: 'alice', password: await bcrypt.hash('wonderland', 4) }
const app = Fastify()
await app.register(authn, {
  userService: { findByUsername: (name) => (name === 'alice' ? alice : null) },
  jwtService: new JwtService({ secret: 'secret-secret-secret-secret-secret' }),
})
app.get('/me', { config: { auth: true } }, (request) => ({
  user: request.user,
  context: userFromContext() === request.user,
  stored: storedUser(request) === alice,
  subject: request.extra[EXTRA_JWT_CLAIMS].sub,
}))

const address = await app.listen({ host: '127.0.0.1', port: 0 })
try {
  const login = await fetch(`${address}/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'alice', password: 'wonderland' }),
  })
  assert.equal(login.status, 200)
  const { token } = await login.json()

  const me = await fetch(`${address}/me`, { headers: { authorization: `Bearer ${token}` } })
  assert.equal(me.status, 200)
  assert.deepEqual(await me.json(), {
    user: { id: 1, name: 'alice' },
    context: true,
    stored: true,
    subject: 'alice',
  })

  const rejected = await fetch(`${address}/me`, { headers: { 'accept-language': 'de' } })
  assert.equal(rejected.status, 401)
  assert.equal(rejected.headers.get('www-authenticate'), 'Bearer realm="Authorization required"')
  assert.equal(rejected.headers.get('content-language'), 'de')
  assert.equal(typeof (await rejected.json()).error, 'string')
} finally {
  await app.close()
}
