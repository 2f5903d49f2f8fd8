// program: its own
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { AuthenticationError, authn } from '../lib/index.js'
import * as Type from '@sinclair/typebox/type'
import { addRejections, row, type RejectionTable } from '../lib/errors/rejections.js'
import { channelOf } from '../lib/events.js'
import { features } from '../lib/feature-table.js'
import type { Feature, FeatureModule } from '../lib/feature.js'
import { appWith, bearer, passwords, standardOptions } from './helpers/app.js'

// What would be in `types/badges.ts`.
declare module '../types/options.js' {
  interface AuthnOptions<Stored extends object> {
    badges?: { first: number } | undefined
    tickets?: true | undefined
    teaBreak?: { until: string; notice?: string } | undefined
  }
}
declare module '../types/authn.js' {
  interface Authn {
    readonly badges: { list(): string[] }
  }
}
declare module '../types/errors.js' {
  interface RejectionCodes {
    ERR_AUTH_BADGE_INVALID: 401
    ERR_AUTH_TEA_BREAK: 503
  }
}
declare module '../types/messages.js' {
  interface Catalogue {
    readonly 'auth.badge-invalid': string
    readonly 'auth.badge-torn': string
    readonly 'auth.tea-break': string
  }
}
declare module '../types/events.js' {
  interface AuthnEvents {
    readonly teaBreak: { readonly until: string }
  }
}

/** What would be in the folder of a made-up feature: badges in Bearer, tokens in a header, no tokens of the banned. */
function badges(log: string[]): FeatureModule {
  const create = ({ resolved }: { resolved: unknown }): Feature => ({
    name: 'badges',
    authenticators: {
      badge: {
        scheme: 'Bearer',
        accepts: ({ headers }) => headers.authorization?.startsWith('Bearer badge_') === true,
        authenticate({ headers }) {
          if (headers.authorization === 'Bearer badge_7') return { name: 'visitor' }
          const isTorn = headers.authorization === 'Bearer badge_torn'
          throw new AuthenticationError(isTorn ? 'auth.badge-torn' : 'auth.badge-invalid')
        },
      },
    },
    tokenSources: [
      {
        find: ({ headers }) => (headers['x-token'] as string | undefined) ?? null,
        openapi: ['tokenHeader', { type: 'apiKey', in: 'header', name: 'x-token' }],
      },
    ],
    tokenChecks: [
      {
        claims({ banned }) {
          if (banned === true) throw new AuthenticationError('auth.jwt-invalid')
        },
        user(user) {
          log.push(`checked ${(user as { name: string }).name}`)
        },
      },
    ],
    checkRequest: ({ headers }, policy) =>
      headers['x-blocked'] === undefined
        ? null
        : new AuthenticationError('auth.forbidden', { cause: policy?.name ?? 'a plugin route' }),
    challenge: ({ status }) => ({ badges: String(status) }),
    onPass: (_, reply) => void reply.header('x-passed', 'yes'),
    routes: () => [
      {
        kind: 'badges',
        method: 'GET',
        path: '/badges',
        option: 'badges',
        ifTaken: 'Choose another one.',
        work: (_, reply) => reply.send([resolved]),
      },
    ],
    notes: { responses: () => ({ 403: 'Blocked.', 418: 'A teapot.' }) },
    check: ({ app }, all) => void log.push(`check ${app.prefix || '/'} of ${all.length}`),
    checkRoutes: (routes) => void log.push(`routes ${routes.map(({ name }) => name).join()}`),
    api: { list: () => [resolved] },
    stats: () => ({ size: 1 }),
    ready: () => void log.push('ready'),
    stop: () => void log.push('stop'),
    close: () => void log.push('close'),
  })
  return {
    schema: Type.Object({ first: Type.Number({ description: 'a number' }) }),
    resolve: ({ first }: { first: number }) => `badge_${first}`,
    create,
  }
}

const rejections: RejectionTable = {
  codes: {
    ERR_AUTH_BADGE_INVALID: {
      ...row(401, 'auth.badge-invalid', 'No badge'),
      otherKeys: ['auth.badge-torn'],
    },
    ERR_AUTH_TEA_BREAK: row(503, 'auth.tea-break', 'Closed for tea'),
  },
  messages: {
    'auth.badge-invalid': 'Your badge is invalid.',
    'auth.badge-torn': 'Your badge is torn.',
    'auth.tea-break': 'Closed until {until}.',
  },
}

