import t, { type Test } from 'tap'
import { memoryApiKeys } from '../../lib/api-keys/index.js'
import { anyOf, basicAuthenticator, jwtAuthenticator } from '../../lib/index.js'
import { appWith, basic, bearer, logLines, passwords, standardOptions } from '../helpers/app.js'
import { startIssuer } from '../helpers/issuer.js'
import { eventsOf } from '../helpers/sessions.js'
import { hmacToken, epochSeconds } from '../helpers/tokens.js'
import type { AuthMark, AuthnOptions } from '../../lib/index.js'

/** An app with users, tokens, API keys and an issuer, and what it tells of each request. */
async function setting(t: Test, marks: Record<string, AuthMark>, more: Partial<AuthnOptions> = {}) {
  const issuer = await startIssuer(t)
  const { lines, stream } = logLines()
  const told = [eventsOf(t, 'success'), eventsOf(t, 'failure')]
  const options: AuthnOptions = {
    ...standardOptions(),
    basic: { username: 'admin', password: 'open sesame' },
    apiKeys: { prefix: 'acme', header: 'x-api-key', store: memoryApiKeys({ prefix: 'asked' }) },
    issuers: { keycloak: issuer.options({ user: () => ({ name: 'alice' }) }) },
    ...more,
  }
  const app = await appWith(
    t,
    options,
    (app) => {
      for (const [url, auth] of Object.entries(marks)) {
        app.get(url, { config: { auth } }, ({ user, extra }) => [
          (user as { name: string } | null)?.name ?? null,
          extra.authenticator ?? null,
        ])
      }
    },
    { logger: { stream } },
  )
  const about = { owner: 'alice', name: 'job', scopes: [], expiresAt: null }
  const { key } = await app.authn.apiKeys.issue(about)
  const get = async (url: string, headers: Record<string, string> = {}) => {
    for (const list of [lines, ...told]) list.length = 0
    const { statusCode, body, headers: sent } = await app.inject({ url, headers })
    const log = lines.find(({ msg }) => msg === 'Request rejected') ?? {}
    const events: { authenticator: string; code?: string }[] = told.flat()
    t.equal(events.length, statusCode === 200 && body.startsWith('[null') ? 0 : 1)
    const challenge = sent['www-authenticate']
    return { statusCode, body: JSON.parse(body) as unknown, log, event: events[0], challenge }
  }
  const token = bearer(app.jwtService.generateToken('alice'))
  return { app, get, key, token, ofIssuer: bearer(issuer.token()) }
}

const alice = basic('alice', passwords.alice)

t.test('events, log and request.extra name the authenticator that was asked', async (t) => {
  const own = jwtAuthenticator({ typ: 'own+jwt' })
  const { app, get, key, token, ofIssuer } = await setting(
    t,
    {
      '/': true,
      '/nested': { use: ['jwt', 'nested'] },
      '/one': { use: 'apiKey' },
      '/try': { mode: 'try', use: ['jwt', 'apiKey'] },
    },
    {
      authenticator: ['jwt', 'apiKey', 'keycloak', 'basic'],
      authenticators: { nested: anyOf(basicAuthenticator(), own), own },
    },
  )
  const accepts = ['jwt', 'apiKey', 'keycloak', 'basic']
  const good = { jwt: token, apiKey: bearer(key), keycloak: ofIssuer, basic: alice }
  const changed = ({ authorization }: typeof token) => ({ authorization: `${authorization}x` })
  const wrong = basic('alice', 'wrong')
  for (const [authenticator, headers] of Object.entries(good)) {
    const { statusCode, body, event } = await get('/', headers)
    t.strictSame([statusCode, body], [200, ['alice', authenticator]])
    t.match(event, { authenticator, accepts })
    const rejected = await get('/', headers === alice ? wrong : changed(headers))
    t.equal(rejected.statusCode, 401)
    t.match(
      [rejected.event, rejected.log],
      [
        { authenticator, accepts },
        { authenticator, accepts },
      ],
    )
  }
  t.match((await get('/')).event, { authenticator: accepts.join('|'), accepts })

  t.match((await get('/nested', token)).event, { authenticator: 'jwt' })
  const owned = hmacToken(
    { alg: 'HS256', typ: 'own+jwt' },
    { sub: 'alice', exp: epochSeconds() + 60 },
    'x',
  )
  t.match((await get('/nested', bearer(owned))).event, { authenticator: 'own' })
  t.match((await get('/nested')).event, { accepts: ['jwt', 'nested'] })

  const { log, event } = await get('/one')
  t.match(event, { authenticator: 'apiKey', accepts: ['apiKey'] })
  t.notOk('accepts' in log, 'the log does not repeat a single one')
  for (const headers of [{}, changed(good.apiKey)]) {
    t.strictSame((await get('/try', headers)).body, [null, null], 'anonymous: none')
  }
  t.match(app.authn.printRoutes(), /^GET +\/ +required +- +jwt, apiKey, keycloak, basic /m)
  t.notMatch(app.authn.printRoutes(), /custom/)
})

