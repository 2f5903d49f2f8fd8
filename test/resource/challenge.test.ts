// What a Bearer challenge says where a registration is a resource, and that nothing else changes.
import type { FastifyReply } from 'fastify'
import t, { type Test } from 'tap'
import { AuthenticationError, authn, type AuthMark, type AuthnOptions } from '../../lib/index.js'
import { appWith, basic, bearer, passwords, standardOptions, type TestApp } from '../helpers/app.js'
import { basicChallenge, bearerChallenge, isRejection, messages } from '../helpers/flows.js'

const metadata =
  'resource_metadata="https://api.example.com/.well-known/oauth-protected-resource/mcp"'
const resource = {
  identifier: 'https://api.example.com/mcp',
  authorizationServers: ['https://id.example.com'],
}

const paths: Record<string, AuthMark> = {
  '/me': true,
  '/one': { scope: 'notes:read' },
  '/all': { scope: { all: ['notes:read', 'notes:write'] } },
  '/any': { scope: { any: ['notes:read', 'notes:write'] } },
  '/role': { role: 'editor' },
  '/both': { use: ['basic', 'jwt'], scope: 'notes:read' },
  '/basic': { use: 'basic' },
  '/optional': 'optional',
  '/busy': { use: 'busy' },
  '/own': { use: 'own', scope: 'notes:read' },
}

const busy = {
  scheme: 'Bearer',
  authenticate() {
    throw new AuthenticationError('auth.overloaded', { retryAfter: 1 })
  },
}
const own = {
  scheme: 'bearer',
  authenticate: () => null,
  onUnauthorized: (_: unknown, __: unknown, reply: FastifyReply) => reply.code(401).send('own'),
}

function appOf(t: Test, more: Partial<AuthnOptions>): Promise<TestApp> {
  const access = { scopesOf: () => [] }
  const options = { ...standardOptions(), authenticators: { busy, own }, access, sessions: true }
  return appWith(t, { ...options, ...more }, (app) => {
    for (const [path, auth] of Object.entries(paths))
      app.get(path, { config: { auth } }, () => 'in')
  })
}

const problem = (error: string, description: string): string =>
  `error="${error}", error_description="${description}"`
const invalid = problem('invalid_token', 'The token is invalid')
const unaccepted = problem('invalid_token', 'The token is not accepted')
const lacking = problem('insufficient_scope', 'The token lacks the required scope')
const challenge = (...parameters: string[]): string => [bearerChallenge, ...parameters].join(', ')

interface Row {
  readonly path: string
  readonly headers?: Record<string, string>
  readonly status?: number
  readonly error: string
  /** Those without the option, and with it. */
  readonly challenges: readonly [string | string[] | null, string | string[] | null]
}

const rows = (token: string, unknown: string): Row[] => {
  const good = bearer(token)
  const bad = bearer('x.y.z')
  const none = messages.none
  const scope = 'Your credentials do not allow this action.'
  const lacksRead: Row['challenges'] = [
    challenge(lacking, 'scope="notes:read"'),
    challenge(lacking, 'scope="notes:read"', metadata),
  ]
  return [
    { path: '/me', error: none, challenges: [challenge(), challenge(metadata)] },
    {
      path: '/me',
      headers: bad,
      error: messages.jwtInvalid,
      challenges: [challenge(invalid), challenge(invalid, metadata)],
    },
    {
      path: '/optional',
      headers: bad,
      error: messages.jwtInvalid,
      challenges: [challenge(invalid), challenge(invalid, metadata)],
    },
    {
      path: '/one',
      error: none,
      challenges: [challenge(), challenge('scope="notes:read"', metadata)],
    },
    {
      path: '/all',
      error: none,
      challenges: [challenge(), challenge('scope="notes:read notes:write"', metadata)],
    },
    {
      path: '/any',
      headers: bad,
      error: messages.jwtInvalid,
      challenges: [challenge(invalid), challenge(invalid, 'scope="notes:read"', metadata)],
    },
    {
      path: '/all',
      headers: good,
      status: 403,
      error: scope,
      challenges: [
        challenge(lacking, 'scope="notes:read notes:write"'),
        challenge(lacking, 'scope="notes:read notes:write"', metadata),
      ],
    },
    { path: '/any', headers: good, status: 403, error: scope, challenges: lacksRead },
    {
      path: '/role',
      headers: good,
      status: 403,
      error: 'You are not allowed to do this.',
      challenges: [null, null],
    },
    {
      path: '/both',
      error: none,
      challenges: [
        [basicChallenge, challenge()],
        [challenge('scope="notes:read"', metadata), basicChallenge],
      ],
    },
    {
      path: '/both',
      headers: basic('alice', passwords.alice),
      status: 403,
      error: scope,
      challenges: [null, null],
    },
    { path: '/both', headers: good, status: 403, error: scope, challenges: lacksRead },
    {
      path: '/both',
      headers: basic('alice', 'wrong'),
      error: messages.invalid,
      challenges: [
        [basicChallenge, challenge()],
        [challenge('scope="notes:read"', metadata), basicChallenge],
      ],
    },
    {
      path: '/both',
      headers: bearer(unknown),
      error: messages.invalid,
      challenges: [
        [basicChallenge, challenge(unaccepted)],
        [challenge(unaccepted, 'scope="notes:read"', metadata), basicChallenge],
      ],
    },
    { path: '/basic', error: none, challenges: [basicChallenge, basicChallenge] },
    {
      path: '/busy',
      status: 503,
      error: 'The server is busy. Please try again later.',
      challenges: [null, null],
    },
  ]
}

