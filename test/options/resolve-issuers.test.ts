// Also holds lib/options/issuer-schemas.ts and lib/app/own-users.ts.
import Fastify from 'fastify'
import t from 'tap'
import { authn, JwtService, type AuthnOptions, type IssuerOptions } from '../../lib/index.js'
import { resolveIssuers } from '../../lib/options/resolve-issuers.js'
import { appWith, secret, userService } from '../helpers/app.js'
import { rejectionOf } from '../helpers/errors.js'

const issuer = 'https://id.example.com/realms/corp'
const audience = 'https://api.example.com'
const user = (): null => null
const good: IssuerOptions = { issuer, audience, user }
const service = userService()

/** Options that stop the boot, and what the error says. */
const wrong: [what: string, options: unknown, message: RegExp][] = [
  ['no object', 'https://id.example.com', /option "issuers": .* expected an object of issuers/],
  ['an array', [good], /option "issuers": found an array/],
  ['an empty name', { '': good }, /option "issuers": found an issuer without a name/],
  ['no issuer at all', { corp: undefined }, /option "issuers.corp": found nothing/],
  [
    'a variable never set',
    { corp: { ...good, issuer: undefined } },
    /"issuers.corp.issuer": found nothing/,
  ],
  [
    'an empty issuer',
    { corp: { ...good, issuer: '' } },
    /"issuers.corp.issuer": found an empty string/,
  ],
  ['no audience', { corp: { issuer, user } }, /"issuers.corp.audience": found nothing/],
  ['audiences that are none', { corp: { ...good, audience: [] } }, /"issuers.corp.audience"/],
  ['an empty audience', { corp: { ...good, audience: ['a', ''] } }, /"issuers.corp.audience.1"/],
  [
    'another claim',
    { corp: { ...good, audienceClaim: 'azp' } },
    /"issuers.corp.audienceClaim": found "azp"/,
  ],
  [
    'HMAC',
    { corp: { ...good, algorithms: ['HS256'] } },
    /"issuers.corp.algorithms.*found "HS256", expected one of RS256/,
  ],
  ['none', { corp: { ...good, algorithms: ['none'] } }, /"issuers.corp.algorithms.*found "none"/],
  ['no algorithm', { corp: { ...good, algorithms: [] } }, /"issuers.corp.algorithms"/],
  [
    'an unknown profile',
    { corp: { ...good, profile: 'rfc6749' } },
    /"issuers.corp.profile": found "rfc6749"/,
  ],
  ['a user that is no function', { corp: { ...good, user: {} } }, /"issuers.corp.user"/],
  [
    'too much tolerance',
    { corp: { ...good, clockTolerance: 301 } },
    /"issuers.corp.clockTolerance": found 301/,
  ],
  [
    'a typo',
    { corp: { ...good, audiance: 'x' } },
    /unknown option "issuers.corp.audiance". Known here: issuer,/,
  ],
  [
    'plain http',
    { corp: { ...good, issuer: 'http://id.example.com' } },
    /"issuers.corp.issuer": found "http:.* expected an address with https/,
  ],
  [
    'no address',
    { corp: { ...good, issuer: 'corp' } },
    /"issuers.corp.issuer": .* Where the issuer is no such address, set "jwksUri"/,
  ],
  [
    'a query',
    { corp: { ...good, issuer: `${issuer}?x` } },
    /"issuers.corp.issuer": .*without credentials, query/,
  ],
  [
    'a key set over http',
    { corp: { ...good, jwksUri: 'http://id.example.com/keys' } },
    /"issuers.corp.jwksUri": found "http/,
  ],
  ['the name jwt', { jwt: good }, /"issuers.jwt": an authenticator has the name "jwt" already/],
  ['the name basic', { basic: good }, /"issuers.basic"/],
  [
    'one issuer twice',
    { corp: good, other: good },
    /"issuers.other.issuer": .*"issuers.corp.issuer" too/,
  ],
  [
    'two issuers without user',
    { corp: good, other: { issuer: 'https://other.example', audience } },
    /"issuers.other.user" is missing/,
  ],
]

t.test('what is wrong stops the boot, and the error says what', async (t) => {
  for (const [what, issuers, message] of wrong) {
    const options = { userService: service, issuers } as unknown as AuthnOptions
    t.match(await rejectionOf(appWith(t, options)), { code: 'ERR_AUTH_OPTION', message }, what)
  }
})

t.test('credentials in an address are not shown', async (t) => {
  const issuers = { corp: { ...good, jwksUri: 'https://user:s3cret@id.example.com/keys' } }
  const error = await rejectionOf(appWith(t, { issuers }))
  t.match(error, {
    code: 'ERR_AUTH_OPTION',
    message: /"issuers.corp.jwksUri": found an address with an @/,
  })
  t.notMatch(error.message, /s3cret/)
})

t.test('an issuer is not the app itself', async (t) => {
  const message = /"issuers.corp.issuer": found .*, which is "jwt.issuer" too/
  const own: AuthnOptions[] = [
    { jwt: { secret, issuer } },
    { jwtService: new JwtService({ secret, issuer }) },
  ]
  for (const options of own) {
    const error = await rejectionOf(appWith(t, { ...options, issuers: { corp: good } }))
    t.match(error, { code: 'ERR_AUTH_OPTION', message })
  }
})

t.test('the names of authenticators are taken', async (t) => {
  const authenticators = { corp: { authenticate: () => null } }
  const error = await rejectionOf(appWith(t, { authenticators, issuers: { corp: good } }))
  t.match(error, {
    code: 'ERR_AUTH_OPTION',
    message: /"issuers.corp": an authenticator has the name "corp"/,
  })
})

t.test('users by sub: only where nobody else gives them names', async (t) => {
  const issuers = { corp: { issuer, audience } }
  const message = /option "issuers.corp.user" is missing, and /
  const missing = { code: 'ERR_AUTH_OPTION', message }
  const jwt = { secret }
  t.match(await rejectionOf(appWith(t, { issuers })), missing, 'there are no users')
  t.match(await rejectionOf(appWith(t, { issuers, userService: service, jwt })), missing, 'a login')
  const basic = (auth: unknown) => (app: { get: (...args: never[]) => unknown }) =>
    void app.get('/' as never, { config: { auth } } as never, (() => 'x') as never)
  const only = { issuers, userService: service }
  t.match(
    await rejectionOf(appWith(t, only, basic({ use: ['corp', 'basic'] }))),
    { ...missing, message: /and Basic, which .* accepts, finds users/ },
    'Basic on one route',
  )
  const standard = { ...only, authenticator: 'basic' }
  t.match(await rejectionOf(appWith(t, standard, basic(true))), missing, 'Basic as the standard')
  const app = await appWith(t, { ...only, jwt, login: false }, basic({ use: ['corp', 'jwt'] }))
  t.strictSame(app.authn.authenticators, ['jwt', 'basic', 'corp'])
  await appWith(
    t,
    { ...only, basic: { username: 'a', password: 'b' } },
    basic({ use: ['corp', 'configBasic'] }),
  )
  await appWith(t, { ...only, jwt, issuers: { corp: good } }, basic({ use: ['corp', 'basic'] }))
})

t.test('defaults, and what is given', async (t) => {
  const [plain, full] = resolveIssuers(
    {
      plain: { issuer, audience },
      full: {
        issuer: 'urn:corp',
        audience: ['a', 'b'],
        audienceClaim: 'client_id',
        jwksUri: 'https://id.example.com/keys?tenant=1',
        algorithms: ['RS256'],
        profile: 'rfc9068',
        clockTolerance: 5,
        requireExp: false,
      },
    },
    [],
    undefined,
  )
  t.match(plain, {
    name: 'plain',
    issuer,
    audience: [audience],
    audienceClaim: 'aud',
    jwksUri: undefined,
    algorithms: undefined,
    user: undefined,
    rules: { clockTolerance: 0, requireExp: true, issuer, audience: [audience] },
  })
  t.strictSame([...(plain?.rules.typ ?? [])], [undefined, 'jwt', 'at+jwt'])
  t.match(full, {
    audience: ['a', 'b'],
    jwksUri: 'https://id.example.com/keys?tenant=1',
    algorithms: ['RS256'],
    rules: { clockTolerance: 5, requireExp: false, issuer: 'urn:corp', audience: undefined },
  })
  t.strictSame([...(full?.rules.typ ?? [])], ['at+jwt'])
})

t.test('no issuers are as good as none, and nothing is loaded', async (t) => {
  const app = await appWith(t, { issuers: {}, userService: service, jwt: { secret } })
  t.strictSame(app.authn.stats().issuers, {})
})

t.test('marks without use', async (t) => {
  const auth = (app: { get: (...args: never[]) => unknown }): void =>
    void app.get('/' as never, { config: { auth: true } } as never, (() => 'x') as never)
  const nameIn = async (options: AuthnOptions): Promise<unknown> => {
    const app = await appWith(t, options, auth)
    return app.authn.routes().find(({ url }) => url === '/')?.authenticators
  }
  const issuers = { corp: good }
  t.strictSame(await nameIn({ issuers }), ['corp'], 'the only one')
  t.strictSame(await nameIn({ issuers, userService: service }), ['corp'], 'and never Basic')
  t.strictSame(await nameIn({ issuers, userService: service, jwt: { secret } }), ['jwt'])
  t.strictSame(await nameIn({ issuers, authenticator: ['corp'] }), ['corp'])
  const two = { ...issuers, other: { ...good, issuer: 'https://other.example' } }
  t.ok(await nameIn({ issuers: two, authenticator: ['corp', 'other'] }), 'one that is said')
  const unclear = await rejectionOf(appWith(t, { issuers: two }, auth))
  t.match(unclear, { code: 'ERR_AUTH_MARK', message: /Of several "issuers", name those/ })
})

t.test('users by sub: also where another registration of the app gives them names', async (t) => {
  const issuers = { corp: { issuer, audience } }
  const missing = {
    code: 'ERR_AUTH_OPTION',
    message: /option "issuers.corp.user" is missing, and /,
  }
  const both = async (one: AuthnOptions, other: AuthnOptions, use: string): Promise<string> => {
    const app = Fastify()
    t.teardown(() => app.close())
    void app.register(async (scope) => {
      await scope.register(authn, one)
    })
    void app.register(async (scope) => {
      await scope.register(authn, other)
      scope.get('/', { config: { auth: { use } } }, () => 'x')
    })
    await app.ready()
    return 'boots'
  }
  const bySub = { userService: service, issuers }
  const logins = { userService: service, jwt: { secret } }
  t.match(await rejectionOf(both(bySub, logins, 'jwt')), missing, 'a login that comes later')
  t.match(await rejectionOf(both(logins, bySub, 'corp')), missing, 'a login that was there')
  const passwords = { ...logins, login: false } as const
  t.match(await rejectionOf(both(bySub, passwords, 'basic')), missing, 'Basic')
  t.ok(await both(bySub, passwords, 'jwt'))
  t.ok(await both(bySub, { ...logins, userService: userService() }, 'basic'), 'other users')
})
