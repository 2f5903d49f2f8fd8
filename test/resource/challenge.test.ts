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

type Challenge = string | string[] | null
/** A path, what is sent, the error, the challenges without the option and with it, and a status other than 401. */
type Row = readonly [string, Record<string, string>, string, Challenge, Challenge, status?: number]

const rows = (token: string, unknown: string): Row[] => {
  const [good, bad] = [bearer(token), bearer('x.y.z')]
  const [read, all] = ['scope="notes:read"', 'scope="notes:read notes:write"']
  const { none, invalid: wrong, jwtInvalid: wrongToken } = messages
  const forbidden = 'Your credentials do not allow this action.'
  const basicFirst = (...more: string[]) => [basicChallenge, challenge(...more)]
  const basicLast = (...more: string[]) => [challenge(...more, read, metadata), basicChallenge]
  return [
    ['/me', {}, none, challenge(), challenge(metadata)],
    ['/me', bad, wrongToken, challenge(invalid), challenge(invalid, metadata)],
    ['/optional', bad, wrongToken, challenge(invalid), challenge(invalid, metadata)],
    ['/one', {}, none, challenge(), challenge(read, metadata)],
    ['/all', {}, none, challenge(), challenge(all, metadata)],
    ['/any', bad, wrongToken, challenge(invalid), challenge(invalid, read, metadata)],
    ['/all', good, forbidden, challenge(lacking, all), challenge(lacking, all, metadata), 403],
    ['/any', good, forbidden, challenge(lacking, read), challenge(lacking, read, metadata), 403],
    ['/both', good, forbidden, challenge(lacking, read), challenge(lacking, read, metadata), 403],
    ['/both', basic('alice', passwords.alice), forbidden, null, null, 403],
    ['/role', good, 'You are not allowed to do this.', null, null, 403],
    ['/both', {}, none, basicFirst(), basicLast()],
    ['/both', basic('alice', 'wrong'), wrong, basicFirst(), basicLast()],
    ['/both', bearer(unknown), wrong, basicFirst(unaccepted), basicLast(unaccepted)],
    ['/basic', {}, none, basicChallenge, basicChallenge],
    ['/busy', {}, 'The server is busy. Please try again later.', null, null, 503],
  ]
}

t.test('each Bearer challenge names the metadata, and that of a 401 the scopes', async (t) => {
  for (const [at, more] of [{}, { resource }].entries()) {
    const app = await appOf(t, more)
    const tokens = [
      app.jwtService.generateToken('alice'),
      app.jwtService.generateToken('zed'),
    ] as const
    for (const [path, headers, error, before, now, status = 401] of rows(...tokens)) {
      const response = await app.inject({ url: path, headers })
      const expected = { status, error, challenge: at === 0 ? before : now }
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
