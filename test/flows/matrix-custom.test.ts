import type { FastifyInstance, FastifyReply } from 'fastify'
import t, { type Test } from 'tap'
import {
  AuthenticationError,
  jwtAuthenticator,
  type Authenticator,
  type AuthnOptions,
} from '../../lib/index.js'
import { appWith, basic, bearer, logLines, standardOptions } from '../helpers/app.js'
import {
  bearerChallenge,
  isFault,
  isRefusal,
  isWelcome,
  probe,
  realm,
  texts,
  tokenChallenge,
  type ExpectedRefusal,
} from '../helpers/flows.js'
import { runMatrix, type Outcome, type Row } from '../helpers/matrix.js'

/** Keys in the header x-api-key, with or without a scheme to name in challenges. */
function apiKeys(more: Partial<Authenticator> = {}): Authenticator {
  return {
    async authenticate(request) {
      const key = request.headers['x-api-key']
      if (key === undefined) return null
      if (key === 'revoked') throw new AuthenticationError('This API key was revoked.')
      if (key === 'gone') throw new AuthenticationError('auth.no-credentials-provided')
      if (key !== 'right') throw new AuthenticationError('auth.invalid-credentials')
      return { name: 'alice' }
    },
    ...more,
  }
}

const key = (value: string): Record<string, string> => ({ 'x-api-key': value })

function rowsWith(challenge: string | null): Row[] {
  const none: Outcome = { none: { error: texts.none, challenge } }
  const wrong: Outcome = { wrong: { error: texts.invalid, challenge } }
  return [
    { name: 'right', headers: key('right'), outcome: { user: 'alice' } },
    { name: 'no key', headers: {}, outcome: none },
    { name: 'another scheme', headers: bearer('x'), outcome: none },
    { name: 'the key of none, said by an error', headers: key('gone'), outcome: none },
    { name: 'wrong', headers: key('wrong'), outcome: wrong },
    {
      name: 'wrong, with a text of the authenticator',
      headers: key('revoked'),
      outcome: { wrong: { error: 'This API key was revoked.', challenge, language: null } },
    },
  ]
}

for (const scheme of [undefined, 'ApiKey']) {
  t.test(`custom, ${scheme ?? 'no'} scheme: modes and credentials`, async (t) => {
    const more = scheme === undefined ? {} : { scheme }
    const options = (): AuthnOptions => ({
      authenticators: { key: apiKeys(more), lenient: apiKeys({ ...more, optional: true }) },
    })
    const challenge = scheme === undefined ? null : `ApiKey realm="${realm}"`
    await runMatrix(t, { options, use: 'key', lenient: 'lenient' }, rowsWith(challenge))
  })
}

t.test('custom: bearerToken() and lookup by token', async (t) => {
  const issued: Record<string, object> = { 'opaque~token=': { name: 'alice' } }
  const opaque = (optional: boolean): Authenticator => ({
    scheme: 'Bearer',
    optional,
    authenticate(request) {
      const token = request.bearerToken()
      if (token === null) return null
      const user = Object.hasOwn(issued, token) ? issued[token] : undefined
      if (user === undefined) throw new AuthenticationError('auth.invalid-credentials')
      return user
    },
  })
  const options = (): AuthnOptions => ({
    authenticators: { token: opaque(false), lenient: opaque(true) },
  })
  const none: Outcome = { none: { error: texts.none, challenge: bearerChallenge } }
  await runMatrix(t, { options, use: 'token', lenient: 'lenient' }, [
    { name: 'right', headers: bearer('opaque~token='), outcome: { user: 'alice' } },
    { name: 'none', headers: {}, outcome: none },
    { name: 'empty', headers: { authorization: 'Bearer ' }, outcome: none },
    { name: 'another scheme', headers: basic('a', 'b'), outcome: none },
    {
      name: 'wrong',
      headers: bearer('constructor'),
      outcome: {
        wrong: { error: texts.invalid, challenge: tokenChallenge('The token is not accepted') },
      },
    },
  ])
})

