import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { AuthenticationError, authn } from '../lib/index.js'
import * as Type from '@sinclair/typebox/type'
import { addRejections, row, type RejectionTable } from '../lib/errors/rejections.js'
import { features } from '../lib/feature-table.js'
import type { Feature, FeatureModule } from '../lib/feature.js'
import { appWith, bearer, passwords, standardOptions } from './helpers/app.js'

// What would be in `types/badges.ts`.
declare module '../types/options.js' {
  interface AuthnOptions<Stored extends object> {
    badges?: { first: number } | undefined
    tickets?: true | undefined
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
  }
}
declare module '../types/messages.js' {
  interface Catalogue {
    readonly 'auth.badge-invalid': string
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
          throw new AuthenticationError('auth.badge-invalid')
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
  codes: { ERR_AUTH_BADGE_INVALID: row(401, 'auth.badge-invalid', 'No badge') },
  messages: { 'auth.badge-invalid': 'Your badge is invalid.' },
}

/** Adds a row to the table until the test ends. */
function on(t: Test, option: string, module: FeatureModule): void {
  addRejections(rejections)
  features[option] = { load: async () => module, rejections, hasApi: true }
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
  t.strictSame(log.splice(0), [], 'no user was looked up')

  t.strictSame((await app.inject('/badges')).json(), ['badge_7'])
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
