import t from 'tap'
import { AuthenticationError, jwtAuthenticator } from '../../lib/index.js'
import { appWith, bearer, logLines, secret, standardOptions, userService } from '../helpers/app.js'
import { hmacToken, epochSeconds } from '../helpers/tokens.js'
import type { JwtAuthenticatorOptions } from '../../lib/index.js'

/** A token as an app makes it that has signed with this secret before. */
const tokenWith = (claims: object): string =>
  hmacToken(
    { alg: 'HS256', typ: 'JWT' },
    { sub: 'alice', exp: epochSeconds() + 30 * 86_400, ...claims },
    secret,
  )

t.test('a token that says that it is no access token is rejected', async (t) => {
  const users = userService()
  const { lines, stream } = logLines()
  const app = await appWith(
    t,
    { ...standardOptions(), userService: users },
    (app) => app.get('/', { config: { auth: true } }, ({ user }) => user),
    { logger: { stream } },
  )
  const get = async (claims: object): Promise<number> =>
    (await app.inject({ url: '/', headers: bearer(tokenWith(claims)) })).statusCode
  const foreign = [
    'refresh refresh_token RefreshToken REFRESH jwt-refresh offline Offline id ID',
    'id_token idToken id+jwt application/id+jwt logout logout+jwt reset',
    'password-reset resetPassword forgot_password email-verification verify-email',
    'confirm activation invite invitation magic-link mfa mfaToken pendingMfa 2fa',
    '2faPending twoFactor two-factor multi_factor otp otpToken emailOtp totp totpPending',
    'urn:ietf:params:oauth:token-type:refresh_token',
    'urn:ietf:params:oauth:token-type:id_token',
  ].flatMap((names) => names.split(' '))
  for (const claim of ['type', 'token_type', 'token_use', 'typ']) {
    for (const kind of foreign) {
      t.equal(await get({ [claim]: kind }), 401, `${claim} ${kind}`)
      t.match(lines.at(-2), { code: 'ERR_AUTH_JWT_INVALID', reason: `claim ${claim}` })
    }
  }
  for (const kind of [1, null, ['access'], { toString: 1 }]) {
    for (const claim of ['token_type', 'token_use', 'typ']) {
      t.equal(await get({ [claim]: kind }), 401, `${claim} that is no string`)
    }
    t.equal(await get({ type: kind }), 200, 'type of the app, no string')
  }
  t.equal(await get({ type: 'access', typ: 'Refresh' }), 401, 'one of several is enough')
  const asked = users.asked.length
  t.equal(await get({ type: 'refresh' }), 401)
  t.equal(users.asked.length, asked, 'no user is looked up')
})

t.test('a token whose type names an access token or a kind of user is accepted', async (t) => {
  const app = await appWith(t, standardOptions(), (app) =>
    app.get('/', { config: { auth: true } }, () => 'in'),
  )
  const passing = [
    'access access_token accessToken Bearer bearer JWT at+jwt user admin customer',
    'identity idp idol verified confirmed invited activated service guest valid',
    'provider session hotpot botPlayer footprint factory',
  ].flatMap((names) => names.split(' '))
  passing.push('')
  for (const claim of ['type', 'token_type', 'token_use', 'typ']) {
    for (const kind of passing) {
      const headers = bearer(tokenWith({ [claim]: kind }))
      t.equal((await app.inject({ url: '/', headers })).statusCode, 200, `${claim} ${kind}`)
    }
  }
  t.equal(app.jwtService.verify(tokenWith({ type: 'refresh' })).sub, 'alice', 'verify() takes any')
})

t.test('a valid token is a 401 without a user look-up unless trusted() is true', async (t) => {
  const calls: unknown[][] = []
  const users = userService()
  const answer: { current: () => unknown } = { current: () => true }
  const trusted: JwtAuthenticatorOptions['trusted'] = (claims, request) => {
    calls.push([claims.sub, request.url, users.asked.length])
    return answer.current() as boolean
  }
  const { lines, stream } = logLines()
  const app = await appWith(
    t,
    { ...standardOptions(), userService: users, authenticator: jwtAuthenticator({ trusted }) },
    (app) => {
      app.get('/', { config: { auth: true } }, ({ user }) => (user as { name: string }).name)
      app.get('/try', { config: { auth: 'try' } }, ({ user, extra }) => [user, extra.jwtClaims])
    },
    { logger: { stream } },
  )
  const get = (url = '/', claims = {}) => app.inject({ url, headers: bearer(tokenWith(claims)) })
  const rejected = (error: unknown) => async (): Promise<never> => {
    throw error
  }

  t.equal((await get()).body, 'alice')
  t.strictSame(calls, [['alice', '/', 0]])
  answer.current = () => Promise.resolve(true)
  t.equal((await get()).body, 'alice')

  const asked = users.asked.length
  const others = [false, undefined, null, 1, 'true', {}, [true], Promise.resolve(1)]
  for (const other of others) {
    answer.current = () => other
    t.equal((await get()).statusCode, 401, typeof other)
    t.match(lines.at(-2), { code: 'ERR_AUTH_JWT_INVALID', reason: 'not trusted' })
  }
  t.strictSame((await get('/try')).json(), [null, null], 'in the mode try it is anonymous')
  const failing = [
    () => {
      throw new Error('database')
    },
    rejected(new Error('database')),
    rejected(undefined),
  ]
  for (const each of failing) {
    answer.current = each
    const { statusCode, body } = await get()
    t.equal(statusCode, 500)
    t.notMatch(body, 'database')
  }
  answer.current = rejected(new AuthenticationError('auth.jwt-expired'))
  t.equal((await get()).statusCode, 401)
  t.equal(users.asked.length, asked, 'no user is looked up')

  calls.length = 0
  for (const claims of [{ exp: 1 }, { type: 'refresh' }, { sub: null }, { aud: 'x' }]) {
    t.equal((await get('/', claims)).statusCode, 401)
  }
  t.strictSame(calls, [], 'it is not asked about tokens that are not valid')
})
