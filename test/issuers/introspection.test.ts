// Which tokens are sent to the introspection endpoint of an issuer, and how.
import t from 'tap'
import { appWith, bearer, standardOptions, type TestApp } from '../helpers/app.js'
import { job, keyOptions, keysOf } from '../helpers/api-keys.js'
import { rejectionOf } from '../helpers/errors.js'
import {
  isRejection,
  isWelcome,
  messages,
  probe,
  tokenChallenge,
  type AnyResponse,
} from '../helpers/flows.js'
import {
  clientSecret,
  introspectingApp,
  introspectionPath,
  startIntrospection,
} from '../helpers/introspection.js'
import { startIssuer } from '../helpers/issuer.js'
import { login } from '../helpers/load.js'
import { encode } from '../helpers/tokens.js'
import { authn, type Authenticator, type AuthnOptions } from '../../lib/index.js'

const invalid = { error: messages.jwtInvalid, challenge: tokenChallenge('The token is invalid') }
const apiKeyNotHere = 'This route does not accept API keys.'

t.test('an opaque token is sent to the issuer, in the form of RFC 7662', async (t) => {
  const issuer = await startIntrospection(t)
  const { get } = await introspectingApp(t, issuer)
  issuer.known.set('opaque-1', issuer.active())
  isWelcome(t, await get('opaque-1'), 'alice')
  isWelcome(t, await get('opaque-1'), 'alice')
  const [{ request, form } = t.fail() as never, second] = issuer.forms
  t.equal(second, undefined, 'the answer is cached')
  t.match(request, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
      'accept-encoding': 'identity',
    },
  })
  t.strictSame(
    [...form],
    [
      ['token', 'opaque-1'],
      ['token_type_hint', 'access_token'],
    ],
  )
  const [, pair = ''] = String(request.headers.authorization).split(' ')
  t.strictSame(Buffer.from(pair, 'base64').toString().split(':'), [
    'notes+api',
    String(new URLSearchParams({ x: clientSecret })).slice(2),
  ])
})

t.test('client_secret_post sends the credentials in the body', async (t) => {
  const issuer = await startIntrospection(t)
  const endpoint = `${issuer.url}${introspectionPath}`
  const { get } = await introspectingApp(t, issuer, { endpoint, authMethod: 'client_secret_post' })
  isRejection(t, await get('opaque-1'), invalid)
  t.strictSame(issuer.asked, [introspectionPath], 'nothing is discovered')
  const [{ request, form } = t.fail() as never] = issuer.forms
  t.equal(request.headers.authorization, undefined)
  t.strictSame(Object.fromEntries(form), {
    token: 'opaque-1',
    token_type_hint: 'access_token',
    client_id: 'notes api',
    client_secret: clientSecret,
  })
})

t.test('a JWT is verified by keys, and what is no token is sent to no server', async (t) => {
  const issuer = await startIntrospection(t)
  const { get } = await introspectingApp(t, issuer)
  t.strictSame(issuer.asked, [], 'keys are fetched for the first token')
  isWelcome(t, await get(issuer.token()), 'alice')
  t.equal(issuer.fetches(), 1)
  const [header = '', payload = ''] = issuer.token().split('.')
  const foreign = encode({ iss: 'https://other.example', sub: 'alice' })
  const rows: [what: string, token: string][] = [
    ['a JWT of another issuer', issuer.token({ claims: { iss: 'https://other.example' } })],
    ['a JWT without iss', issuer.token({ claims: { iss: undefined } })],
    ['without a signature', `${header}.${payload}.`],
    ['without a signature, of another issuer', `${header}.${foreign}.`],
    ['a payload that is no JSON', `${header}.x.x`],
    ['no b64token', 'opaque!'],
    ['two tokens', 'opaque opaque'],
    ['a comma', 'opaque,opaque'],
    ['padding inside', 'opa=que'],
    ['not ASCII', 'opaqu\u00e9'],
    ['4,097 characters', 'x'.repeat(4_097)],
  ]
  for (const [what, token] of rows) isRejection(t, await get(token), invalid, what)
  t.strictSame(issuer.forms, [])
  const opaque = {
    '4,096 characters': 'x'.repeat(4_096),
    'a JWE': `${encode({ alg: 'dir', enc: 'A256GCM' })}..iv.text.tag`,
    'two parts of a JWT': `${header}.${payload}`,
    'a header that is no object': `${encode([])}.${payload}.x`,
    'all characters': 'Az09-._~+/=',
  }
  for (const [what, token] of Object.entries(opaque)) {
    issuer.known.set(token, issuer.active())
    isWelcome(t, await get(token), 'alice', what)
  }
})

