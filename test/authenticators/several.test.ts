// Requests to routes with several authenticators. Each of them alone is in modes.test.ts.
import t, { type Test } from 'tap'
import {
  anyOf,
  AuthenticationError,
  basicAuthenticator,
  jwtAuthenticator,
  type Authenticator,
  type AuthnOptions,
} from '../../lib/index.js'
import { appWith, basic, bearer, passwords, secret, standardOptions } from '../helpers/app.js'
import {
  basicChallenge,
  bearerChallenge,
  isRejection,
  isWelcome,
  probe,
  messages,
  tokenChallenge,
  type AnyResponse,
} from '../helpers/flows.js'
import { claims, hmacToken } from '../helpers/tokens.js'

const token = (more: object = {}): string => hmacToken({ alg: 'HS256' }, claims(more), secret)

t.test('the option authenticator takes anyOf(), a copy of it, or an array of names', async (t) => {
  const combined = anyOf(jwtAuthenticator(), basicAuthenticator())
  const given = [combined, { ...combined, optional: false }, ['jwt', 'basic']] as const
  for (const authenticator of given) {
    const { handler, take } = probe()
    const options = { ...standardOptions(), authenticator } as AuthnOptions
    const app = await appWith(t, options, (app) => {
      app.get('/', { config: { auth: true } }, handler)
    })
    isWelcome(t, await app.inject({ url: '/', headers: bearer(token()) }), 'alice')
    isWelcome(t, await app.inject({ url: '/', headers: basic('bob', passwords.bob) }), 'bob')
    t.equal(take(), 2)
    const challenge = [bearerChallenge, basicChallenge]
    isRejection(t, await app.inject('/'), { error: messages.none, challenge })
    t.equal(take(), 0)
  }
})

/** An app with one route, in each order of two authenticators. */
async function inBothOrders(
  t: Test,
  names: readonly [string, string],
  more: AuthnOptions,
  test: (get: (headers: object) => Promise<AnyResponse>, take: () => number) => unknown,
): Promise<void> {
  for (const use of [names, names.toReversed()]) {
    const { handler, take } = probe()
    const given = { ...standardOptions(), ...more }
    const app = await appWith(t, given, (app) => {
      app.get('/', { config: { auth: { use: [...use] } } }, handler)
    })
    await test((headers) => app.inject({ url: '/', headers: { ...headers } }), take)
  }
}

t.test('API keys in Bearer go to their authenticator, all other tokens to jwt', async (t) => {
  const apiKey: Authenticator = {
    scheme: 'Bearer',
    accepts: ({ headers }) => headers.authorization?.startsWith('Bearer key_') === true,
    authenticate({ headers }) {
      if (headers.authorization === 'Bearer key_1') return { name: 'robot' }
      throw new AuthenticationError('Unknown key.')
    },
  }
  await inBothOrders(t, ['jwt', 'apiKey'], { authenticators: { apiKey } }, async (get, take) => {
    isWelcome(t, await get(bearer('key_1')), 'robot')
    isWelcome(t, await get(bearer(token())), 'alice')
    t.equal(take(), 2)
    const wrong = { error: 'Unknown key.', challenge: tokenChallenge('The token is not accepted') }
    isRejection(t, await get(bearer('key_2')), { ...wrong, language: null })
    for (const other of ['abc', 'a.b.c', hmacToken({ alg: 'HS256' }, claims(), `${secret}x`)]) {
      t.equal((await get(bearer(other))).statusCode, 401, other)
    }
    t.equal(take(), 0)
  })
})

t.test('a wrapper of a jwtAuthenticator gets its tokens beside another for Bearer', async (t) => {
  const key: Authenticator = {
    scheme: 'Bearer',
    accepts: ({ headers }) => headers.authorization === 'Bearer key',
    authenticate: () => ({ name: 'robot' }),
  }
  const inner = jwtAuthenticator()
  const wrapped: Authenticator = {
    scheme: 'Bearer',
    init: (app) => inner.init?.(app),
    accepts: (request) => inner.accepts?.(request) === true,
    authenticate: (request) => inner.authenticate(request),
  }
  const authenticators = { key, wrapped, combined: anyOf(jwtAuthenticator(), key) }
  const uses = ['combined', ['key', 'jwt'], ['jwt', 'key'], ['key', 'wrapped'], ['jwt', 'wrapped']]
  const app = await appWith(t, { ...standardOptions(), authenticators }, (app) =>
    uses.forEach((use, at) => app.get(`/${at}`, { config: { auth: { use } } }, probe().handler)),
  )
  for (const at of uses.keys()) {
    isWelcome(t, await app.inject({ url: `/${at}`, headers: bearer(token()) }), 'alice')
    const { statusCode } = await app.inject({ url: `/${at}`, headers: bearer('key') })
    t.equal(statusCode, uses[at]?.includes('wrapped') && uses[at]?.includes('jwt') ? 401 : 200)
  }
})

t.test('an authenticator whose accepts() returns a promise is not asked', async (t) => {
  const key: Authenticator = { accepts: (async () => false) as never, authenticate: () => null }
  const auth = { mode: 'optional', use: ['key', 'jwt'] } as const
  const app = await appWith(
    t,
    { ...standardOptions(), cookies: true, authenticators: { key } },
    (app) => void app.get('/', { config: { auth } }, probe().handler),
  )
  const headers = { host: 'localhost', cookie: `token=${token({ exp: 1 })}` }
  t.equal((await app.inject({ url: '/', headers })).statusCode, 401)
})
