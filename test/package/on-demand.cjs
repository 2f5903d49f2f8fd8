// What an app does not ask for is not loaded; what it asks for is loaded at startup. No request loads anything.
const assert = require('node:assert/strict')
const path = require('node:path')
const Fastify = require('fastify')

const folder = path.join('node_modules', 'fastify-authn', 'dist', 'cjs') + path.sep
const loaded = () => Object.keys(require.cache)
/** Files of the package that were loaded, without chunks of them. */
const parts = () =>
  loaded()
    .filter((file) => file.includes(folder) && !file.includes(`${path.sep}chunks${path.sep}`))
    .map((file) => file.split(folder)[1].replaceAll('\\', '/'))

async function main() {
  // Loads what inject() needs.
  await Fastify().inject('/')
  const authn = require('fastify-authn')
  const { memorySessions } = require('fastify-authn/sessions')
  const secret = 'Zk3rT9wYb6Nq1xVf8LmC4sHd7JpGa2Eu'
  // Of the password wonderland. Made here, it would load bcrypt.
  const hash = '$2b$04$swJ.mvnb/YKJm9ZElydw8.ZmZofHHqdkpSWqQVwGZ6P5sBCFXKZle'
  const userService = {
    findByUsername: (name) => (name === 'alice' ? { name, password: hash } : null),
  }
  const redis = { status: 'end', defineCommand() {}, multi() {} }
  const issuer = { issuer: 'https://issuer.example', audience: 'api', user: () => null }

  /** Starts an app and sends requests. @returns what the startup has loaded */
  async function startup(options, before = () => {}) {
    const earlier = parts()
    const app = Fastify()
    before(app)
    await app.register(authn, { userService, jwt: { secret }, ...options })
    app.get('/me', { config: { auth: true } }, (request) => request.user)
    await app.ready()
    const started = loaded()
    const payload = { username: 'alice', password: 'wonderland' }
    const login = await app.inject({ method: 'POST', url: '/login', payload })
    const { token = app.jwtService.generateToken('alice') } = login.json()
    const headers = { 'accept-language': 'fr', origin: 'https://other.example' }
    const requests = [
      { authorization: `Bearer ${token}` },
      { authorization: 'Bearer wrong' },
      { authorization: `Basic ${btoa('alice:wonderland')}` },
      {},
    ]
    for (const more of requests) {
      await app.inject({ url: '/me', headers: { ...headers, ...more } })
    }
    await app.inject({ method: 'POST', url: '/login', payload: { username: 1 } })
    await app.inject('/nowhere')
    assert.deepEqual(
      loaded().filter((file) => !started.includes(file)),
      [],
      'requests load nothing',
    )
    await app.close()
    return parts().filter((file) => !earlier.includes(file))
  }

  assert.deepEqual(parts(), ['index.js', 'lib/index.js', 'lib/sessions/index.js'])
  const isLoaded = (end) => loaded().some((file) => file.endsWith(path.normalize(end)))
  const tokensAlone = { userService: undefined, issuers: { theirs: issuer } }
  assert.deepEqual(await startup(tokensAlone), ['lib/issuers/feature.js'])
  assert.ok(!isLoaded('/bcrypt/bcrypt.js'), 'an app without passwords')
  assert.deepEqual(await startup({}), [])
  assert.ok(isLoaded('/bcrypt/bcrypt.js'), 'an app with passwords')
  assert.ok(!isLoaded('/RateLimiterRedis.js'))
  assert.deepEqual(await startup({ throttle: { redis, keyPrefix: 'shop' } }), [
    'lib/throttle/redis-counters.js',
  ])
  assert.ok(isLoaded('/RateLimiterRedis.js'))
  assert.deepEqual(await startup({ cookies: true }), ['lib/cookies/feature.js'])
  const sessions = { store: memorySessions() }
  assert.deepEqual(await startup({ sessions }), ['lib/sessions/feature.js'])
  const accounts = { url: 'https://shop.example/account' }
  for (const name of ['create', 'update', 'sendMail']) accounts[name] = () => null
  const login = { subject: ({ name }) => name }
  assert.deepEqual(await startup({ sessions, login, accounts }), ['lib/accounts/feature.js'])
  const swagger = (app) => app.register(require('@fastify/swagger'))
  assert.deepEqual(await startup({}, swagger), ['lib/openapi/transform.js'])
  const keys = [{ kid: 'a', alg: 'HS256', state: 'sign', secret }]
  assert.ok((await startup({ jwt: { keys } })).includes('lib/tokens/keys/entries.js'))
}

main().catch((error) => {
  console.error(error)
  process.exitCode = 1
})
