import t from 'tap'
import { AuthenticationError, type LoginProviderOptions } from '../../lib/index.js'
import { passwords, userService } from '../helpers/app.js'
import { linesOf } from '../helpers/cookies.js'
import { serviceOf } from '../helpers/flows.js'
import { isAttempt, loginApp } from '../helpers/login-app.js'
import { startProvider } from '../helpers/provider.js'
import { breakable, eventsOf, heldStore } from '../helpers/sessions.js'

const never = new Promise<never>(() => undefined)

t.test('a login succeeds only if username() returns a name with a user', async (t) => {
  const provider = await startProvider(t)
  let answer: () => unknown = () => undefined
  const service = userService()
  const username = (async (...args) => (
    seen.push(args),
    answer()
  )) as LoginProviderOptions['username']
  const seen: unknown[][] = []
  const body = (): never => t.fail('a login with a provider has no body') as never
  const options = { userService: service, userServiceTimeout: 0.05, login: { body } }
  const { logIn, last } = await loginApp(t, provider, { username }, options)
  const fault = [500, 'ERR_AUTH_USER_SERVICE'] as const
  const refused = [403, 'ERR_AUTH_LOGIN_REFUSED'] as const
  const rows: [what: string, answer: () => unknown, status: number, code: string][] = [
    ['null', () => null, ...refused],
    ['undefined', () => undefined, ...refused],
    ['unknown name', () => 'mallory', ...refused],
    ['unknown number', () => 7, ...refused],
    ['empty string', () => '', ...fault],
    ['NUL', () => 'a\0', ...fault],
    ['too long', () => 'a'.repeat(1025), ...fault],
    ['object', () => ({ name: 'alice' }), ...fault],
    ['true', () => true, ...fault],
    ['NaN', () => Number.NaN, ...fault],
    [
      'throws',
      () => {
        throw new Error('down')
      },
      ...fault,
    ],
    [
      'throws null',
      () => {
        throw null
      },
      ...fault,
    ],
    ['rejects', () => Promise.reject(new Error('down')), ...fault],
    [
      'AuthenticationError',
      () => {
        throw new AuthenticationError('Not today.')
      },
      401,
      'ERR_AUTH_REFUSED',
    ],
    ['slow', () => never, 503, 'ERR_AUTH_USER_SERVICE_TIMEOUT'],
  ]
  for (const [what, next, status, code] of rows) {
    answer = next
    const response = await logIn()
    t.equal(response.statusCode, status, what)
    t.equal(last().code, code, what)
    t.ok(linesOf(response).every(isAttempt), `${what}: no session`)
    t.equal(response.headers['cache-control'], 'no-store', what)
  }
  t.strictSame(service.asked, ['mallory', 7])
  answer = () => 'alice'
  provider.response = { refresh_token: 'r', scope: 'openid', expires_in: 60 }
  provider.idToken = { claims: { address: { lines: ['a'] } } }
  t.equal((await logIn()).statusCode, 303)
  type Claims = { address: { lines: string[] } }
  const [claims, request, tokens] = seen.at(-1) as [Claims, object, object]
  t.match(claims, { iss: provider.url, sub: 'alice', aud: 'shop' })
  t.throws(() => Object.assign(claims, { sub: 'bob' }), 'frozen')
  t.throws(() => claims.address.lines.push('b'), 'at any depth')
  t.match(request, { url: /^\/login\/corp\/callback/ })
  const sent = { refreshToken: 'r', scope: 'openid', expiresIn: 60 }
  t.match(tokens, { accessToken: 'an access token', idToken: /^ey/, ...sent })
})

t.test('a user service, a claim or a store that fails is no login', async (t) => {
  const provider = await startProvider(t)
  const broken = breakable(heldStore().factory)
  const logins = eventsOf(t, 'login')
  const thrown = new Error('a secret of the database')
  const bad = (): never => {
    throw thrown
  }
  const rows: [
    what: string,
    options: Parameters<typeof loginApp>[3],
    status: number,
    code: string,
  ][] = [
    ['user service', { userService: serviceOf(bad) }, 500, 'ERR_AUTH_USER_SERVICE'],
    [
      'slow users',
      { userService: serviceOf(() => never), userServiceTimeout: 0.05 },
      503,
      'ERR_AUTH_USER_SERVICE_TIMEOUT',
    ],
    [
      'a getter',
      {
        userService: serviceOf(() => ({
          get name() {
            return bad()
          },
        })),
      },
      500,
      'ERR_AUTH_AUTHENTICATOR',
    ],
    ['claims', { login: { claims: bad } }, 500, 'ERR_AUTH_TOKEN_FUNC'],
    [
      'claims that no cookie has room for',
      { login: { claims: () => ({ big: 'a'.repeat(6000) }) } },
      500,
      'ERR_AUTH_COOKIE',
    ],
    ['store', { sessions: { store: broken.factory } }, 503, 'ERR_AUTH_STORE_UNAVAILABLE'],
  ]
  for (const [what, options, status, code] of rows) {
    const { begin, finish, last } = await loginApp(t, provider, {}, options)
    const begun = await begin()
    broken.failure = thrown
    const response = await finish(begun)
    broken.failure = null
    t.equal(response.statusCode, status, what)
    t.equal(last().code, code, what)
    t.notMatch(response.body, /database/, what)
    t.ok(linesOf(response).every(isAttempt), `${what}: no session`)
    t.equal(response.headers['retry-after'] !== undefined, status === 503, what)
    t.strictSame(logins, [], `${what}: no event of a login`)
  }
})

t.test(
  'rejected answers of the provider are throttled by address, before anything is sent',
  async (t) => {
    const provider = await startProvider(t)
    const throttle = { perAddress: 3 }
    const { app, begin, finish, last } = await loginApp(t, provider, {}, { throttle })
    const [failures, throttled] = [eventsOf(t, 'failure'), eventsOf(t, 'throttled')]
    for (let count = 0; count < 3; count += 1) {
      const deny = (all: URLSearchParams): unknown => all.set('error', 'access_denied')
      t.equal((await finish(await begin(), deny)).statusCode, 401, 'is not counted')
      t.equal((await finish(await begin(), (all) => all.set('code', 'bad'))).statusCode, 401)
    }
    t.match(failures.at(-1), {
      code: 'ERR_AUTH_LOGIN_INVALID',
      provider: 'corp',
      authenticator: 'login',
    })
    const begun = await begin()
    provider.take()
    const response = await finish(begun)
    t.equal(response.statusCode, 429)
    t.ok(Number(response.headers['retry-after']) > 0)
    t.match(last(), { code: 'ERR_AUTH_TOO_MANY_ATTEMPTS' })
    t.match(throttled, [{ provider: 'corp', authenticator: 'login' }])
    t.strictSame(provider.take(), [])
    const payload = { username: 'alice', password: passwords.alice }
    const login = await app.inject({ method: 'POST', url: '/login', payload })
    t.equal(login.statusCode, 200, 'passwords are counted apart')
  },
)