/** What authenticators return that is no user. */
const nobodies: [string, unknown][] = [
  ['undefined', undefined],
  ['a string', 'alice'],
  ['0', 0],
  ['an array', [{ name: 'alice' }]],
  ['a function', () => ({ name: 'alice' })],
]

async function judged(
  t: Test,
  authenticate: () => unknown,
): Promise<{ app: FastifyInstance; take: () => number; lines: Record<string, unknown>[] }> {
  const { handler, take } = probe()
  const { lines, stream } = logLines()
  const authenticator = { authenticate } as Authenticator
  const app = await appWith(
    t,
    {
      authenticator,
      authenticators: { lenient: { ...authenticator, optional: true } },
    },
    (app) => {
      app.get('/required', { config: { auth: true } }, handler)
      app.get('/optional', { config: { auth: 'optional' } }, handler)
      app.get('/lenient', { config: { auth: { use: 'lenient' } } }, handler)
      app.get('/try', { config: { auth: 'try' } }, handler)
    },
    { logger: { level: 'info', stream } },
  )
  return { app, take, lines }
}

t.test('custom: what authenticate returns that is no object is never a success', async (t) => {
  const refusal = { error: texts.invalid, challenge: null }
  let authenticate: () => unknown = () => null
  const { app, take } = await judged(t, () => authenticate())
  for (const [name, value] of nobodies) {
    for (authenticate of [() => value, async () => value]) {
      for (const url of ['/required', '/optional', '/lenient']) {
        isRefusal(t, await app.inject(url), refusal, `${name}, ${url}`)
        t.equal(take(), 0, 'the handler did not run')
      }
      isWelcome(t, await app.inject('/try'), null, `${name}: nobody under try`)
      take()
    }
  }
})

/** What authenticators throw that is no refusal. */
const throws: [string, unknown][] = [
  ['an error', new Error('database is away: secret detail')],
  ['undefined', undefined],
  ['a string', 'secret detail'],
  ['an error with a status', Object.assign(new Error('secret detail'), { statusCode: 401 })],
  ['an error with a code', Object.assign(new Error('secret detail'), { code: 'ERR_AUTH_MARK' })],
]

t.test('custom: what authenticate throws that is no refusal is a fault', async (t) => {
  let authenticate: () => unknown = () => null
  const { app, take, lines } = await judged(t, () => authenticate())
  for (const [name, value] of throws) {
    for (authenticate of [
      () => {
        throw value
      },
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- what is tested
      () => Promise.reject(value),
    ]) {
      for (const url of ['/required', '/optional', '/lenient', '/try']) {
        lines.length = 0
        const response = await app.inject(url)
        isFault(t, response, 'ERR_AUTH_AUTHENTICATOR', `${name}, ${url}`)
        t.notMatch(response.body, 'secret detail')
        t.equal(take(), 0, 'the handler did not run')
        t.equal(lines.filter(({ level }) => level === 50).length, 1, 'one line at level error')
      }
    }
  }
})

t.test('custom: refusals that ask to wait are never forgiven', async (t) => {
  for (const [message, status, error, retryAfter] of [
    ['auth.too-many-attempts', 429, 'Too many failed attempts. Please try again later.', 7],
    ['auth.overloaded', 503, 'The server is busy. Please try again later.', 2],
  ] as const) {
    const { app, take } = await judged(t, () => {
      throw new AuthenticationError(message, { retryAfter })
    })
    for (const url of ['/required', '/optional', '/lenient', '/try']) {
      const response = await app.inject(url)
      isRefusal(t, response, { status, error, challenge: null }, url)
      t.equal(response.headers['retry-after'], String(retryAfter))
      t.equal(take(), 0)
    }
  }
})

t.test('custom: an error of another copy of the package is a refusal all the same', async (t) => {
  const foreign = Object.assign(new Error('Expired, says the other copy.'), {
    code: 'ERR_AUTH_JWT_EXPIRED',
    statusCode: 401,
    key: 'auth.jwt-expired',
  })
  const { app, take } = await judged(t, () => Promise.reject(foreign))
  isRefusal(t, await app.inject('/required'), { error: texts.jwtExpired, challenge: null })
  t.equal(take(), 0)
})

