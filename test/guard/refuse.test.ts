// Also holds lib/guard/response.ts.
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import t, { type Test } from 'tap'
import {
  anyOf,
  authn,
  AuthenticationError,
  type AuthenticationErrorLike,
  type Authenticator,
} from '../../lib/index.js'

const basicChallenge = 'Basic realm="Notes", charset="UTF-8"'
const keyChallenge = 'Key realm="Notes"'
const shared = Object.freeze(new AuthenticationError('auth.jwt-expired'))
const german = 'Ihr Authentifizierungstoken ist abgelaufen.'

type Write = NonNullable<Authenticator['onUnauthorized']>

/** An app of which every request is refused with one error, and what onUnauthorized does with it. */
async function refusing(
  t: Test,
  write: Write,
  { error = shared, scheme = 'Basic' }: { error?: unknown; scheme?: string | null } = {},
): Promise<FastifyInstance> {
  const app = Fastify()
  t.teardown(() => app.close())
  const authenticator: Authenticator = {
    ...(scheme !== null && { scheme }),
    authenticate: () => {
      throw error
    },
    onUnauthorized: write,
  }
  await app.register(authn, { authenticator, realm: 'Notes' })
  app.get('/', { config: { auth: true } }, () => t.fail('the handler ran'))
  return app
}

const challengeOf = (reply: FastifyReply): unknown => reply.getHeader('www-authenticate')

t.test('an own 401 has the challenge, which was set before', async (t) => {
  let seen: unknown
  const ways: Record<string, Write> = {
    sent: (_, __, reply) => void reply.code(401).send('mine'),
    'sent later': async (_, __, reply) => {
      await new Promise(setImmediate)
      return reply.code(401).send('mine')
    },
    'sent as an error': (_, __, reply) =>
      void reply.send(Object.assign(new Error('mine'), { statusCode: 401 })),
    'written by the plugin': () => undefined,
  }
  for (const [name, write] of Object.entries(ways)) {
    const app = await refusing(t, (error, request, reply) => {
      seen = challengeOf(reply)
      return write(error, request, reply)
    })
    const { statusCode, headers } = await app.inject('/')
    t.strictSame(
      [statusCode, seen, headers['www-authenticate']],
      [401, basicChallenge, basicChallenge],
      name,
    )
  }
})

t.test('one challenge each, where there are several authenticators', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const member = (scheme: string): Authenticator => ({
    scheme,
    authenticate: () => null,
    onUnauthorized: (_, __, reply) => reply.code(401).send('mine'),
  })
  await app.register(authn, {
    authenticator: anyOf(member('Basic'), member('Key')),
    realm: 'Notes',
  })
  app.get('/', { config: { auth: true } }, () => 'ran')
  const { headers, body } = await app.inject('/')
  t.equal(body, 'mine')
  t.strictSame(headers['www-authenticate'], [basicChallenge, keyChallenge])
})

t.test('the app removes or replaces it, also where it leaves the body to the plugin', async (t) => {
  for (const send of [true, false]) {
    const finish = (reply: FastifyReply): void => {
      if (send) void reply.code(401).send('mine')
    }
    const without = await refusing(t, (_, __, reply) => {
      reply.removeHeader('www-authenticate')
      finish(reply)
    })
    const bare = await without.inject('/')
    t.strictSame([bare.statusCode, bare.headers['www-authenticate']], [401, undefined])
    const other = await refusing(t, (_, __, reply) => {
      void reply.header('www-authenticate', 'FormBased')
      finish(reply)
    })
    const replaced = await other.inject('/')
    t.strictSame([replaced.statusCode, replaced.headers['www-authenticate']], [401, 'FormBased'])
  }
})

t.test('another status goes without ours: a 404 must not say that there is a route', async (t) => {
  const ways: Record<number, Write> = {
    302: (_, __, reply) => void reply.redirect('/sign-in'),
    403: (_, __, reply) => void reply.code(403).send('mine'),
    404: (_, __, reply) => reply.callNotFound(),
    500: () => {
      throw new Error('secret detail')
    },
  }
  for (const [status, write] of Object.entries(ways)) {
    const { statusCode, headers, body } = await (await refusing(t, write)).inject('/')
    t.strictSame([statusCode, headers['www-authenticate']], [Number(status), undefined])
    t.notMatch(body, 'secret detail')
  }
  const own = await refusing(t, (_, __, reply) =>
    reply.code(403).header('www-authenticate', 'FormBased').send('mine'),
  )
  t.equal((await own.inject('/')).headers['www-authenticate'], 'FormBased', 'that of the app stays')
})

