// What only one of the built-in authenticators does; what they have in common is in modes.test.ts.
import bcrypt from 'bcrypt'
import Fastify, { type FastifyRequest } from 'fastify'
import t from 'tap'
import {
  basicAuthenticator,
  configBasicAuthenticator,
  EXTRA_JWT_CLAIMS,
  jwtAuthenticator,
  type AuthnOptions,
} from '../../lib/index.js'
import {
  appWith,
  basic,
  bearer,
  cost,
  logLines,
  passwords,
  secret,
  standardOptions,
  users,
  type TestApp,
} from '../helpers/app.js'
import {
  basicChallenge,
  isFault,
  isRejection,
  isWelcome,
  probe,
  serviceOf,
  messages,
  tokenChallenge,
} from '../helpers/flows.js'
import { claims, hmacToken, epochSeconds } from '../helpers/tokens.js'

const token = (more: object = {}, key = secret): string =>
  hmacToken({ alg: 'HS256', typ: 'JWT' }, claims(more), key)
const invalid = { error: messages.invalid, challenge: basicChallenge }

t.test('jwt asks the user service for the sub as it is, a number or a string', async (t) => {
  const asked: unknown[] = []
  const userService = serviceOf((name) => {
    asked.push(name)
    return { name }
  })
  const app = await appWith(t, { userService, jwt: { secret } }, (app) => {
    app.get('/', { config: { auth: true } }, probe().handler)
  })
  const subjects = ['alice', 42, 0, -1, '42', '__proto__']
  for (const sub of subjects) {
    isWelcome(t, await app.inject({ url: '/', headers: bearer(token({ sub })) }), sub)
  }
  t.strictSame(asked, subjects)
})

t.test('request.extra has the claims of valid tokens only, even of an unknown user', async (t) => {
  const app = await appWith(t, standardOptions(), (app) => {
    for (const auth of [true, 'try'] as const) {
      app.get(`/${auth}`, { config: { auth } }, ({ extra }) => extra[EXTRA_JWT_CLAIMS] ?? null)
    }
  })
  const exp = epochSeconds() + 60
  const rows: [headers: Record<string, string>, claims: object | null][] = [
    [bearer(token({ exp, role: 'admin' })), { sub: 'alice', exp, role: 'admin' }],
    [bearer(token({ sub: 'nobody', exp })), { sub: 'nobody', exp }],
    [bearer(token({}, 'y'.repeat(32))), null],
    [bearer(token({ exp: 1 })), null],
    [bearer('abc'), null],
    [{}, null],
  ]
  for (const [headers, expected] of rows) {
    t.strictSame((await app.inject({ url: '/try', headers })).json(), expected)
  }
  const [headers, expected] = rows[0] as (typeof rows)[number]
  t.strictSame((await app.inject({ url: '/true', headers })).json(), expected)
})

t.test('a wrapper of a jwtAuthenticator that forgets init gives a 500', async (t) => {
  const inner = jwtAuthenticator()
  const authenticator = { authenticate: (request: FastifyRequest) => inner.authenticate(request) }
  const { handler, take } = probe()
  const { lines, stream } = logLines()
  const app = await appWith(
    t,
    { ...standardOptions(), authenticator },
    (app) => void app.get('/', { config: { auth: true } }, handler),
    { logger: { level: 'error', stream } },
  )
  isFault(t, await app.inject({ url: '/', headers: bearer(token()) }), 'ERR_AUTH_AUTHENTICATOR')
  t.equal(take(), 0)
  t.equal(lines.length, 1)
  t.match(JSON.stringify(lines), 'jwtAuthenticator is used before its init()')
})

t.test('a jwtAuthenticator finds users in its own service', async (t) => {
  const { handler, take } = probe()
  const userService = serviceOf((name) => ({ name: `robot ${name}` }))
  const robots = jwtAuthenticator({ userService, audience: 'robots' })
  const jwt = { secret, audience: 'people' }
  const app = await appWith(t, { ...standardOptions(), jwt, authenticators: { robots } }, (app) => {
    app.get('/people', { config: { auth: true } }, handler)
    app.get('/robots', { config: { auth: { use: 'robots' } } }, handler)
  })
  const headers = bearer(token({ sub: 'r2d2', aud: 'robots' }))
  isWelcome(t, await app.inject({ url: '/robots', headers }), 'robot r2d2')
  const people = await app.inject({ url: '/people', headers })
  const challenge = tokenChallenge('The token is invalid')
  isRejection(t, people, { error: messages.jwtInvalid, challenge })
  t.equal(take(), 1)
})

/** An app whose only route is for Basic, and whose only user has these fields. */
function withUser(
  user: () => object,
  more: AuthnOptions = {},
  handler: ReturnType<typeof probe>['handler'] = probe().handler,
): [AuthnOptions, (app: TestApp) => void] {
  const options: AuthnOptions = { authenticator: 'basic', userService: serviceOf(user), ...more }
  return [options, (app) => void app.get('/', { config: { auth: true } }, handler)]
}