/** Adds a row to the table until the test ends. */
function on(t: Test, option: string, module: FeatureModule): void {
  addRejections(rejections)
  const events = ['teaBreak'] as const
  features[option] = { load: async () => module, rejections, events, hasApi: true, noStats: {} }
  t.teardown(() => delete features[option])
}

t.test('a feature works with its folder and one row of the table', async (t) => {
  const log: string[] = []
  on(t, 'badges', badges(log))
  const wrong = { ...standardOptions(), badges: { first: 'x' } } as object
  const error = { code: 'ERR_AUTH_OPTION', message: /badges\.first.*a number/ }
  await t.rejects(appWith(t, wrong), error)

  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(authn, { ...standardOptions(), badges: { first: 7 } })
  app.get('/me', { config: { auth: true } }, ({ user }) => user)
  app.get('/both', { config: { auth: { use: ['jwt', 'badge'] } } }, ({ user }) => user)
  app.get('/open', () => 'open')
  app.get('/optional', { config: { auth: 'optional' } }, () => 'in')
  await app.ready()
  const names = 'GET /me,GET /both,GET /optional'
  t.strictSame(log.splice(0), ['check / of 1', `routes ${names}`, 'ready'])

  const token = app.jwtService.generateToken('alice')
  const get = (url: string, headers: Record<string, string>) => app.inject({ url, headers })
  const welcome: [string, Record<string, string>, string][] = [
    ['/both', bearer('badge_7'), 'visitor'],
    ['/both', bearer(token), 'alice'],
    ['/both', { 'x-token': token }, 'alice'],
    ['/me', { 'x-token': token }, 'alice'],
  ]
  for (const [url, headers, name] of welcome) {
    const response = await get(url, headers)
    t.match(response.json(), { name })
    t.equal(response.headers['x-passed'], 'yes')
    t.equal((await get(url, { ...headers, 'x-blocked': 'yes' })).statusCode, 403)
  }
  t.strictSame(log.splice(0), ['checked alice', 'checked alice', 'checked alice'])

  const banned = app.jwtService.generateTokenWithClaims({ sub: 'alice', banned: true })
  const rejected: [string, Record<string, string>][] = [
    ['/both', bearer('badge_8')],
    ['/me', bearer('badge_7')],
    ['/me', bearer(banned)],
    ['/me', { 'x-token': banned }],
    ['/me', { 'x-token': token, authorization: 'Digest x' }],
  ]
  for (const [url, headers] of rejected) {
    const { statusCode, headers: sent } = await get(url, headers)
    t.strictSame([statusCode, sent['x-passed']], [401, undefined], JSON.stringify(headers))
    t.match(sent['www-authenticate'], /^Bearer realm=.*, badges="401"$/)
  }
  const german = await get('/both', { ...bearer('badge_8'), 'accept-language': 'de' })
  t.strictSame(
    german.json(),
    { error: 'Your badge is invalid.' },
    'English where there is no other',
  )
  const torn = await get('/both', bearer('badge_torn'))
  t.strictSame([torn.statusCode, torn.json()], [401, { error: 'Your badge is torn.' }])
  t.strictSame(log.splice(0), [], 'no user was looked up')

  for (const headers of [{}, { 'x-blocked': 'yes' }])
    t.strictSame((await get('/badges', headers)).json(), ['badge_7'], 'an open GET is not checked')
  t.equal((await app.inject('/open')).headers['x-passed'], undefined)
  t.equal((await app.inject('/optional')).headers['x-passed'], 'yes')
  const login = { method: 'POST', url: '/login', headers: { 'x-blocked': 'yes' } } as const
  t.equal((await app.inject({ ...login, payload: {} })).statusCode, 403)
  t.ok(app.authn.authenticators.includes('badge'))
  t.strictSame(app.authn.badges.list(), ['badge_7'])
  t.match(app.authn.stats(), { badges: { size: 1 } })
  await app.close()
  t.strictSame(log, ['stop', 'close'])
})

const tickets: FeatureModule = {
  create: () => ({
    name: 'tickets',
    issueTokens: async (username) => ({ token: `ticket of ${username}` }),
    carrier: {
      schema: () => Type.Object({}),
      refreshToken: () => null,
      send: (_, reply, { token }) => (reply.header('x-ticket', token), { given: true }),
      clear: () => undefined,
    },
  }),
}