t.test('no challenge without a scheme, and none for what is no 401', async (t) => {
  let seen: unknown = 'not asked'
  const look: Write = (_, __, reply) => {
    seen = challengeOf(reply)
  }
  const bare = await refusing(t, look, { scheme: null })
  t.equal((await bare.inject('/')).headers['www-authenticate'], undefined)
  t.equal(seen, undefined)
  seen = 'not asked'
  const error = new AuthenticationError('auth.overloaded', { retryAfter: 2 })
  const busy = await (await refusing(t, look, { error })).inject('/')
  t.strictSame([busy.statusCode, busy.headers['retry-after'], seen], [503, '2', undefined])
})

t.test('the message is in the language of the request, and no error is changed', async (t) => {
  const seen: AuthenticationErrorLike[] = []
  const app = await refusing(t, async (error, _, reply) => {
    // All requests are in here at the same time.
    await new Promise((resolve) => setTimeout(resolve, 20))
    seen.push(error)
    return reply.code(401).send({ code: error.code, message: error.message })
  })
  const texts: Record<string, string> = {
    de: german,
    en: 'Your authentication token is expired.',
    fr: 'Votre jeton d’authentification a expiré.',
    'xx, de;q=0.5': german,
  }
  const found = await Promise.all(
    Object.keys(texts).map(async (language) => {
      const { statusCode, body } = await app.inject({
        url: '/',
        headers: { 'accept-language': language },
      })
      return [statusCode, JSON.parse(body) as unknown]
    }),
  )
  const expected = Object.values(texts).map((message) => [
    401,
    { code: 'ERR_AUTH_JWT_EXPIRED', message },
  ])
  t.strictSame(found, expected)
  t.equal(shared.message, texts.en, 'the shared error is as it was')
  for (const error of seen) {
    t.ok(error instanceof AuthenticationError)
    t.strictSame(
      [error.name, error.statusCode, error.key],
      ['AuthenticationError', 401, shared.key],
    )
    t.equal(error.stack, shared.stack)
  }
})

t.test(
  'all else of an error comes along: fields and class of the app, and its cause',
  async (t) => {
    class Revoked extends AuthenticationError {
      readonly since = 7
      get isOld(): boolean {
        return this.since > 5
      }
    }
    const error = new Revoked('auth.invalid-credentials', { cause: 'revoked', retryAfter: 3 })
    let seen: unknown
    const app = await refusing(t, (given) => void (seen = given), { error })
    const headers = { 'accept-language': 'de' }
    t.equal(
      (await app.inject({ url: '/', headers })).json<{ error: string }>().error.length > 5,
      true,
    )
    t.ok(seen instanceof Revoked)
    const { since, isOld, cause, retryAfter, message } = seen as Revoked
    t.strictSame([since, isOld, cause, retryAfter], [7, true, 'revoked', 3])
    t.not(message, error.message)
    t.notOk(Object.keys(seen as object).includes('stack'), 'which logs would print twice')
  },
)

t.test('a text of the app is its own in every language, and so is its error', async (t) => {
  const error = new AuthenticationError('This key was revoked.')
  let seen: unknown
  const app = await refusing(t, (given) => void (seen = given), { error })
  const response = await app.inject({ url: '/', headers: { 'accept-language': 'de' } })
  t.strictSame(response.json(), { error: 'This key was revoked.' })
  t.equal(response.headers['content-language'], undefined)
  t.equal(seen, error)
})

t.test('the language that an authenticator has chosen counts', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  let message: unknown
  await app.register(authn, {
    authenticator: {
      authenticate: (request) => {
        request.lang = 'de'
        throw shared
      },
      onUnauthorized: (error) => void (message = error.message),
    },
  })
  app.get('/', { config: { auth: true } }, () => 'ran')
  t.strictSame((await app.inject('/')).json(), { error: german })
  t.equal(message, german)
})