t.test('credentials that only other routes accept get a 401 that says so', async (t) => {
  const { get, key, token, ofIssuer } = await setting(
    t,
    {
      '/jwt': { use: 'jwt' },
      '/key': { use: 'apiKey' },
      '/basic': { use: 'basic' },
      '/both': { use: ['jwt', 'keycloak'] },
      '/other': { use: 'other' },
      '/optional': { mode: 'optional', use: 'jwt' },
      '/try': { mode: 'try', use: 'jwt' },
    },
    {
      authenticators: {
        other: { scheme: 'Bearer', authenticate: () => null },
        broken: {
          accepts() {
            throw new Error('accepts')
          },
          authenticate: () => null,
        },
        rejecting: {
          accepts: (async () => Promise.reject(new Error('accepts'))) as never,
          authenticate: () => null,
        },
      },
    },
  )
  const ofKey = { 'x-api-key': key }
  const noKeys = 'ERR_AUTH_API_KEY_NOT_ACCEPTED'
  const others = 'ERR_AUTH_CREDENTIALS_NOT_ACCEPTED'
  const errors: Record<string, string> = {
    [noKeys]: 'This route does not accept API keys.',
    [others]: 'This route does not accept these credentials.',
  }
  const rows: [url: string, headers: object, code: string, name: string][] = [
    ['/key', token, others, 'jwt'],
    ['/key', ofIssuer, others, 'keycloak'],
    ['/jwt', ofIssuer, others, 'keycloak'],
    ['/basic', token, others, 'jwt'],
  ]
  for (const url of ['/jwt', '/basic', '/both']) {
    for (const headers of [bearer(key), bearer('acme_garbage'), ofKey])
      rows.push([url, headers, noKeys, 'apiKey'])
  }
  for (const [url, headers, code, name] of rows) {
    const { statusCode, body, log, event, challenge } = await get(url, { ...headers })
    t.strictSame([statusCode, body], [401, { error: errors[code] }])
    t.match(log, { code, reason: `not accepted here: ${name}` })
    t.equal(event?.code, code)
    t.ok(challenge)
    t.notMatch(JSON.stringify(log), key)
  }
  const expired = bearer(hmacToken({ alg: 'HS256' }, { sub: 'alice', exp: 1 }, 'another secret'))
  for (const [url, headers, code] of [
    ['/jwt', expired, 'ERR_AUTH_JWT_INVALID'],
    ['/jwt', { ...expired, ...ofKey }, 'ERR_AUTH_JWT_INVALID'],
    ['/jwt', bearer('garbage'), 'ERR_AUTH_JWT_INVALID'],
    ['/jwt', alice, 'ERR_AUTH_NO_CREDENTIALS'],
    ['/jwt', {}, 'ERR_AUTH_NO_CREDENTIALS'],
    // Nothing tells whether a password is right.
    ['/jwt', basic('admin', 'open sesame'), 'ERR_AUTH_NO_CREDENTIALS'],
    ['/jwt', basic('admin', 'wrong'), 'ERR_AUTH_NO_CREDENTIALS'],
    ['/key', bearer('garbage'), 'ERR_AUTH_API_KEY_INVALID'],
    ['/other', token, 'ERR_AUTH_NO_CREDENTIALS'],
    ['/optional', bearer(key), noKeys],
  ] as const) {
    t.match((await get(url, headers)).log, { code }, `${url} ${JSON.stringify(headers)}`)
  }
  t.equal((await get('/optional', ofKey)).statusCode, 200, 'no credentials for it')
  t.strictSame((await get('/try', bearer(key))).body, [null, null])
})
