import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import {
  authn,
  AuthenticationError,
  jwtAuthenticator,
  type AuthnOptions,
  type ErrorBody,
} from '../../lib/index.js'
import {
  fastify,
  appWith,
  basic,
  bearer,
  logLines,
  passwords,
  standardOptions,
} from '../helpers/app.js'
import { startupError, messages, type AnyResponse } from '../helpers/flows.js'

type MakeBody = NonNullable<AuthnOptions['errorBody']>

const problem: MakeBody = ({ code, statusCode, message }, { url }) => ({
  code,
  status: statusCode,
  detail: message,
  instance: url,
})

const json = 'application/json; charset=utf-8'

function withBody(t: Test, errorBody: unknown, more: object = {}, server = {}) {
  const options = { ...standardOptions(), errorBody, ...more } as AuthnOptions
  return appWith(
    t,
    options,
    (app) => {
      app.get('/me', { config: { auth: true } }, () => 'me')
      app.post('/notes', { config: { auth: true } }, () => 'notes')
      app.get('/role', { config: { auth: { role: 'admin' } } }, () => 'role')
      app.get('/scope', { config: { auth: { scope: 'a' } } }, () => 'scope')
      app.get('/basic', { config: { auth: { use: 'basic' } } }, () => 'basic')
      app.get('/own', { config: { auth: { use: 'own' } } }, () => 'own')
    },
    server,
  )
}

const own = {
  authenticate: () => {
    throw new AuthenticationError('Revoked.', { retryAfter: 3, code: 'ERR_AUTH_OVERLOADED' })
  },
}

t.test('errorBody makes the body of every rejection', async (t) => {
  const app = await withBody(t, problem, {
    sessions: true,
    cookies: true,
    authenticators: { own },
    throttle: { perUsername: 1, perAddress: 5 },
  })
  const token = app.jwtService.generateToken('alice')
  const post = (url: string, payload: unknown, headers: object = {}) =>
    app.inject({ method: 'POST', url, payload: payload as object, headers: headers as never })
  const get = (url: string, headers: Record<string, string>) => app.inject({ url, headers })
  const inGerman = { ...bearer('x'), 'accept-language': 'de' }
  const [isJson, isText] = ['application/json', 'text/x'].map((type) => ({ 'content-type': type }))
  const right = { username: 'alice', password: passwords.alice }
  const wrong = { username: 'bob', password: 'wrong' }
  const evil = { origin: 'https://evil.example' }
  const rows: [() => Promise<AnyResponse>, status: number, code: string, detail?: string][] = [
    [() => app.inject('/me'), 401, 'ERR_AUTH_NO_CREDENTIALS', messages.none],
    [() => get('/me', bearer('x')), 401, 'ERR_AUTH_JWT_INVALID', messages.jwtInvalid],
    [() => get('/me', inGerman), 401, 'ERR_AUTH_JWT_INVALID', 'Ihr Authentifizierungstoken'],
    [() => get('/role', bearer(token)), 403, 'ERR_AUTH_FORBIDDEN'],
    [() => get('/scope', bearer(token)), 403, 'ERR_AUTH_INSUFFICIENT_SCOPE'],
    [() => post('/notes', {}, { ...evil, cookie: `token=${token}` }), 403, 'ERR_AUTH_CROSS_SITE'],
    [() => app.inject('/own'), 503, 'ERR_AUTH_OVERLOADED'],
    [() => post('/login', right, evil), 403, 'ERR_AUTH_CROSS_SITE'],
    [() => post('/login', wrong), 401, 'ERR_AUTH_INVALID_CREDENTIALS'],
    [() => post('/login', wrong), 429, 'ERR_AUTH_TOO_MANY_ATTEMPTS'],
    [() => get('/basic', basic('bob', 'wrong')), 429, 'ERR_AUTH_TOO_MANY_ATTEMPTS'],
    [() => post('/login', {}), 400, 'FST_ERR_VALIDATION', 'body/username'],
    [() => post('/login', { ...right, username: 1 }), 400, 'FST_ERR_VALIDATION'],
    [() => post('/login', undefined), 400, 'FST_ERR_VALIDATION'],
    [() => post('/login', '{', isJson), 400, 'FST_ERR_CTP_INVALID_JSON_BODY'],
    [() => post('/login', '', isJson), 400, 'FST_ERR_CTP_EMPTY_JSON_BODY'],
    [() => post('/login', '{"__proto__":1}', isJson), 400, 'FST_ERR_CTP_INVALID_JSON_BODY'],
    [() => post('/login', 'x', isText), 415, 'FST_ERR_CTP_INVALID_MEDIA_TYPE'],
    [() => post('/login', { ...right, x: 'x'.repeat(2 ** 20) }), 413, 'FST_ERR_CTP_BODY_TOO_LARGE'],
    [() => post('/login/refresh', {}), 401, 'ERR_AUTH_NO_CREDENTIALS'],
    [() => post('/login/refresh', { refreshToken: 1 }), 400, 'FST_ERR_VALIDATION'],
    [() => post('/login/refresh', { refreshToken: 'x' }), 401, 'ERR_AUTH_REFRESH_INVALID'],
    [() => post('/logout', {}), 401, 'ERR_AUTH_NO_CREDENTIALS'],
    [() => post('/logout', { everywhere: 'x' }), 400, 'FST_ERR_VALIDATION'],
    [() => post('/logout', {}, evil), 403, 'ERR_AUTH_CROSS_SITE'],
  ]
  for (const [ask, status, code, detail] of rows) {
    const response = await ask()
    const body = JSON.parse(response.body) as Record<string, unknown>
    const title = `${status} ${code}: ${response.body}`
    t.match(body, { code, status }, title)
    t.strictSame(Object.keys(body), ['code', 'status', 'detail', 'instance'], title)
    t.ok(String(body.detail).startsWith(detail ?? ''), title)
    t.equal(response.statusCode, status, title)
    t.equal(response.headers['content-type'], json, title)
    t.equal(response.headers['cache-control'], 'no-store', title)
    if (status === 401) t.ok(response.headers['www-authenticate'], title)
    if (status === 503) t.equal(response.headers['retry-after'], '3')
  }
})