t.test('with `jwt`, JWTs of the issuer are introspected, and no keys are fetched', async (t) => {
  const issuer = await startIntrospection(t)
  const { get } = await introspectingApp(t, issuer, { jwt: true }, { profile: 'rfc9068' })
  const token = issuer.token({ header: { typ: 'at+jwt', kid: undefined } })
  isRejection(t, await get(token), invalid, 'inactive, although its signature is good')
  const light = issuer.token({ header: { typ: 'at+jwt' }, claims: { aud: undefined } })
  issuer.known.set(light, issuer.active())
  isWelcome(t, await get(light), 'alice', 'its claims are those of the answer')
  isWelcome(t, await get(light), 'alice')
  t.equal(issuer.forms.splice(0).length, 2)
  const rows: [what: string, token: string][] = [
    ['another typ than the profile', issuer.token()],
    ['another issuer', issuer.token({ header: { typ: 'at+jwt' }, claims: { iss: 'x' } })],
    ['no signature', light.replace(/[^.]+$/, '')],
  ]
  for (const [what, other] of rows) isRejection(t, await get(other), invalid, what)
  t.strictSame([issuer.forms.length, issuer.fetches()], [0, 0])
})

t.test('an opaque token goes to who knows it by its form, and else to the issuer', async (t) => {
  const [issuer, partner] = [await startIntrospection(t), await startIssuer(t)]
  const introspection = { clientId: 'notes', clientSecret }
  const starting: Authenticator = {
    scheme: 'Bearer',
    accepts: ({ headers }) => headers.authorization?.startsWith('Bearer own-') === true,
    authenticate: () => ({ name: 'own' }),
  }
  const options: AuthnOptions = {
    ...keyOptions(),
    issuers: { corp: issuer.options({ introspection }), partner: partner.options() },
    authenticators: {
      own: starting,
      rest: { scheme: 'Bearer', authenticate: () => ({ name: 'rest' }) },
    },
  }
  const { handler } = probe()
  const uses = [
    'corp',
    'corp-apiKey',
    'corp-jwt',
    'jwt-corp-apiKey',
    'corp-own-partner',
    'corp-rest',
  ]
  const app = await appWith(t, options, (app) => {
    for (const path of uses) {
      app.get(`/${path}`, { config: { auth: { use: path.split('-') } } }, handler)
    }
  })
  const get = (path: string, token: string): Promise<AnyResponse> =>
    app.inject({ url: `/${path}`, headers: bearer(token) })
  const { key } = await keysOf(app).issue(job)
  const own = app.jwtService.generateToken('alice')
  for (const path of ['corp-apiKey', 'jwt-corp-apiKey']) isWelcome(t, await get(path, key), 'alice')
  for (const path of ['corp-jwt', 'jwt-corp-apiKey']) isWelcome(t, await get(path, own), 'alice')
  isWelcome(t, await get('corp-own-partner', 'own-1'), 'own')
  isWelcome(t, await get('corp-own-partner', partner.token()), 'alice')
  isWelcome(t, await get('corp-rest', own), 'rest')
  for (const path of uses) isWelcome(t, await get(path, issuer.token()), 'alice', path)
  t.strictSame(issuer.forms, [], 'none of them was shown to the issuer')
  const notAccepted = {
    error: messages.notAccepted,
    challenge: tokenChallenge('Not accepted here'),
  }
  const notHere = { error: apiKeyNotHere, challenge: tokenChallenge('No API keys here') }
  for (const path of ['corp', 'corp-jwt']) isRejection(t, await get(path, key), notHere)
  for (const path of ['corp', 'corp-own-partner']) isRejection(t, await get(path, own), notAccepted)
  t.strictSame(issuer.forms, [], 'nor was one that the route does not accept')
  issuer.known.set('opaque', issuer.active())
  for (const path of uses) isWelcome(t, await get(path, 'opaque'), 'alice', path)
  t.equal(issuer.forms.length, 1)
})

