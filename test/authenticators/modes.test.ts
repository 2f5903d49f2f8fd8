// Every authenticator in every mode, with every kind of credentials, and every mark in every place: status, body, headers,
// and whether the handler ran. What only one authenticator does is in test/authenticators/.
import t from 'tap'
import {
  anyOf,
  authn,
  AuthenticationError,
  basicAuthenticator,
  configBasicAuthenticator,
  jwtAuthenticator,
  type Authenticator,
  type AuthMark,
  type AuthnOptions,
  type AuthnRoute,
} from '../../lib/index.js'
import {
  appWith,
  basic,
  bearer,
  passwords,
  secret,
  userService,
  type TestApp,
} from '../helpers/app.js'
import {
  basicChallenge,
  bearerChallenge,
  isRejection,
  isWelcome,
  probe,
  realm,
  messages,
  tokenChallenge,
} from '../helpers/flows.js'
import { claims, hmacToken } from '../helpers/tokens.js'

type Headers = Record<string, string>

const token = (more: object = {}, key = secret): Headers =>
  bearer(hmacToken({ alg: 'HS256' }, claims(more), key))
const configured = { username: 'admin', password: 'geheim:ключ' }

/** The bodies of rejections, and what the challenge of Bearer says where a token is bad. */
const rejections: Record<string, [error: string, description?: string]> = {
  none: [messages.none],
  other: [messages.notAccepted],
  wrong: [messages.invalid],
  invalid: [messages.jwtInvalid, 'The token is invalid'],
  expired: [messages.jwtExpired, 'The token expired'],
  unknown: [messages.invalid, 'The token is not accepted'],
}
/**
 * What each of {@link subjects} does with each kind of credentials: one of {@link rejections}, of which `none`
 * and `other` count as no credentials, or the name of a user. Malformed headers: test/attacks/authorization-header.test.ts.
 */
const kinds: Record<string, [headers: Headers, outcomes: string]> = {
  'no header': [{}, 'none none none none none none'],
  'a valid token': [token(), 'alice other other alice other unknown'],
  'a forged token': [token({}, `${secret}x`), 'invalid other other invalid other unknown'],
  'an expired token': [token({ exp: 1 }), 'expired other other expired other unknown'],
  'a token of an unknown user': [
    token({ sub: 'nobody' }),
    'unknown other other unknown other unknown',
  ],
  'the opaque token': [bearer('opaque~token='), 'invalid none none invalid none program'],
  'the right password': [basic('alice', passwords.alice), 'none alice wrong alice none none'],
  'a wrong password': [basic('alice', passwords.bob), 'none wrong wrong wrong none none'],
  'the configured password': [basic('admin', 'geheim:ключ'), 'none wrong admin wrong none none'],
  'the right API key': [{ 'x-api-key': 'right' }, 'none none none none robot none'],
  'a wrong API key': [{ 'x-api-key': 'wrong' }, 'none none none none wrong none'],
  'an API key that counts as none': [{ 'x-api-key': 'none' }, 'none none none none none none'],
}

const apiKey = (optional: boolean): Authenticator => ({
  scheme: 'ApiKey',
  optional,
  authenticate(request) {
    const given = request.headers['x-api-key']
    if (given === undefined) return null
    if (given === 'none') throw new AuthenticationError('auth.no-credentials-provided')
    if (given !== 'right') throw new AuthenticationError('auth.invalid-credentials')
    return { name: 'robot' }
  },
})

const opaque = (optional: boolean): Authenticator => ({
  scheme: 'Bearer',
  optional,
  authenticate(request) {
    const given = request.bearerToken()
    if (given === null) return null
    if (given !== 'opaque~token=') throw new AuthenticationError('auth.invalid-credentials')
    return { name: 'program' }
  },
})

interface Subject {
  readonly use: string | readonly string[]
  /** Its twin that is `optional: true`. */
  readonly optional: Authenticator
  /** Its challenges, given that of Bearer. */
  readonly challenge: (ofBearer: string) => string | string[]
}

const optional = { optional: true }
const subjects: readonly Subject[] = [
  { use: 'jwt', optional: jwtAuthenticator(optional), challenge: (ofBearer) => ofBearer },
  { use: 'basic', optional: basicAuthenticator(optional), challenge: () => basicChallenge },
  {
    use: 'configBasic',
    optional: { ...configBasicAuthenticator(configured), ...optional },
    challenge: () => basicChallenge,
  },
  {
    use: ['jwt', 'basic'],
    optional: anyOf(jwtAuthenticator(optional), basicAuthenticator(optional)),
    challenge: (ofBearer) => [ofBearer, basicChallenge],
  },
  { use: 'apiKey', optional: apiKey(true), challenge: () => `ApiKey realm="${realm}"` },
  { use: 'opaque', optional: opaque(true), challenge: (ofBearer) => ofBearer },
]

const options = {
  userService: userService(),
  jwt: { secret },
  basic: configured,
  login: false,
  throttle: false,
} as const