t.test('an errorBody that returns no object is logged, and the default body sent', async (t) => {
  class Problem {
    readonly code = 'x'
  }
  const circular: Record<string, unknown> = {}
  circular.self = circular
  const throwNothing = (): never => {
    throw undefined
  }
  const rows: [title: string, errorBody: unknown][] = [
    ['throws nothing', throwNothing],
    ['throws', () => Promise.reject.call(null)],
    ['undefined', () => undefined],
    ['null', () => null],
    ['a string', () => 'no'],
    ['an array', () => ['no']],
    ['a class', () => new Problem()],
    ['an error', () => new Error('no')],
    ['a promise', () => Promise.resolve({ code: 'x' })],
    ['a promise that rejects', () => Promise.reject(new Error('late'))],
    ['a BigInt', () => ({ a: 1n })],
    ['circular', () => circular],
    ['toJSON', () => ({ toJSON: () => undefined })],
  ]
  for (const [title, errorBody] of rows) {
    const { lines, stream } = logLines()
    const app = await withBody(t, errorBody, { authenticators: { own } }, { logger: { stream } })
    const errors = (): number => lines.filter(({ level }) => level === 50).length
    const rejected = await app.inject('/me')
    t.equal(rejected.statusCode, 401, title)
    t.equal(rejected.body, JSON.stringify({ error: messages.none }), title)
    t.equal(errors(), 1, title)
    const malformed = await app.inject({ method: 'POST', url: '/login', payload: {} })
    t.equal(malformed.statusCode, 400, title)
    t.match(malformed.json(), { statusCode: 400, code: 'FST_ERR_VALIDATION' }, title)
    t.equal(errors(), 2, title)
  }
  for (const errorBody of [{}, 'x', null, true]) {
    t.match(await startupError(() => withBody(t, errorBody)), { code: 'ERR_AUTH_OPTION' })
  }
})

