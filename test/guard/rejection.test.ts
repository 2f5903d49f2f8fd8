import type { FastifyInstance, FastifyReply, FastifyRequest, FastifyServerOptions } from 'fastify'
import t, { type Test } from 'tap'
import {
  anyOf,
  AuthenticationError,
  type AuthenticationErrorLike,
  type Authenticator,
} from '../../lib/index.js'
import { appWith, logLines } from '../helpers/app.js'

const basicChallenge = 'Basic realm="Notes", charset="UTF-8"'
const keyChallenge = 'Key realm="Notes"'
const shared = Object.freeze(new AuthenticationError('auth.jwt-expired'))
const german = 'Ihr Authentifizierungstoken ist abgelaufen.'

type Write = NonNullable<Authenticator['onUnauthorized']>

/** An app of which requests without the right key are rejected with one error, and what onUnauthorized does with it. */
function rejecting(
  t: Test,
  write: Write,
  {
    error = shared,
    scheme = 'Basic',
    server = {},
  }: { error?: unknown; scheme?: string | null; server?: FastifyServerOptions } = {},
): Promise<FastifyInstance> {
  const authenticator: Authenticator = {
    ...(scheme !== null && { scheme }),
    authenticate: ({ headers }) => {
      if (headers['x-key'] === 'right') return { name: 'alice' }
      throw error
    },
    onUnauthorized: write,
  }
  const handler = ({ user }: FastifyRequest): string => (user === null ? 'anonymous' : 'handled')
  return appWith(
    t,
    { authenticator, realm: 'Notes' },
    async (app) => {
      app.get('/', { config: { auth: true } }, handler)
      app.get('/try', { config: { auth: 'try' } }, handler)
      await app.register(async (app) => {
        // As compression and the like: what is sent is not out at once.
        app.addHook('onSend', async (_, __, payload) => payload)
        app.get('/slow', { config: { auth: true } }, handler)
      })
    },
    server,
  )
}

const challengeOf = (reply: FastifyReply): unknown => reply.getHeader('www-authenticate')

const sent = (reply: FastifyReply, status: number): FastifyReply => reply.code(status).send('mine')
const ours = JSON.stringify({ error: 'Your authentication token is expired.' })
const failed = /ERR_AUTH_ON_UNAUTHORIZED/

/** A test of what onUnauthorized may do, and of the status, body and challenge that the client then gets. */
function way(
  name: string,
  [status, body, challenge]: [number, string | RegExp, challenge?: string],
  write: Write,
): void {
  t.test(`a client gets a ${status} where onUnauthorized ${name}`, async (t) => {
    const seen: unknown[] = []
    const { lines, stream } = logLines()
    const noting: Write = (error, request, reply) => {
      seen.push([error.code, request.url, challengeOf(reply)])
      return write(error, request, reply)
    }
    const app = await rejecting(t, noting, { server: { logger: { level: 'error', stream } } })
    for (const url of ['/', '/slow']) {
      const response = await app.inject(url)
      t.equal(response.statusCode, status, url)
      t.match(response.body, body, url)
      t.notMatch(response.body, 'secret detail')
      t.equal(response.headers['www-authenticate'], challenge, url)
      t.equal('content-language' in response.headers, body === ours, url)
      t.strictSame(seen.splice(0), [['ERR_AUTH_JWT_EXPIRED', url, basicChallenge]])
    }
    const fails = /throws|rejects/.test(name)
    t.equal(lines.length, fails ? 2 : 0, 'one line in the log for each failure')
  })
}

way('returns', [401, ours, basicChallenge], () => undefined)
way('resolves with a body', [401, ours, basicChallenge], async () => ({ mine: true }))
way('sends a 401', [401, 'mine', basicChallenge], (_, __, reply) => void sent(reply, 401))
way('sends a 401 later', [401, 'mine', basicChallenge], async (_, __, reply) => {
  await new Promise(setImmediate)
  return sent(reply, 401)
})
way('sends an error with status 401', [401, /mine/, basicChallenge], (_, __, reply) => {
  void reply.send(Object.assign(new Error('mine'), { statusCode: 401 }))
})
way('removes the challenge and returns', [401, ours], (_, __, reply) => {
  reply.removeHeader('www-authenticate')
})
way('removes the challenge and sends a 401', [401, 'mine'], (_, __, reply) => {
  sent(reply.removeHeader('www-authenticate'), 401)
})
way('replaces the challenge and returns', [401, ours, 'FormBased'], (_, __, reply) => {
  void reply.header('www-authenticate', 'FormBased')
})
way('replaces the challenge and sends a 403', [403, 'mine', 'FormBased'], (_, __, reply) => {
  void sent(reply.header('www-authenticate', 'FormBased'), 403)
})
// Another status has no challenge: that of a 404 would say that there is a route.
way('redirects', [302, ''], (_, __, reply) => void reply.redirect('/sign-in'))
way('sends a 403', [403, 'mine'], (_, __, reply) => void sent(reply, 403))
way('answers as if there were no route', [404, /Not Found/], (_, __, reply) => reply.callNotFound())
way('sends a 418 and then rejects', [418, 'mine'], async (_, __, reply) => {
  void sent(reply, 418)
  throw new Error('secret detail')
})
way('hijacks the reply', [401, 'raw'], (_, __, reply) => {
  reply.hijack()
  reply.raw.writeHead(401).end('raw')
})
way('throws', [500, failed], () => {
  throw new Error('secret detail')
})
way('rejects', [500, failed], () => Promise.reject(new Error('secret detail')))
way('rejects with undefined', [500, failed], () => Promise.reject())

