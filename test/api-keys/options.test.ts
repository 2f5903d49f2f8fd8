import Fastify from 'fastify'
import t from 'tap'
import { memoryApiKeys, redisApiKeys, sqlApiKeys } from '../../lib/api-keys/index.js'
import { authn, type AuthnOptions } from '../../lib/index.js'
import { setNodeEnv } from '../helpers/environment.js'
import { secret, userService } from '../helpers/app.js'
import { prefix } from '../helpers/api-keys.js'
import { everyOptionIsNamed, failureWith } from '../helpers/options.js'

const store = memoryApiKeys({ prefix: 'shop' })

async function open(...all: AuthnOptions[]): Promise<void> {
  const app = Fastify()
  try {
    for (const [index, options] of all.entries()) {
      await app.register(
        async (scope) => {
          await scope.register(authn, options)
          scope.get('/', { config: { auth: { use: 'apiKey' } } }, () => 'ok')
        },
        { prefix: `/${index}` },
      )
    }
    await app.ready()
  } finally {
    await app.close()
  }
}

const users = userService()
const optionsWith = (apiKeys: unknown, more: AuthnOptions = {}): AuthnOptions => ({
  userService: users,
  jwt: { secret },
  login: false,
  apiKeys: apiKeys as AuthnOptions['apiKeys'],
  ...more,
})

t.test('startup succeeds with valid options of apiKeys', async () => {
  const maximal = {
    header: 'X-Api-Key',
    cache: { max: 1, ttl: 60 },
    maxPerOwner: 10_000,
    name: 'admin',
  }
  await open(
    optionsWith({ prefix: 'a1', store }),
    optionsWith({ prefix: 'a_0_0123456789_test'.padEnd(20, '0'), store, ...maximal }),
    optionsWith({ prefix, store, cache: false, name: 'other' }),
    optionsWith({ prefix, store, cache: { ttl: 0.0015 }, name: 'third' }),
  )
})

t.test('startup fails for a wrong option of apiKeys, and names it', async (t) => {
  const errorOf = failureWith('apiKeys', optionsWith(undefined))
  const bad = {
    prefix: [undefined, 'a', 'A1', '1a', 'a_', '_a', 'a__b', 'a-b', 'a'.repeat(21), 7],
    store: [undefined, {}, { get: () => null }, 'redis', null, () => store],
    header: ['', 'a b', 'a:b', 7, 'Authorization', 'proxy-authorization', 'Cookie'],
    cache: [true, 0, { max: 0 }, { max: 1_000_001 }, { ttl: 0 }, { ttl: 61 }, { age: 1 }],
    name: [''],
    remember: [1],
  }
  const start = (given: object) => errorOf(t, given)
  await everyOptionIsNamed(t, 'apiKeys', start, { prefix, store }, bad)
  for (const value of [true, 'acme'])
    t.match(await errorOf(t, value), { code: 'ERR_AUTH_OPTION', message: /apiKeys/ })
  t.match(await errorOf(t, { prefix, store: {} }), { message: /redisApiKeys.*sqlApiKeys/ })
})

t.test('startup fails for apiKeys without users, or with a name that is taken', async (t) => {
  const option = { code: 'ERR_AUTH_OPTION' }
  const apiKeys = { prefix, store }
  await t.rejects(open(optionsWith(apiKeys, { userService: undefined, jwt: undefined })), option)
  const apiKey = { authenticate: () => null }
  await t.rejects(open(optionsWith(apiKeys, { authenticators: { apiKey } })), option)
  await t.rejects(open(optionsWith(apiKeys), optionsWith({ ...apiKeys, header: 'x-key' })), option)
  await t.rejects(open(optionsWith(undefined)), { code: 'ERR_AUTH_MARK' })
})

t.test('the stores of API keys throw for a wrong prefix or client', async (t) => {
  const option = { code: 'ERR_AUTH_OPTION' }
  const redis = { evalsha: () => null, eval: () => null }
  const query = async () => ({ rows: [] })
  for (const given of [undefined, '', 'a b', 'x'.repeat(65), 7]) {
    const options = { prefix: given as string }
    if (given !== undefined) t.throws(() => memoryApiKeys(options), option)
    t.throws(() => redisApiKeys(redis, options), option)
    t.throws(() => sqlApiKeys({ query, ...options }), option)
  }
  t.throws(() => sqlApiKeys({ query, prefix: 'Shop' }), option)
  t.throws(() => sqlApiKeys({ query: 'SELECT 1' as never, prefix: 'shop' }), option)
  t.throws(() => sqlApiKeys(undefined as never), option)
  t.throws(() => redisApiKeys({}, { prefix: 'shop' }), option)
  t.throws(() => redisApiKeys(undefined as never, { prefix: 'shop' }), option)
  t.equal(memoryApiKeys().prefix, 'fastify-authn')
})

t.test('API keys in memory are a warning in production', async (t) => {
  setNodeEnv(t, 'production')
  const lines: string[] = []
  const app = Fastify({
    logger: { level: 'warn', stream: { write: (line) => void lines.push(line) } },
  })
  t.teardown(() => app.close())
  await app.register(authn, optionsWith({ prefix, store }, { jwt: undefined }))
  await app.ready()
  t.match(lines.join(''), /API keys.*restart/)
})
