import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import {
  authn,
  configBasicAuthenticator,
  jwtAuthenticator,
  type AuthnOptions,
} from '../../lib/index.js'
import { appWith, secret, standardOptions, userService } from '../helpers/app.js'
import { startupError } from '../helpers/flows.js'
import { keys, publicPem } from '../helpers/tokens.js'

const good = { ...standardOptions(), cookies: true as const }

function register(t: Test, options: object): Promise<(Error & { code?: unknown }) | undefined> {
  return startupError(() => appWith(t, options))
}

t.test('startup fails for a wrong option cookies, and names it', async (t) => {
  const rows: [cookies: unknown, message: string][] = [
    [false, 'option "cookies": found false, expected true, or an object'],
    ['yes', 'option "cookies": found an invalid string'],
    [{ domain: 'a' }, 'unknown option "cookies.domain". Known here: name, sameSite'],
    [{ sameSite: 'none' }, 'option "cookies.sameSite": found "none", expected'],
    [{ sameSite: 'Lax' }, 'option "cookies.sameSite": found "Lax"'],
    [{ apps: null }, 'option "cookies.apps": found null, expected true or false'],
    [{ app: true }, 'unknown option "cookies.app". Did you mean'],
    [{ trustedOrigins: 'x' }, 'option "cookies.trustedOrigins": found an invalid string'],
    [{ trustedOrigins: { 0: 'x' } }, 'option "cookies.trustedOrigins": found an invalid object'],
    [{ trustedOrigins: [1] }, 'option "cookies.trustedOrigins.0": found 1'],
    ...['', '__Host-x', '-x', 'a b', 'a;b', 'a=b', 'é', 'x'.repeat(65)].map(
      (name): [unknown, string] => [{ name }, 'option "cookies.name": found '],
    ),
  ]
  for (const [cookies, message] of rows) {
    const error = await register(t, { ...standardOptions(), cookies })
    t.equal(error?.code, 'ERR_AUTH_OPTION', message)
    t.ok(error?.message.includes(message), String(error?.message))
  }
  const right = [true, {}, { apps: true }, { name: 'a.B-1_' }, { name: undefined }]
  for (const cookies of right)
    t.equal(await register(t, { ...standardOptions(), cookies }), undefined)
})

t.test('startup fails for cookies that no authenticator reads or no route sets', async (t) => {
  const users = userService()
  const basic = { username: 'a', password: 'b' }
  const unread = 'nothing would read them: set "userService" and "jwt"'
  const unset = 'there is no login route to set them'
  const ecdsa = { public: publicPem(keys.p256.publicKey) }
  const rows: [options: object, message: string | null][] = [
    [{ basic }, unread],
    [{ userService: users, authenticator: 'basic' }, unread],
    [{ authenticators: { own: configBasicAuthenticator(basic) } }, unread],
    [{ jwt: { secret } }, unread],
    [{ userService: users, jwt: { ecdsa, signingMethod: 'ES256' } }, unset],
    [{ userService: users, jwt: { ecdsa, signingMethod: 'ES256' }, login: false }, null],
    [
      { jwt: { secret }, login: false, authenticator: jwtAuthenticator({ userService: users }) },
      null,
    ],
  ]
  for (const [options, message] of rows) {
    const error = await register(t, { ...options, cookies: true })
    t.equal(error?.code, message === null ? undefined : 'ERR_AUTH_OPTION', message ?? 'starts')
    if (message !== null) t.ok(error?.message.includes(message), String(error?.message))
  }
})

t.test('startup fails for two registrations with the same cookies', async (t) => {
  const both = (...registrations: AuthnOptions[]): Promise<Error | undefined> => {
    const app = Fastify()
    t.teardown(() => app.close())
    return startupError(async () => {
      for (const [index, options] of registrations.entries()) {
        const inner = async (scope: FastifyInstance): Promise<void> => {
          await scope.register(authn, { ...good, ...options })
        }
        await app.register(inner, { prefix: `/${index}` })
      }
      await app.ready()
    })
  }
  const error = await both({}, {})
  t.match(error, { code: 'ERR_AUTH_OPTION' })
  t.match(error?.message, /the cookie __Host-token.* cookies: \{ name: 'admin' \}/)
  const named = await both({ cookies: { name: 'a' } }, { cookies: { name: 'a' } })
  t.match(named?.message, '__Host-a-token')
  t.equal(await both({}, { cookies: { name: 'admin' } }), undefined)
  t.equal(await both({}, { cookies: undefined }), undefined)
})

t.test('of two registrations with cookies in one scope, the last one sets them', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(authn, good)
  await app.register(authn, { ...good, login: { path: '/session' } })
  await app.ready()
  const url = '/session'
  const payload = { username: 'alice', password: 'wonderland' }
  t.equal((await app.inject({ method: 'POST', url, payload })).body, '{"expiresIn":300}')
})