/** Ways to write an own refusal, and what the client then gets: null, the plugin's own. */
const writers: Record<
  string,
  { write: Authenticator['onUnauthorized']; sent: string | null; status?: number }
> = {
  'sends at once': {
    write: (error, _, reply) => void reply.code(418).send({ mine: error.code }),
    sent: '{"mine":"ERR_AUTH_INVALID_CREDENTIALS"}',
  },
  'sends later, as a promise': {
    write: async (error, _, reply) => {
      await new Promise((resolve) => {
        setImmediate(resolve)
      })
      return reply.code(418).send({ mine: error.key })
    },
    sent: '{"mine":"auth.invalid-credentials"}',
  },
  redirects: { write: (_, __, reply) => void reply.redirect('/sign-in'), sent: '', status: 302 },
  'sends, then rejects': {
    write: async (_, __, reply) => {
      void reply.code(418).send('mine')
      throw new Error('secret detail')
    },
    sent: 'mine',
  },
  'returns without sending': { write: () => undefined, sent: null },
  'resolves with a body': { write: async () => ({ mine: true }), sent: null },
}

t.test('custom: onUnauthorized writes the refusal, or the plugin does', async (t) => {
  for (const [name, { write, sent, status = 418 }] of Object.entries(writers)) {
    await t.test(name, async (t) => {
      const { handler, take } = probe()
      const calls: unknown[][] = []
      const onUnauthorized: Authenticator['onUnauthorized'] = (error, request, reply) => {
        calls.push([error.code, request.url, typeof reply.send])
        return write?.(error, request, reply)
      }
      const app = await appWith(
        t,
        { authenticator: apiKeys({ scheme: 'Key', onUnauthorized }) },
        async (app) => {
          app.get('/', { config: { auth: true } }, handler)
          app.get('/try', { config: { auth: 'try' } }, handler)
          await app.register(async (app) => {
            // As compression and the like: what is sent is not out at once.
            app.addHook('onSend', async (_, __, payload) => payload)
            app.get('/slow', { config: { auth: true } }, handler)
          })
        },
      )
      for (const url of ['/', '/slow']) {
        const response = await app.inject({ url, headers: key('wrong') })
        if (sent === null) {
          isRefusal(t, response, { error: texts.invalid, challenge: `Key realm="${realm}"` }, url)
        } else {
          t.equal(response.statusCode, status, url)
          t.equal(response.body, sent)
          t.equal(response.headers['www-authenticate'], undefined)
          t.equal(response.headers['content-language'], undefined)
        }
        t.equal(take(), 0, 'the handler did not run')
        t.strictSame(calls.splice(0), [['ERR_AUTH_INVALID_CREDENTIALS', url, 'function']])
      }

      isWelcome(t, await app.inject({ url: '/', headers: key('right') }), 'alice')
      isWelcome(t, await app.inject({ url: '/try', headers: key('wrong') }), null)
      t.strictSame(calls, [], 'not asked where the request passes')
      await app.inject('/')
      t.equal(calls[0]?.[0], 'ERR_AUTH_NO_CREDENTIALS')
    })
  }
})

t.test('custom: an onUnauthorized that fails is a fault', async (t) => {
  const failures: [string, Authenticator['onUnauthorized']][] = [
    [
      'throws',
      () => {
        throw new Error('secret detail')
      },
    ],
    ['rejects', () => Promise.reject(new Error('secret detail'))],
    ['rejects with undefined', () => Promise.reject()],
  ]
  const { handler, take } = probe()
  const { lines, stream } = logLines()
  let fail: Authenticator['onUnauthorized']
  const app = await appWith(
    t,
    { authenticator: apiKeys({ onUnauthorized: (...given) => fail?.(...given) }) },
    (app) => void app.get('/', { config: { auth: true } }, handler),
    { logger: { level: 'error', stream } },
  )
  for (const [name, onUnauthorized] of failures) {
    fail = onUnauthorized
    lines.length = 0
    const response = await app.inject('/')
    isFault(t, response, 'ERR_AUTH_ON_UNAUTHORIZED', name)
    t.notMatch(response.body, 'secret detail')
    t.strictSame([take(), lines.length], [0, 1], name)
  }
})

