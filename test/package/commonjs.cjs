// An app in CommonJS JavaScript: `require` gives the plugin itself, with everything else on it.
'use strict'

// As `node --enable-source-maps` does.
process.setSourceMapsEnabled(true)

const assert = require('node:assert/strict')
const bcrypt = require('bcrypt')
const fastify = require('fastify')
const authn = require('fastify-authn')

assert.equal(typeof authn, 'function')
assert.equal(authn.default, authn)
assert.equal(authn.authn, authn)
assert.equal(authn.__esModule, true)
assert.equal(require('fastify-authn/package.json').name, 'fastify-authn')
assert.throws(() => require('fastify-authn/dist/cjs/lib/guard.js'), {
  code: 'ERR_PACKAGE_PATH_NOT_EXPORTED',
})

// The test kit has no default export to stumble over, as jest loads it.
assert.equal(require('fastify-authn/testing').default, undefined)
assert.equal(require('fastify-authn/testing').__esModule, true)

async function main() {
  const failing = fastify().register(authn, { jwt: { secret: 'short' } })
  const { stack } = await failing.then(
    () => assert.fail(),
    (error) => error,
  )
  assert.match(stack, /[\\/]lib[\\/][\w/\\-]+\.ts:\d+/, 'stack traces name the files of lib/')

  const { basicAuthenticator, JwtService } = require('fastify-authn')
  const { runAs, userFromContext } = require('fastify-authn/context')
  runAs({ name: 'job' }, () => assert.deepEqual(userFromContext(), { name: 'job' }))
  assert.equal(userFromContext(), null)
  const esm = await import('fastify-authn')
  // fastify-plugin hangs the plugin on itself, under its name in camel case.
  const names = (object) => Object.keys(object).filter((name) => name !== 'fastifyAuthn')
  assert.deepEqual(names(esm).sort(), names(authn).sort(), 'both builds export the same names')

  const alice = { id: 1, name: 'alice', password: await bcrypt.hash('wonderland', 4) }
  const app = fastify()
  app.register(authn, {
    userService: { findByUsername: async (name) => (name === 'alice' ? alice : null) },
    jwtService: new JwtService({ secret: 'secret-secret-secret-secret-secret' }),
    authenticators: { password: basicAuthenticator() },
  })
  app.register(
    async (scope) => {
      scope.get('/me', () => userFromContext())
      scope.get('/open', { config: { auth: false } }, () => 'open')
      scope.get('/basic', { config: { auth: { use: 'password' } } }, (request) => request.user)
    },
    { prefix: '/group', auth: true },
  )
  try {
    const login = await app.inject({
      method: 'POST',
      url: '/login',
      payload: { username: 'alice', password: 'wonderland' },
    })
    assert.equal(login.statusCode, 200)
    const bearer = { authorization: `Bearer ${login.json().token}` }
    const basic = {
      authorization: `Basic ${Buffer.from('alice:wonderland').toString('base64')}`,
    }

    const me = await app.inject({ url: '/group/me', headers: bearer })
    assert.deepEqual([me.statusCode, me.json()], [200, { id: 1, name: 'alice' }])
    const byPassword = await app.inject({ url: '/group/basic', headers: basic })
    assert.deepEqual([byPassword.statusCode, byPassword.json()], [200, { id: 1, name: 'alice' }])
    const wrong = await app.inject({ url: '/group/basic', headers: bearer })
    assert.equal(wrong.statusCode, 401)
    assert.match(wrong.headers['www-authenticate'], /^Basic realm=/)
    assert.equal((await app.inject('/group/me')).statusCode, 401)
    assert.equal((await app.inject('/group/open')).body, 'open')
  } finally {
    await app.close()
  }
}

main().catch((error) => {
  console.error(error)
  process.exitCode = 1
})