for (const [at, { use, optional, challenge: challengeOf }] of subjects.entries()) {
  const names = [use].flat().join(' or ')
  t.test(`in each mode, credentials get a user or a 401 from ${names}`, async (t) => {
    const { handler, take } = probe()
    const authenticators = { apiKey: apiKey(false), opaque: opaque(false), optional }
    const marks: Record<string, AuthMark> = {
      required: { use },
      optional: { mode: 'optional', use },
      try: { mode: 'try', use },
      'an authenticator that is optional': { use: 'optional' },
    }
    const app = await appWith(t, { ...options, authenticators }, (app) => {
      for (const [mode, auth] of Object.entries(marks))
        app.get(`/${mode}`, { config: { auth } }, handler)
    })
    for (const [kind, [headers, outcomes]] of Object.entries(kinds)) {
      const outcome = outcomes.split(' ')[at] ?? ''
      const [error, description] = rejections[outcome] ?? []
      const challenge = challengeOf(description ? tokenChallenge(description) : bearerChallenge)
      for (const mode of Object.keys(marks)) {
        const title = `${kind}, ${mode}`
        const response = await app.inject({ url: encodeURI(`/${mode}`), headers })
        const isNone = outcome === 'none' || outcome === 'other'
        const isAnonymous = mode === 'try' || (isNone && mode !== 'required')
        if (error === undefined) isWelcome(t, response, outcome, title)
        else if (isAnonymous) isWelcome(t, response, null, title)
        else isRejection(t, response, { error, challenge }, title)
        t.equal(take(), error && !isAnonymous ? 0 : 1, `${title}: runs of the handler`)
      }
    }
  })
}

type Seen = string | null | 401

/** What each mark does with: no credentials, a valid token, an invalid one, a right and a wrong password. */
const marks: [AuthMark, AuthnRoute['mode'], Seen, Seen, Seen, Seen, Seen][] = [
  [true, true, 401, 'alice', 401, 401, 401],
  [false, false, null, null, null, null, null],
  ['optional', 'optional', null, 'alice', 401, null, null],
  ['try', 'try', null, 'alice', null, null, null],
  [{ mode: true }, true, 401, 'alice', 401, 401, 401],
  [{ mode: 'optional' }, 'optional', null, 'alice', 401, null, null],
  [{ mode: false, use: 'basic' }, false, null, null, null, null, null],
  [{ use: ['jwt'] }, true, 401, 'alice', 401, 401, 401],
  [{ mode: 'try', use: 'basic' }, 'try', null, null, null, 'alice', null],
  [{ mode: 'optional', use: ['jwt', 'basic'] }, 'optional', null, 'alice', 401, 'alice', 401],
  [{ use: 'lenient' }, 'optional', null, 'alice', 401, null, null],
  [{ mode: 'try', use: 'lenient' }, 'try', null, 'alice', null, null, null],
  [{ mode: false, use: 'lenient' }, false, null, null, null, null, null],
  [{ use: ['lenient', 'basic'] }, true, 401, 'alice', 401, 'alice', 401],
]
const five = [
  'no header',
  'a valid token',
  'an expired token',
  'the right password',
  'a wrong password',
] as const

/** Ways to give a mark to a route that is declared by `routes`. */
const places = {
  'on a route': (app, auth, routes) => routes(app, auth),
  'on a group': (app, auth, routes) => app.register(async (app) => routes(app), { auth }),
  'on the group around a group': (app, auth, routes) =>
    app.register(async (app) => void app.register(async (app) => routes(app)), { auth }),
  'on a group in a group with another mark': (app, auth, routes) =>
    app.register(async (app) => void app.register(async (app) => routes(app), { auth }), {
      auth: auth === false,
    }),
  'on a route in a group with another mark': (app, auth, routes) =>
    app.register(async (app) => routes(app, auth), { auth: auth === false }),
  'on a registration before its routes': (app, auth, routes) =>
    app.register(async (app) => {
      await app.register(authn, { ...lenient, auth })
      routes(app)
    }),
  'on a registration after its routes': (app, auth, routes) =>
    app.register(async (app) => {
      routes(app)
      await app.register(authn, { ...lenient, auth })
    }),
} satisfies Record<string, (app: TestApp, auth: AuthMark, routes: Routes) => unknown>
type Routes = (app: TestApp, auth?: AuthMark) => void

const lenient: AuthnOptions = {
  ...options,
  authenticators: { lenient: jwtAuthenticator({ optional: true }) },
}

for (const [place, declare] of Object.entries(places)) {
  t.test(`a mark ${place} decides who gets a user, is anonymous or gets a 401`, async (t) => {
    const { handler, take } = probe()
    const app = await appWith(t, lenient, async (app) => {
      for (const [at, [auth]] of marks.entries()) {
        await declare(app, auth, (app, own) => {
          app.get(`/${at}`, { config: own === undefined ? {} : { auth: own } }, handler)
        })
      }
    })
    for (const [at, [auth, mode, ...expected]] of marks.entries()) {
      const rows = app.authn.routes().filter(({ url }) => url === `/${at}`)
      const title = JSON.stringify(auth)
      const found = rows.map((row) => row.mode)
      t.strictSame(found, [mode, mode], `${title}: GET and HEAD in the report`)
      for (const [index, kind] of five.entries()) {
        const response = await app.inject({ url: `/${at}`, headers: kinds[kind]?.[0] ?? {} })
        const seen = expected[index]
        if (seen === 401) t.equal(response.statusCode, 401, `${title}, ${kind}`)
        else isWelcome(t, response, seen, `${title}, ${kind}`)
        t.equal(take(), seen === 401 ? 0 : 1, `${title}, ${kind}: runs of the handler`)
      }
    }
  })
}

t.test("use: 'basic' requires credentials, even if the default is optional", async (t) => {
  const { handler } = probe()
  const authenticator = basicAuthenticator({ optional: true })
  const app = await appWith(t, { ...options, authenticator }, (app) => {
    app.get('/default', { config: { auth: true } }, handler)
    app.get('/basic', { config: { auth: { use: 'basic' } } }, handler)
  })
  isWelcome(t, await app.inject('/default'), null)
  isRejection(t, await app.inject('/basic'), { error: messages.none, challenge: basicChallenge })
})