t.test('a feature can issue and carry the tokens of a login', async (t) => {
  on(t, 'tickets', tickets)
  const app = await appWith(t, { ...standardOptions(), tickets: true })
  const payload = { username: 'alice', password: passwords.alice }
  const response = await app.inject({ method: 'POST', url: '/login', payload })
  t.equal(response.headers['x-ticket'], 'ticket of alice')
  t.strictSame(response.json(), { given: true })
})

t.test('startup fails for two features that issue the tokens of a login', async (t) => {
  on(t, 'tickets', tickets)
  const both = { ...standardOptions(), tickets: true, sessions: true } as const
  const error = { code: 'ERR_AUTH_OPTION', message: /"sessions" and "tickets"/ }
  await t.rejects(appWith(t, both), error)
})

t.test('a feature without resolve gets its option, and closes routes with a 503', async (t) => {
  const seen: string[] = []
  const teaBreak: FeatureModule = {
    schema: Type.Object({ until: Type.String(), notice: Type.Optional(Type.String()) }),
    create: ({ resolved }: { resolved: { until: string; notice?: string } }): Feature => ({
      name: 'teaBreak',
      api: { until: () => resolved.until },
      stats: () => ({ rejected: seen.length }),
      messageValues: { until: resolved.until },
      checkRequest() {
        channelOf('teaBreak').publish({ until: resolved.until })
        const { notice = 'auth.tea-break' } = resolved
        return new AuthenticationError(notice, { code: 'ERR_AUTH_TEA_BREAK', retryAfter: 60 })
      },
      notes: {
        responses: ({ policy }) => (policy ? { 503: 'Tea.' } : { 400: 'No.', 503: 'Closed.' }),
      },
    }),
  }
  on(t, 'teaBreak', teaBreak)
  const listener = ({ until }: { until: string }): void => void seen.push(until)
  channelOf('teaBreak').subscribe(listener)
  t.teardown(() => channelOf('teaBreak').unsubscribe(listener))
  const until = '10 o’clock'
  const options = (more: object) => ({
    ...standardOptions(),
    languages: { de: { 'auth.tea-break': 'Geschlossen bis {until}.' } },
    teaBreak: { until, ...more },
  })
  const declare = (app: FastifyInstance): void => {
    app.get('/me', { config: { auth: { use: 'basic' } } }, () => 'me')
    app.get('/open', () => 'open')
  }
  const closed = Fastify()
  t.teardown(() => closed.close())
  await closed.register(swagger, { openapi: {} })
  await closed.register(authn, options({}))
  declare(closed)
  const german = { 'accept-language': 'de' }
  for (const [headers, text] of [
    [{}, `Closed until ${until}.`],
    [german, `Geschlossen bis ${until}.`],
  ] as const) {
    const { statusCode, headers: sent, body } = await closed.inject({ url: '/me', headers })
    t.strictSame([statusCode, sent['retry-after']], [503, '60'])
    t.strictSame(JSON.parse(body), { error: text })
  }
  const login = { method: 'POST', url: '/login', payload: {}, headers: german } as const
  t.equal((await closed.inject(login)).statusCode, 503)
  t.equal((await closed.inject('/open')).statusCode, 200)
  t.strictSame(seen, [until, until, until])
  t.match(closed.authn, { features: ['jwt', 'login', 'teaBreak'] })
  t.match(closed.authn.stats(), { teaBreak: { rejected: 3 } })
  const { paths = {} } = closed.swagger() as { paths?: object }
  const described = (text: string) => ({ description: text, headers: { 'Retry-After': {} } })
  t.match(paths, {
    '/me': { get: { responses: { 503: described('The server is busy. Or: Tea.') } } },
    '/login': {
      post: {
        responses: {
          400: { description: 'The body is malformed. Or: No.' },
          503: described('The server is busy. Or: Closed.'),
        },
      },
    },
  })

  const app = await appWith(t, options({ notice: 'Back at noon.' }), declare)
  const response = await app.inject({ url: '/me', headers: german })
  t.strictSame([response.statusCode, response.json()], [503, { error: 'Back at noon.' }])
  t.equal(response.headers['content-language'], undefined, 'the text of the app has no language')
})

t.test('without a feature, its api throws and its counts are those of noStats', async (t) => {
  on(t, 'badges', badges([]))
  const app = await appWith(t, standardOptions())
  const error = { code: 'ERR_AUTH_OPTION', message: /app\.authn\.badges.*"badges"/ }
  t.throws(() => app.authn.badges, error)
  t.match(app.authn.stats(), { badges: {} })
})
