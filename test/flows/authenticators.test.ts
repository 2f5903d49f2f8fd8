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
  type ExpectedRejection,
} from '../helpers/flows.js'
import { claims, hmacToken, epochSeconds } from '../helpers/tokens.js'

type Headers = Record<string, string>

const token = (more: object = {}, key = secret): Headers =>
  bearer(hmacToken({ alg: 'HS256' }, claims(more), key))
const configured = { username: 'admin', password: 'geheim:ключ' }

/** Each kind of credentials is sent to each authenticator. Malformed headers: test/attacks/authorization-header.test.ts. */
const kinds = {
  'no header': {},
  'the scheme Digest': { authorization: 'Digest abc' },
  'a valid token': token(),
  'a token with a changed signature': token({}, `${secret}x`),
  'an expired token': token({ exp: epochSeconds() - 1 }),
  'a token of an unknown user': token({ sub: 'nobody' }),
  'the opaque token': bearer('opaque~token='),
  'the right password': basic('alice', passwords.alice),
  'a wrong password': basic('alice', passwords.bob),
  'the configured password': basic(configured.username, configured.password),
  'the right API key': { 'x-api-key': 'right' },
  'a wrong API key': { 'x-api-key': 'wrong' },
  'an API key that counts as none': { 'x-api-key': 'none' },
} satisfies Record<string, Headers>
type Kind = keyof typeof kinds
/** Tokens that an authenticator for tokens takes for its own, valid or not. */
const tokens: readonly Kind[] = [
  'a valid token',
  'a token with a changed signature',
  'an expired token',
  'a token of an unknown user',
]

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

interface Expected {
  readonly use: string | readonly string[]
  /** Its twin that is `optional: true`. */
  readonly optional: Authenticator
  readonly challenge: ExpectedRejection['challenge']
  readonly users: Partial<Record<Kind, string>>
  /** Kinds that are neither here nor in `users` count as no credentials. */
  readonly rejected: Partial<Record<Kind, ExpectedRejection>>
}

const each = (kinds: readonly Kind[], expected: ExpectedRejection): Expected['rejected'] =>
  Object.fromEntries(kinds.map((kind) => [kind, expected]))

/** Tokens that are no valid token of ours, with the challenges of the authenticators beside jwt. */
function rejectedTokens(...others: string[]): Expected['rejected'] {
  const rejection = (error: string, description: string): ExpectedRejection => {
    const challenge = tokenChallenge(description)
    return { error, challenge: others.length === 0 ? challenge : [challenge, ...others] }
  }
  return {
    ...each(
      ['a token with a changed signature', 'the opaque token'],
      rejection(messages.jwtInvalid, 'The token is invalid'),
    ),
    'an expired token': rejection(messages.jwtExpired, 'The token expired'),
    'a token of an unknown user': rejection(messages.invalid, 'The token is not accepted'),
  }
}

/** Headers of Basic without the right name and password. */
function rejectedPasswords(right: Kind, challenge: string | string[]): Expected['rejected'] {
  const all: Kind[] = ['the right password', 'a wrong password', 'the configured password']
  return each(
    all.filter((kind) => kind !== right),
    { error: messages.invalid, challenge },
  )
}

const table: Record<string, Expected> = {
  jwt: {
    use: 'jwt',
    optional: jwtAuthenticator({ optional: true }),
    challenge: bearerChallenge,
    users: { 'a valid token': 'alice' },
    rejected: rejectedTokens(),
  },
  basic: {
    use: 'basic',
    optional: basicAuthenticator({ optional: true }),
    challenge: basicChallenge,
    users: { 'the right password': 'alice' },
    rejected: rejectedPasswords('the right password', basicChallenge),
  },
  configBasic: {
    use: 'configBasic',
    optional: { ...configBasicAuthenticator(configured), optional: true },
    challenge: basicChallenge,
    users: { 'the configured password': 'admin' },
    rejected: rejectedPasswords('the configured password', basicChallenge),
  },
  'jwt and basic': {
    use: ['jwt', 'basic'],
    optional: anyOf(jwtAuthenticator({ optional: true }), basicAuthenticator({ optional: true })),
    challenge: [bearerChallenge, basicChallenge],
    users: { 'a valid token': 'alice', 'the right password': 'alice' },
    rejected: {
      ...rejectedTokens(basicChallenge),
      ...rejectedPasswords('the right password', [bearerChallenge, basicChallenge]),
    },
  },
  'an authenticator of the app for API keys': {
    use: 'apiKey',
    optional: apiKey(true),
    challenge: `ApiKey realm="${realm}"`,
    users: { 'the right API key': 'robot' },
    rejected: each(['a wrong API key'], {
      error: messages.invalid,
      challenge: `ApiKey realm="${realm}"`,
    }),
  },
  'an authenticator of the app that reads bearerToken()': {
    use: 'opaque',
    optional: opaque(true),
    challenge: bearerChallenge,
    users: { 'the opaque token': 'program' },
    rejected: each(tokens, {
      error: messages.invalid,
      challenge: tokenChallenge('The token is not accepted'),
    }),
  },
}

const options = {
  userService: userService(),
  jwt: { secret },
  basic: configured,
  login: false,
  throttle: false,
} as const

for (const [name, { use, optional, challenge, users, rejected }] of Object.entries(table)) {
  t.test(`in each mode, each kind of credentials gets a user or a 401 from ${name}`, async (t) => {
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
    for (const kind of Object.keys(kinds) as Kind[]) {
      for (const mode of Object.keys(marks)) {
        const title = `${kind}, ${mode}`
        const response = await app.inject({ url: encodeURI(`/${mode}`), headers: kinds[kind] })
        // Where only other routes of the app accept them, it says so.
        const error = tokens.includes(kind) ? messages.notAccepted : messages.none
        const rejection = rejected[kind] ?? { error, challenge }
        const isAnonymous =
          kind in rejected ? mode === 'try' : !(kind in users) && mode !== 'required'
        if (kind in users) isWelcome(t, response, users[kind], title)
        else if (isAnonymous) isWelcome(t, response, null, title)
        else isRejection(t, response, rejection, title)
        t.equal(take(), kind in users || isAnonymous ? 1 : 0, `${title}: runs of the handler`)
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
  t.test(`a mark ${place} decides between users, anonymous requests and 401s`, async (t) => {
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
      t.strictSame(
        rows.map((row) => row.mode),
        [mode, mode],
        `${title}: GET and HEAD in the report`,
      )
      for (const [index, kind] of five.entries()) {
        const response = await app.inject({ url: `/${at}`, headers: kinds[kind] })
        const seen = expected[index]
        if (seen === 401) t.equal(response.statusCode, 401, `${title}, ${kind}`)
        else isWelcome(t, response, seen, `${title}, ${kind}`)
        t.equal(take(), seen === 401 ? 0 : 1, `${title}, ${kind}: runs of the handler`)
      }
    }
  })
}

t.test('an optional default authenticator is not optional by its name', async (t) => {
  const { handler } = probe()
  const authenticator = basicAuthenticator({ optional: true })
  const app = await appWith(t, { ...options, authenticator }, (app) => {
    app.get('/default', { config: { auth: true } }, handler)
    app.get('/basic', { config: { auth: { use: 'basic' } } }, handler)
  })
  isWelcome(t, await app.inject('/default'), null)
  isRejection(t, await app.inject('/basic'), { error: messages.none, challenge: basicChallenge })
})