t.test('onUnauthorized is not called for requests that pass', async (t) => {
  let calls = 0
  const app = await rejecting(t, () => void (calls += 1))
  t.equal((await app.inject('/try')).body, 'anonymous')
  t.equal((await app.inject({ url: '/', headers: { 'x-key': 'right' } })).body, 'handled')
  t.equal(calls, 0)
})

t.test('a 401 for several authenticators has a challenge for each', async (t) => {
  const member = (scheme: string): Authenticator => ({
    scheme,
    authenticate: () => null,
    onUnauthorized: (_, __, reply) => sent(reply, 401),
  })
  const authenticator = anyOf(member('Basic'), member('Key'))
  const app = await appWith(t, { authenticator, realm: 'Notes' }, (app) => {
    app.get('/', { config: { auth: true } }, () => 'ran')
  })
  const { statusCode, headers, body } = await app.inject('/')
  t.strictSame([statusCode, body], [401, 'mine'])
  t.strictSame(headers['www-authenticate'], [basicChallenge, keyChallenge])
})

t.test('a 401 of an authenticator without a scheme, and a 503, have no challenge', async (t) => {
  let seen: unknown = 'not asked'
  const look: Write = (_, __, reply) => {
    seen = challengeOf(reply)
  }
  const bare = await rejecting(t, look, { scheme: null })
  t.equal((await bare.inject('/')).headers['www-authenticate'], undefined)
  t.equal(seen, undefined)
  seen = 'not asked'
  const error = new AuthenticationError('auth.overloaded', { retryAfter: 2 })
  const busy = await (await rejecting(t, look, { error })).inject('/')
  t.strictSame([busy.statusCode, busy.headers['retry-after'], seen], [503, '2', undefined])
})

t.test('concurrent requests get a shared error each in its own language', async (t) => {
  const seen: AuthenticationErrorLike[] = []
  const app = await rejecting(t, async (error, _, reply) => {
    // All requests are in here at the same time.
    await new Promise((resolve) => setTimeout(resolve, 20))
    seen.push(error)
    return reply.code(401).send({ code: error.code, message: error.message })
  })
  const messages: Record<string, string> = {
    de: german,
    en: 'Your authentication token is expired.',
    fr: 'Votre jeton d’authentification a expiré.',
    'xx, de;q=0.5': german,
  }
  const found = await Promise.all(
    Object.keys(messages).map(async (language) => {
      const { statusCode, body } = await app.inject({
        url: '/',
        headers: { 'accept-language': language },
      })
      return [statusCode, JSON.parse(body) as unknown]
    }),
  )
  const expected = Object.values(messages).map((message) => [
    401,
    { code: 'ERR_AUTH_JWT_EXPIRED', message },
  ])
  t.strictSame(found, expected)
  t.equal(shared.message, messages.en, 'the shared error is as it was')
  for (const error of seen) {
    t.ok(error instanceof AuthenticationError)
    t.strictSame(
      [error.name, error.statusCode, error.key],
      ['AuthenticationError', 401, shared.key],
    )
    t.equal(error.stack, shared.stack)
  }
})

t.test('onUnauthorized gets an error with the class, fields and cause of the app', async (t) => {
  class Revoked extends AuthenticationError {
    readonly since = 7
    get isOld(): boolean {
      return this.since > 5
    }
  }
  const error = new Revoked('auth.invalid-credentials', { cause: 'revoked', retryAfter: 3 })
  let seen: unknown
  const app = await rejecting(t, (given) => void (seen = given), { error })
  const headers = { 'accept-language': 'de' }
  t.equal((await app.inject({ url: '/', headers })).statusCode, 401)
  t.ok(seen instanceof Revoked)
  const { since, isOld, cause, retryAfter, message } = seen as Revoked
  t.strictSame([since, isOld, cause, retryAfter], [7, true, 'revoked', 3])
  t.not(message, error.message)
  t.notOk(Object.keys(seen as object).includes('stack'), 'which logs would print twice')
})

t.test('a message of the app is sent as it is, whatever the language of the request', async (t) => {
  const error = new AuthenticationError('This key was revoked.')
  let seen: unknown
  const app = await rejecting(t, (given) => void (seen = given), { error })
  const response = await app.inject({ url: '/', headers: { 'accept-language': 'de' } })
  t.strictSame(response.json(), { error: 'This key was revoked.' })
  t.equal(response.headers['content-language'], undefined)
  t.equal(seen, error)
})

t.test('a rejection is in the language that the authenticator has set', async (t) => {
  let message: unknown
  const authenticator: Authenticator = {
    authenticate: (request) => {
      request.lang = 'de'
      throw shared
    },
    onUnauthorized: (error) => void (message = error.message),
  }
  const app = await appWith(t, { authenticator }, (app) => {
    app.get('/', { config: { auth: true } }, () => 'ran')
  })
  const response = await app.inject('/')
  t.strictSame([response.statusCode, response.json()], [401, { error: german }])
  t.equal(message, german)
})