t.test('errorBody may return an empty object, or one without a prototype', async (t) => {
  const empty = await withBody(t, () => ({}), { authenticators: { own } })
  t.equal((await empty.inject('/me')).body, '{}')
  const bare = Object.assign(Object.create(null) as ErrorBody, { a: 1 })
  const app = await withBody(t, () => bare, { authenticators: { own } })
  t.equal((await app.inject('/me')).body, '{"a":1}')
})

t.test('errorBody does not change what onUnauthorized or an errorHandler sends', async (t) => {
  let asked = 0
  const errorBody: MakeBody = ({ code }) => {
    asked += 1
    return { code }
  }
  const answers = {
    ...jwtAuthenticator(),
    onUnauthorized: (
      _: unknown,
      { query }: { query: unknown },
      reply: { send(x: string): void },
    ) => ((query as { silent?: string }).silent === undefined ? reply.send('own') : undefined),
  }
  const login = {
    tokenFunc: () => {
      throw new Error('broken')
    },
    routeOptions: {
      preHandler: (request: { headers: object }) => {
        if (!('x-limit' in request.headers)) return Promise.resolve()
        return Promise.reject(Object.assign(new Error('slow'), { statusCode: 429, code: 'X' }))
      },
    },
  }
  const app = await withBody(t, errorBody, {
    authenticators: { own },
    authenticator: answers,
    login,
  })
  t.equal((await app.inject('/me')).body, 'own')
  t.equal(asked, 0)
  t.equal((await app.inject('/me?silent')).body, '{"code":"ERR_AUTH_NO_CREDENTIALS"}')
  const payload = { username: 'alice', password: passwords.alice }
  const limited = { method: 'POST', url: '/login', payload, headers: { 'x-limit': '1' } } as const
  t.match((await app.inject(limited)).json(), { statusCode: 429, message: 'slow' })
  const broken = await app.inject({ method: 'POST', url: '/login', payload })
  t.match([broken.statusCode, broken.json()], [500, { code: 'ERR_AUTH_TOKEN_FUNC' }])
  t.equal(asked, 1)
  const handled = await withBody(t, errorBody, {
    authenticators: { own },
    login: {
      routeOptions: {
        errorHandler: (_: unknown, __: unknown, reply: FastifyReplyLike) =>
          void reply.code(400).send('handled'),
      },
    },
  })
  t.equal((await handled.inject({ method: 'POST', url: '/login', payload: {} })).body, 'handled')
})

interface FastifyReplyLike {
  code(status: number): { send(body: string): unknown }
}

t.test('an inner registration inherits errorBody, unless it has its own', async (t) => {
  const app = fastify(t)
  const options = standardOptions()
  const scope =
    (errorBody?: MakeBody, inside: (scope: FastifyInstance) => unknown = () => undefined) =>
    async (scope: FastifyInstance): Promise<void> => {
      await scope.register(authn, { ...options, ...(errorBody && { errorBody }) })
      scope.get('/me', { config: { auth: true } }, () => 'me')
      await inside(scope)
    }
  await app.register(
    scope(
      () => ({ outer: 1 }),
      async (outer) => {
        await outer.register(scope(), { prefix: '/inner' })
        await outer.register(
          scope(() => ({ own: 1 })),
          { prefix: '/own' },
        )
      },
    ),
    { prefix: '/outer' },
  )
  await app.register(scope(), { prefix: '/other' })
  const bodyOf = async (prefix: string) => (await app.inject(`${prefix}/me`)).body
  t.equal(await bodyOf('/outer'), '{"outer":1}')
  t.equal(await bodyOf('/outer/inner'), '{"outer":1}')
  t.equal(await bodyOf('/outer/own'), '{"own":1}')
  t.equal(await bodyOf('/other'), JSON.stringify({ error: messages.none }))
})
