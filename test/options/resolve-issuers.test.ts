import t from 'tap'
import { JwtService, type AuthnOptions, type IssuerOptions } from '../../lib/index.js'
import { appWith, secret, userService, type TestApp } from '../helpers/app.js'
import { rejectionOf } from '../helpers/errors.js'

const issuer = 'https://id.example.com/realms/corp'
const audience = 'https://api.example.com'
const user = (): null => null
const good: IssuerOptions = { issuer, audience, user }
const service = userService()
const code = 'ERR_AUTH_OPTION'

const asked = (more: object): object => ({
  introspection: { clientId: 'notes', clientSecret: 's3cret', ...more },
})
const endpoint = 'https://id.example.com/introspect'

/** Wrong values of `issuers.corp`, and what the error says. */
const wrong: [more: object, message: RegExp][] = [
  [{ issuer: undefined }, /"issuers.corp.issuer": found undefined .*variable/],
  [{ issuer: '' }, /"issuers.corp.issuer": found an empty string/],
  [{ issuer: 'http://id.example.com' }, /"issuers.corp.issuer": found "http:.* https/],
  [{ issuer: 'corp' }, /"issuers.corp.issuer": .*set "jwksUri"/],
  [{ issuer: `${issuer}?x` }, /"issuers.corp.issuer": .*query/],
  [{ audience: undefined }, /"issuers.corp.audience": found undefined .*variable/],
  [{ audience: [] }, /"issuers.corp.audience"/],
  [{ audience: ['a', ''] }, /"issuers.corp.audience.1"/],
  [{ audienceClaim: 'azp' }, /"issuers.corp.audienceClaim": found "azp"/],
  [{ algorithms: ['HS256'] }, /"issuers.corp.algorithms.*"HS256", expected one of RS256/],
  [{ algorithms: ['none'] }, /"issuers.corp.algorithms.*found "none"/],
  [{ algorithms: [] }, /"issuers.corp.algorithms"/],
  [{ profile: 'rfc6749' }, /"issuers.corp.profile": found "rfc6749"/],
  [{ user: undefined }, /"issuers.corp.user": found nothing, expected a function/],
  [{ user: {} }, /"issuers.corp.user"/],
  [{ clockTolerance: 301 }, /"issuers.corp.clockTolerance": found 301/],
  [{ audiance: 'x' }, /unknown option "issuers.corp.audiance"/],
  [{ jwksUri: 'http://id.example.com/keys' }, /"issuers.corp.jwksUri": found "http/],
  [{ introspection: true }, /"issuers.corp.introspection": .*clientId and clientSecret/],
  [
    { introspection: { clientId: 'x' } },
    /"issuers.corp.introspection.clientSecret": found nothing/,
  ],
  [asked({ clientSecret: undefined }), /clientSecret": found undefined .*variable/],
  [asked({ clientSecret: '' }), /clientSecret": found an empty string/],
  [asked({ clientSecret: 's3cret\n' }), /clientSecret": found an invalid string/],
  [asked({ clientSecret: 123456 }), /clientSecret": found a number/],
  [asked({ clientId: '' }), /clientId": found an empty string/],
  [asked({ clientId: 's3cret\u007f' }), /clientId": found an invalid string/],
  [asked({ endpoint: 'http://id.example.com/x' }), /introspection.endpoint": found "http/],
  [asked({ endpoint: '/introspect' }), /introspection.endpoint": found "\/introspect"/],
  [asked({ authMethod: 'private_key_jwt' }), /authMethod": found "private_key_jwt"/],
  [asked({ cache: 301 }), /cache": found 301, expected seconds, 0 to 300/],
  [asked({ cache: -1 }), /cache": found -1/],
  [asked({ cache: Number.NaN }), /cache": found NaN/],
  [asked({ cache: '60' }), /cache": found an invalid string/],
  [asked({ jwt: 'true' }), /jwt": found an invalid string, expected true or false/],
  [
    asked({ optionalClaims: ['iss'] }),
    /optionalClaims.0": found "iss", expected one of aud, sub, token_type/,
  ],
  [asked({ optionalClaims: 'aud' }), /optionalClaims": found an invalid string/],
  [
    { ...asked({ optionalClaims: ['sub'] }), user: undefined },
    /"issuers.corp.user": found nothing/,
  ],
  [asked({ clientSecrets: 'x' }), /unknown option .*Did you mean/],
  [{ issuer: 'corp', ...asked({}) }, /"issuers.corp.issuer": .*"introspection.endpoint"/],
  [{ issuer: 'corp', ...asked({ endpoint }) }, /"issuers.corp.issuer": .*"introspection.jwt"/],
  [{ issuer: 'corp', jwksUri: endpoint, ...asked({}) }, /"issuers.corp.issuer"/],
]

t.test('a wrong option of an issuer makes startup fail; the error names it', async (t) => {
  const authenticators = { taken: { authenticate: () => null } }
  const rows: [issuers: unknown, message: RegExp][] = [
    ...wrong.map(([more, message]): [unknown, RegExp] => [{ corp: { ...good, ...more } }, message]),
    ['https://id.example.com', /option "issuers": .* expected an object/],
    [[good], /option "issuers": found an array/],
    [{ '': good }, /option "issuers": found an issuer without a name/],
    [{ corp: undefined }, /option "issuers.corp": found undefined/],
    [{ jwt: good }, /"issuers.jwt": .* name "jwt"/],
    [{ basic: good }, /"issuers.basic"/],
    [{ taken: good }, /"issuers.taken"/],
    [{ corp: good, other: good }, /"issuers.other.issuer": .*also "issuers.corp.issuer"/],
  ]
  for (const [issuers, message] of rows) {
    const options = { userService: service, authenticators, issuers } as unknown as AuthnOptions
    const error = await rejectionOf(appWith(t, options))
    t.match(error, { code, message }, String(message))
    t.notMatch(error.message, /s3cret/)
  }
})

t.test('an issuer may be any text where nothing is discovered', async (t) => {
  for (const more of [
    asked({ endpoint, jwt: true }),
    { jwksUri: endpoint, ...asked({ endpoint }) },
  ]) {
    const issuers = { corp: { ...good, issuer: 'corp', ...more } }
    t.ok(await appWith(t, { issuers }))
  }
})

t.test('an error about an address with credentials does not show them', async (t) => {
  const issuers = { corp: { ...good, jwksUri: 'https://user:s3cret@id.example.com/keys' } }
  const error = await rejectionOf(appWith(t, { issuers }))
  t.match(error, { code, message: /"issuers.corp.jwksUri": found an address with an @/ })
  t.notMatch(error.message, /s3cret/)
})

t.test('an issuer that is also jwt.issuer makes startup fail', async (t) => {
  const message = /"issuers.corp.issuer": found .*, which is also "jwt.issuer"/
  const own: AuthnOptions[] = [
    { jwt: { secret, issuer } },
    { jwtService: new JwtService({ secret, issuer }) },
  ]
  for (const options of own) {
    const error = await rejectionOf(appWith(t, { ...options, issuers: { corp: good } }))
    t.match(error, { code, message })
  }
})

t.test('a mark without use selects the only issuer, and never Basic beside it', async (t) => {
  const declare = (app: TestApp): void => {
    app.get('/', { config: { auth: true } }, () => 'x')
  }
  const nameIn = async (options: AuthnOptions): Promise<unknown> => {
    const app = await appWith(t, options, declare)
    return app.authn.routes().find(({ url }) => url === '/')?.authenticators
  }
  const issuers = { corp: good }
  t.strictSame(await nameIn({ issuers }), ['corp'], 'the only one')
  t.strictSame(await nameIn({ issuers, userService: service }), ['corp'], 'and never Basic')
  t.strictSame(await nameIn({ issuers, userService: service, jwt: { secret } }), ['jwt'])
  t.strictSame(await nameIn({ issuers, authenticator: ['corp'] }), ['corp'])
  const two = { ...issuers, other: { ...good, issuer: 'https://other.example' } }
  t.ok(await nameIn({ issuers: two, authenticator: ['corp', 'other'] }), 'one that is said')
  const unclear = await rejectionOf(appWith(t, { issuers: two }, declare))
  t.match(unclear, { code: 'ERR_AUTH_MARK', message: /several "issuers"/ })
  const none = await appWith(t, { issuers: {}, userService: service, jwt: { secret } })
  t.strictSame(none.authn.stats().issuers, {}, 'no issuers are as good as none')
})
