import Fastify from 'fastify'
import t from 'tap'
import { AuthenticationError, authn } from '../lib/index.js'
import { features, type Feature } from '../lib/feature.js'
import { appWith, bearer, passwords, standardOptions } from './helpers/app.js'

/** What a made-up feature does: badges of its own in Bearer, tokens in a header, and no tokens of the banned. */
function badges(log: string[]): Feature {
  return {
    name: 'badges',
    authenticators: {
      badge: {
        scheme: 'Bearer',
        accepts: ({ headers }) => headers.authorization?.startsWith('Bearer badge_') === true,
        authenticate({ headers }) {
          if (headers.authorization === 'Bearer badge_7') return { name: 'visitor' }
          throw new AuthenticationError('auth.invalid-credentials')
        },
      },
    },
    tokenSources: [
      {
        find: ({ headers }) => (headers['x-token'] as string | undefined) ?? null,
        openapi: ['tokenHeader', { type: 'apiKey', in: 'header', name: 'x-token' }],
        forbidden: () => null,
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
    challenge: () => ', badges="yes"',
    onPass: (_, reply) => void reply.header('x-passed', 'yes'),
    routes: ({ app }) => void app.get('/badges', { config: { auth: false } }, () => ['badge_7']),
    check: ({ app }, all) => void log.push(`check ${app.prefix || '/'} of ${all.length}`),
    api: { list: () => [7] },
    stats: () => ({ size: 1 }),
    ready: () => void log.push('ready'),
    stop: () => void log.push('stop'),
    close: () => void log.push('close'),
  }
}

t.test('a feature works with one row of the table, and no change of the core', async (t) => {
  const log: string[] = []
  const row = {
    isSet: ({ realm }: { realm: string }) => realm === 'badges',
    load: async () => ({ createFeature: () => badges(log) }),
  }
  features.push(row)
  t.teardown(() => features.splice(features.indexOf(row), 1))

  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(authn, { ...standardOptions(), realm: 'badges' })
  app.get('/me', { config: { auth: true } }, ({ user }) => user)
  app.get('/both', { config: { auth: { use: ['jwt', 'badge'] } } }, ({ user }) => user)
  app.get('/open', () => 'open')
  app.get('/optional', { config: { auth: 'optional' } }, () => 'in')
  await app.ready()
  t.strictSame(log.splice(0), ['check / of 1', 'ready'])

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
    t.match(sent['www-authenticate'], /^Bearer realm=.*, badges="yes"$/)
  }
  t.strictSame(log.splice(0), [], 'no user was looked up')

  t.strictSame((await app.inject('/badges')).json(), ['badge_7'])
  t.equal((await app.inject('/open')).headers['x-passed'], undefined)
  t.equal((await app.inject('/optional')).headers['x-passed'], 'yes')
  t.ok(app.authn.authenticators.includes('badge'))
  const { badges: api } = app.authn as object as { badges: { list(): number[] } }
  t.strictSame(api.list(), [7])
  t.match(app.authn.stats(), { badges: { size: 1 } })
  await app.close()
  t.strictSame(log, ['stop', 'close'])
})

t.test('a feature can issue and carry the tokens of a login', async (t) => {
  const row = {
    isSet: ({ realm }: { realm: string }) => realm === 'tickets',
    load: async () => ({
      createFeature: (): Feature => ({
        name: 'tickets',
        issueTokens: async (username) => ({ token: `ticket of ${username}` }),
        carrier: {
          schema: () => ({}) as never,
          forbidden: null,
          refuse: () => null,
          refreshToken: () => null,
          give: (_, reply, { token }) => (reply.header('x-ticket', token), { given: true }),
          clear: () => undefined,
        },
      }),
    }),
  }
  features.push(row)
  t.teardown(() => features.splice(features.indexOf(row), 1))
  const app = await appWith(t, { ...standardOptions(), realm: 'tickets' })
  const payload = { username: 'alice', password: passwords.alice }
  const response = await app.inject({ method: 'POST', url: '/login', payload })
  t.equal(response.headers['x-ticket'], 'ticket of alice')
  t.strictSame(response.json(), { given: true })
})