t.test('a stored password that is no bcrypt hash is a 401 and a warning', async (t) => {
  const hash = users[0]?.password ?? ''
  const short = hash.slice(0, -1)
  const wrong: unknown[] = ['', null, undefined, 5, [hash], { toString: () => hash }]
  wrong.push(passwords.alice, '$argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHQ$aGFzaA')
  wrong.push(short, `${short}+`, `${short}é`, `${hash}a`, `${hash}\n`, ` ${hash}`)
  for (const cost of ['$99$', '$32$', '$03$', '$4$0']) wrong.push(hash.replace('$04$', cost))
  for (const variant of ['$2x$', '$2$0']) wrong.push(hash.replace('$2b$', variant))
  const { handler, take } = probe()
  const { lines, stream } = logLines()
  let password: unknown
  const setup = withUser(() => ({ name: 'alice', password }), { throttle: false }, handler)
  const app = await appWith(t, ...setup, { logger: { level: 'warn', stream } })
  for (password of wrong) {
    lines.length = 0
    const response = await app.inject({ url: '/', headers: basic('alice', passwords.alice) })
    isRejection(t, response, invalid, String(password))
    t.equal(take(), 0)
    // A user without a password logs in otherwise.
    t.match(lines, password === null ? [] : [{ level: 40 }], String(password))
    t.equal(lines.length, password === null ? 0 : 1)
    t.notMatch(JSON.stringify(lines), passwords.alice)
  }
})

t.test('a user without the password field is a 500, and the log names the option', async (t) => {
  const { lines, stream } = logLines()
  const setup = withUser(() => ({ name: 'alice', hash: 'x' }), { passwordField: 'pw' })
  const app = await appWith(t, ...setup, { logger: { level: 'info', stream } })
  const response = await app.inject({ url: '/', headers: basic('alice', 'hush') })
  isFault(t, response, 'ERR_AUTH_PASSWORD_FIELD')
  const errors = JSON.stringify(lines.filter(({ level }) => level === 50))
  t.match(errors, 'passwordField')
  t.notMatch(JSON.stringify(lines), 'hush')
})

t.test('a password over maxPasswordBytes is a 401, since bcrypt would cut it', async (t) => {
  const long = 'é'.repeat(36)
  const password = bcrypt.hashSync(long, cost)
  t.ok(bcrypt.compareSync(`${long}!`, password), 'bcrypt ignores the rest')
  const rows: [more: AuthnOptions, sent: string, passes: boolean][] = [
    [{}, long, true],
    [{}, `${long}!`, false],
    [{ maxPasswordBytes: false }, `${long}!`, true],
    [{ maxPasswordBytes: 71 }, long, false],
  ]
  for (const [more, sent, passes] of rows) {
    const app = await appWith(t, ...withUser(() => ({ name: 'alice', password }), more))
    const response = await app.inject({ url: '/', headers: basic('alice', sent) })
    if (passes) isWelcome(t, response, 'alice', JSON.stringify(more))
    else isRejection(t, response, invalid, JSON.stringify(more))
  }
})

t.test('a basicAuthenticator finds users in its own service and field', async (t) => {
  const hash = bcrypt.hashSync('swordfish', cost)
  const staff = basicAuthenticator({
    userService: serviceOf((name) => (name === 'carol' ? { name, secret: hash } : null)),
    passwordField: 'secret',
  })
  const options = { ...standardOptions(), authenticators: { staff }, realm: 'Staff "only"' }
  const app = await appWith(t, options, (app) => {
    for (const use of ['staff', 'basic']) {
      app.get(`/${use}`, { config: { auth: { use } } }, ({ user }) => user)
    }
  })
  const challenge = 'Basic realm="Staff \\"only\\"", charset="UTF-8"'
  const carol = basic('carol', 'swordfish')
  const alice = basic('alice', passwords.alice)
  const get = (url: string, headers: Record<string, string>) => app.inject({ url, headers })
  t.strictSame((await get('/staff', carol)).json(), { name: 'carol' })
  t.strictSame((await get('/basic', alice)).json(), { id: 1, name: 'alice' })
  isRejection(t, await get('/staff', alice), { error: messages.invalid, challenge })
  isRejection(t, await get('/basic', carol), { error: messages.invalid, challenge })
})

t.test('a configBasicAuthenticator has its own credentials', async (t) => {
  const own = configBasicAuthenticator({ username: 'a', password: 'b' })
  for (const more of [{ basic: { username: 'admin', password: 'geheim' } }, {}]) {
    const options = { ...more, authenticators: { own } }
    const app = await appWith(t, options, (app) => {
      app.get('/', { config: { auth: { use: 'own' } } }, ({ user }) => user)
    })
    t.strictSame((await app.inject({ url: '/', headers: basic('a', 'b') })).json(), { name: 'a' })
    const other = await app.inject({ url: '/', headers: basic('admin', 'geheim') })
    isRejection(t, other, invalid)
  }
})

t.test('init of an authenticator needs the plugin in its scope', async (t) => {
  const scope = Fastify()
  for (const { init } of [jwtAuthenticator(), basicAuthenticator()]) {
    t.throws(() => init?.(scope), { code: 'ERR_AUTH_OPTION', message: /without the plugin/ })
  }
})