t.test('an API key of another scope is not shown to the issuer', async (t) => {
  const issuer = await startIntrospection(t)
  const { handler } = probe()
  const corp = issuer.options({ introspection: { clientId: 'notes', clientSecret } })
  const mark = { config: { auth: { use: 'corp' } } }
  const app = await appWith(t, {}, async (app) => {
    await app.register(async (inner) => {
      await inner.register(authn, { issuers: { corp } })
      inner.get('/inner', mark, handler)
    })
    await app.register(async (other) => {
      await other.register(authn, keyOptions())
      other.get('/key', { config: { auth: { use: 'apiKey' } } }, handler)
      other.get('/issue', async () => keysOf(other).issue(job))
    })
  })
  const { key } = (await app.inject('/issue')).json<{ key: string }>()
  isWelcome(t, await app.inject({ url: '/key', headers: bearer(key) }), 'alice')
  isRejection(t, await app.inject({ url: '/inner', headers: bearer(key) }), invalid)
  t.strictSame(issuer.forms, [])
})

t.test('a refresh token of the app is not shown to the issuer', async (t) => {
  const issuer = await startIntrospection(t)
  const corp = issuer.options({ introspection: { clientId: 'notes', clientSecret } })
  const { handler } = probe()
  const app = await appWith(
    t,
    { ...standardOptions(), sessions: true, issuers: { corp } },
    async (app) => {
      app.get('/corp', { config: { auth: { use: 'corp' } } }, handler)
      app.get('/both', { config: { auth: { use: ['jwt', 'corp'] } } }, handler)
      await app.register(async (inner) => {
        await inner.register(authn, { issuers: { corp } })
        inner.get('/inner', { config: { auth: { use: 'corp' } } }, handler)
      })
    },
  )
  const { refreshToken } = JSON.parse((await login(app, 'alice', 'wonderland')).body) as Record<
    string,
    string
  >
  const get = (url: string, token = '') => app.inject({ url, headers: bearer(token) })
  for (const url of ['/corp', '/both', '/inner']) {
    isRejection(t, await get(url, refreshToken), invalid, url)
  }
  t.strictSame(issuer.forms, [])
  const other = refreshToken?.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))
  isRejection(t, await get('/corp', other), invalid)
  t.equal(issuer.forms.length, 1, 'another token of that length')
})

t.test('two introspecting issuers on one route make startup fail', async (t) => {
  const [issuer, partner] = [await startIntrospection(t), await startIntrospection(t)]
  const introspection = { clientId: 'notes', clientSecret }
  const issuers = { a: issuer.options({ introspection }), b: partner.options({ introspection }) }
  const declare = (use: string[]) => (app: TestApp) =>
    app.get('/x', { config: { auth: { use } } }, probe().handler)
  const problem = /several issuers with "introspection"/
  t.match(await rejectionOf(appWith(t, { issuers }, declare(['a', 'b']))), {
    code: 'ERR_AUTH_MARK',
    message: /GET \/x/,
  })
  const both = await rejectionOf(appWith(t, { issuers, authenticator: ['a', 'b'] }))
  t.match(both, { code: 'ERR_AUTH_OPTION', message: /option "authenticator"/ })
  t.match(both, { message: problem })
  const app = await appWith(t, { issuers }, (app) => {
    for (const use of ['a', 'b']) app.get(`/${use}`, { config: { auth: { use } } }, probe().handler)
    app.get('/twice', { config: { auth: { use: ['a', 'a'] } } }, probe().handler)
  })
  issuer.known.set('opaque', issuer.active())
  const get = (url: string) => app.inject({ url, headers: bearer('opaque') })
  isWelcome(t, await get('/a'), 'alice')
  isWelcome(t, await get('/twice'), 'alice')
  isRejection(t, await get('/b'), invalid)
})