t.test('custom: an onUnauthorized that hijacks the reply has the word', async (t) => {
  const app = await appWith(
    t,
    {
      authenticator: apiKeys({
        onUnauthorized: (_, __, reply: FastifyReply) => {
          reply.hijack()
          reply.raw.writeHead(401, { 'x-raw': 'yes' })
          reply.raw.end('raw')
        },
      }),
    },
    (app) => void app.get('/', { config: { auth: true } }, () => 'ran'),
  )
  const response = await app.inject('/')
  t.equal(response.statusCode, 401)
  t.equal(response.headers['x-raw'], 'yes')
  t.equal(response.body, 'raw')
})

t.test('custom: init is called once for a registration, with the app', async (t) => {
  const calls: unknown[] = []
  const authenticator = apiKeys({
    async init(app) {
      await new Promise((resolve) => {
        setImmediate(resolve)
      })
      calls.push([app.prefix, typeof app.jwtService.generateToken, app.authn.authenticators])
    },
  })
  await appWith(
    t,
    { ...standardOptions(), authenticator, authenticators: { a: authenticator, b: authenticator } },
    (app) => {
      app.get('/', { config: { auth: true } }, () => 'ok')
      app.get('/a', { config: { auth: { use: ['a', 'jwt'] } } }, () => 'ok')
    },
  )
  t.strictSame(calls, [['', 'function', ['jwt', 'basic', 'a', 'b']]])
})

t.test('custom: an init that fails stops the boot', async (t) => {
  for (const init of [
    () => {
      throw new Error('no such cache')
    },
    () => Promise.reject(new Error('no such cache')),
  ]) {
    await t.rejects(appWith(t, { authenticator: apiKeys({ init }) }), { message: 'no such cache' })
  }
})

t.test('wrapping a built-in by spreading it', async (t) => {
  const inner = jwtAuthenticator()
  const banned: Authenticator = {
    ...inner,
    async authenticate(request) {
      const user = (await inner.authenticate(request)) as { name: string } | null
      if (user?.name === 'bob') throw new AuthenticationError('You are banned, Bob.')
      return user
    },
    onUnauthorized(error, _, reply) {
      if (error.key === null) return reply.code(403).send({ banned: error.message })
      return undefined
    },
  }
  const { handler, take } = probe()
  const app = await appWith(
    t,
    { ...standardOptions(), authenticators: { banned } },
    (app) => void app.get('/', { config: { auth: { use: 'banned' } } }, handler),
  )
  const get = (headers: Record<string, string>): Promise<Awaited<ReturnType<typeof app.inject>>> =>
    app.inject({ url: '/', headers }).then((response) => response)
  isWelcome(t, await get(bearer(app.jwtService.generateToken('alice'))), 'alice')
  t.equal(take(), 1)
  const refused = await get(bearer(app.jwtService.generateToken('bob')))
  t.equal(refused.statusCode, 403)
  t.strictSame(refused.json(), { banned: 'You are banned, Bob.' })
  isRefusal(t, await get({}), { error: texts.none, challenge: bearerChallenge })
  isRefusal(t, await get(bearer('abc')), {
    error: texts.jwtInvalid,
    challenge: tokenChallenge('The token is invalid'),
  })
  t.equal(take(), 0)
})

t.test('an authenticator of the app wins over a built-in of the same name', async (t) => {
  const { handler } = probe()
  const app = await appWith(
    t,
    { ...standardOptions(), authenticators: { jwt: apiKeys() } },
    (app) => void app.get('/', { config: { auth: true } }, handler),
  )
  isWelcome(t, await app.inject({ url: '/', headers: key('right') }), 'alice')
  const token = bearer(app.jwtService.generateToken('alice'))
  const refusal: ExpectedRefusal = { error: texts.none, challenge: null }
  isRefusal(t, await app.inject({ url: '/', headers: token }), refusal)
})