t.test('each Bearer challenge names the metadata, and that of a 401 the scopes', async (t) => {
  for (const [at, more] of [{}, { resource }].entries()) {
    const app = await appOf(t, more)
    const tokens = [
      app.jwtService.generateToken('alice'),
      app.jwtService.generateToken('zed'),
    ] as const
    for (const { path, headers = {}, status = 401, error, challenges } of rows(...tokens)) {
      const response = await app.inject({ url: path, headers })
      const expected = { status, error, challenge: challenges[at] ?? null }
      isRejection(t, response, expected, `${at === 0 ? 'without' : 'with'}: ${path}`)
    }
    const response = await app.inject('/own')
    const expected = at === 0 ? 'bearer realm' : `scope="notes:read", ${metadata}`
    t.match(response, { statusCode: 401, body: 'own' })
    t.match(response.headers['www-authenticate'], expected, 'with a response of the app')
  }
})

t.test('a hook that changes the lines of one response changes no other', async (t) => {
  const app = await appWith(t, { ...standardOptions(), resource }, (app) => {
    app.addHook('onSend', async (_, reply) => {
      ;(reply.getHeader('www-authenticate') as unknown as string[]).push('Digest realm="x"')
    })
    app.get('/', { config: { auth: { use: ['basic', 'jwt'] } } }, () => 'in')
  })
  const lines = async () => (await app.inject('/')).headers['www-authenticate']
  const first = await lines()
  t.match(first, [/^Bearer/, /^Basic/, /^Digest/])
  t.strictSame(await lines(), first)
})

t.test("the challenges of the plugin's own routes name the metadata too", async (t) => {
  const app = await appOf(t, { resource })
  const post = (url: string, payload: object) => app.inject({ method: 'POST', url, payload })
  const wrong = { username: 'alice', password: 'wrong' }
  isRejection(t, await post('/login', wrong), {
    error: messages.invalid,
    challenge: challenge(metadata),
  })
  for (const url of ['/login/refresh', '/logout']) {
    const response = await post(url, { refreshToken: 'wrong' })
    const found = [response.statusCode, response.headers['www-authenticate']]
    t.strictSame(found, [401, challenge(metadata)], url)
  }
})

t.test('a registration inside that of a resource has challenges of its own', async (t) => {
  const options = standardOptions()
  const app = await appWith(t, { ...options, resource }, async (app) => {
    app.get('/outer', { config: { auth: true } }, () => 'outer')
    await app.register(async (scope) => {
      await scope.register(authn, { ...options, login: false })
      scope.get('/inner', { config: { auth: true } }, () => 'inner')
    })
  })
  const of = async (url: string) => (await app.inject(url)).headers['www-authenticate']
  t.equal(await of('/outer'), challenge(metadata))
  t.equal(await of('/inner'), challenge())
})
