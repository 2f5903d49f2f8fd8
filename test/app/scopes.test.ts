import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { authn, AuthenticationError, type AuthMark, type Authenticator } from '../../lib/index.js'
import { bearer, standardOptions, fastify } from '../helpers/app.js'
import { startupError, isRejection, isWelcome, probe, messages } from '../helpers/flows.js'

/** `auth` in the options of app.register. */
const scope = (auth: AuthMark | undefined, prefix?: string): object =>
  prefix === undefined ? { auth } : { auth, prefix }

const withPlugin = async (app: FastifyInstance): Promise<void> => {
  await app.register(authn, standardOptions())
}

t.test('startup fails for a marked route outside of every registration', async (t) => {
  const marked: Record<string, (app: FastifyInstance) => unknown> = {
    'in a sibling after it': async (app) => {
      await app.register(withPlugin)
      await app.register(async (app) => {
        app.get('/beside', { config: { auth: true } }, () => 'open')
      })
    },
    'at the root': async (app) => {
      await app.register(withPlugin)
      app.get('/beside', { config: { auth: true } }, () => 'open')
    },
    'in a protected group': async (app) => {
      await app.register(withPlugin)
      await app.register(async (app) => void app.get('/beside', () => 'open'), scope('optional'))
    },
  }
  for (const [name, declare] of Object.entries(marked)) {
    const app = fastify(t)
    const error = await startupError(async () => {
      await declare(app)
      await app.ready()
    })
    const message = /GET \/beside, config\.auth: .*plugin is not registered in its scope/
    t.match(error, { code: 'ERR_AUTH_MARK', message }, name)
  }
})

/** An authenticator that knows one key of the header x-key, and says whose it is. */
function keyed(key: string, name: string): Authenticator<{ name: string }> {
  return {
    authenticate(request) {
      const given = request.headers['x-key']
      if (given === undefined) return null
      if (given !== key) throw new AuthenticationError('auth.invalid-credentials')
      return { name }
    },
  }
}

t.test('a route accepts only the tokens of its nearest registration', async (t) => {
  const { handler, take } = probe()
  const scopes = ['outer', 'left', 'right', 'inner'] as const
  const secretOf = (name: string): string => `${name}-`.repeat(16)
  const options = (name: string): object => ({
    userService: {
      findByUsername: (id: string) => (id === name ? { name: `${name} of ${name}` } : null),
    },
    jwt: { secret: secretOf(name) },
    realm: name,
    login: false,
  })
  const app = fastify(t)
  const tokens: Record<string, string> = {}
  const add = async (
    app: FastifyInstance,
    name: string,
    more: (app: FastifyInstance) => unknown = () => undefined,
  ): Promise<void> => {
    await app.register(authn, options(name))
    tokens[name] = app.jwtService.generateToken(name)
    app.get('/me', { config: { auth: true } }, handler)
    await more(app)
  }
  await add(app, 'outer')
  const addInner = (app: FastifyInstance): unknown =>
    app.register(async (app) => add(app, 'inner'), { prefix: '/inner' })
  await app.register(async (app) => add(app, 'left', addInner), { prefix: '/left' })
  const addRoute = (app: FastifyInstance): unknown =>
    app.register(async (app) => void app.get('/below', { config: { auth: true } }, handler))
  await app.register(async (app) => add(app, 'right', addRoute), { prefix: '/right' })
  await app.ready()

  const urls: [string, (typeof scopes)[number]][] = [
    ['/me', 'outer'],
    ['/left/me', 'left'],
    ['/left/inner/me', 'inner'],
    ['/right/me', 'right'],
    ['/right/below', 'right'],
  ]
  for (const [url, own] of urls) {
    for (const name of scopes) {
      const response = await app.inject({ url, headers: bearer(tokens[name] as string) })
      if (name === own) isWelcome(t, response, `${own} of ${own}`, `${url} takes ${name}`)
      else {
        isRejection(t, response, {
          error: messages.jwtInvalid,
          challenge: `Bearer realm="${own}", error="invalid_token", error_description="The token is invalid"`,
        })
      }
      t.equal(take(), name === own ? 1 : 0)
    }
  }
})

t.test('of two registrations in one scope the last one authenticates', async (t) => {
  const { handler, take } = probe()
  const app = fastify(t)
  await app.register(authn, { authenticator: keyed('first', 'first'), auth: true })
  await app.register(authn, { authenticator: keyed('second', 'second') })
  app.get('/me', handler)
  app.get('/marked', { config: { auth: true } }, handler)
  await app.ready()
  for (const url of ['/me', '/marked']) {
    isWelcome(t, await app.inject({ url, headers: { 'x-key': 'second' } }), 'second', url)
    t.equal(take(), 1)
    const rejected = await app.inject({ url, headers: { 'x-key': 'first' } })
    isRejection(t, rejected, { error: messages.invalid, challenge: null }, url)
    t.equal(take(), 0)
  }
})

t.test('jwtService is that of the last registration of a scope, or an error', async (t) => {
  const again = fastify(t)
  await again.register(authn, { ...standardOptions(), login: false })
  await again.register(authn, { basic: { username: 'admin', password: 'geheim' } })
  t.throws(() => again.jwtService, { code: 'ERR_AUTH_OPTION' })
})
