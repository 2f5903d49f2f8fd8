// What lib/tokens/engine.ts takes for granted of @fastify/jwt, called as it is called there. When one of these fails
// after an update of the package, its title says what has changed.
import { createRequire } from 'node:module'
import t from 'tap'
import { thrownBy } from '../helpers/errors.js'
import { hmacSecret } from '../helpers/keys.js'
import { encode, hmacToken, keys, privatePem, publicPem } from '../helpers/tokens.js'

const require = createRequire(import.meta.url)
type Plugin = (instance: object, options: object, next: (error?: Error) => void) => void
interface Decorator {
  sign: (claims: object) => string
  verify: (token: string) => { header: object; payload: object }
}

const plugin = require('@fastify/jwt') as Plugin
const secret = Buffer.from(hmacSecret)
const strict = {
  algorithms: ['HS256'],
  cache: false,
  complete: true,
  ignoreExpiration: true,
  ignoreNotBefore: true,
}
const hmac = { secret, sign: { algorithm: 'HS256' }, verify: strict }

/** The names that @fastify/jwt has decorated, in order. */
let names: string[] = []

/** Has an object decorated that has only what the engine gives it. */
function decorated(options: object, use = plugin): Decorator {
  let decorator: unknown
  let called = 0
  names = []
  const instance = {
    decorate(name: string, value: unknown) {
      names.push(name)
      decorator = value
    },
    decorateRequest: (name: string) => names.push(`request.${name}`),
    decorateReply: (name: string) => names.push(`reply.${name}`),
  }
  use(instance, options, (error) => {
    called += 1
    if (error !== undefined) throw error
  })
  t.equal(called, 1, '@fastify/jwt calls next() once, before it returns')
  return decorator as Decorator
}

t.test('@fastify/jwt decorates what has three methods of a Fastify instance', async (t) => {
  const { sign, verify } = decorated(hmac)
  t.strictSame(
    names,
    ['request.user', 'jwt', 'request.jwtDecode', 'request.jwtVerify', 'reply.jwtSign'],
    'of its decorators, "jwt" alone is on the instance',
  )
  const token = sign({ sub: 'a' })
  t.type(token, 'string', '@fastify/jwt signs synchronously')
  t.match(verify(token), { header: { alg: 'HS256', typ: 'JWT' }, payload: { sub: 'a' } })
})

t.test('@fastify/jwt keeps what it has decorated apart', async (t) => {
  const one = decorated(hmac)
  const two = decorated({ ...hmac, secret: Buffer.alloc(64, 1) })
  t.throws(() => one.verify(two.sign({ sub: 'a' })))
  t.throws(() => two.verify(one.sign({ sub: 'a' })))
})

t.test('@fastify/jwt tells of a key that it does not take through next()', async (t) => {
  t.throws(() => decorated({ ...hmac, secret: { public: 'x' }, verify: { algorithms: ['RS256'] } }))
})

t.test(
  '@fastify/jwt: verify(token) without options uses the verifier that is prepared',
  async (t) => {
    const { resolve, cache } = require
    const engine = require.cache[resolve('fast-jwt', { paths: [resolve('@fastify/jwt')] })]
    if (engine === undefined) throw new Error('@fastify/jwt no longer stands on fast-jwt')
    const { exports: real } = engine as { exports: Record<string, (options: object) => unknown> }
    const made: string[] = []
    const count = (name: string) => (options: object) => {
      made.push(name)
      return real[name]?.(options)
    }
    engine.exports = {
      ...real,
      createSigner: count('createSigner'),
      createVerifier: count('createVerifier'),
    }
    delete cache[resolve('@fastify/jwt')]
    t.teardown(() => (engine.exports = real))
    const { sign, verify } = decorated(hmac, require('@fastify/jwt') as Plugin)
    t.strictSame(made.toSorted(), ['createSigner', 'createVerifier'])
    for (let each = 0; each < 5; each += 1) verify(sign({ sub: 'a' }))
    t.equal(made.length, 2, 'one of each, however many tokens there are')
  },
)

t.test('@fastify/jwt leaves time claims to us when it is told to', async (t) => {
  const { verify } = decorated(hmac)
  for (const claims of [{ exp: 1 }, { nbf: 9_999_999_999 }, { exp: 'no', nbf: [] }]) {
    t.match(verify(hmacToken({ alg: 'HS256' }, claims, secret)), { payload: claims })
  }
})

t.test('@fastify/jwt writes iat unless noTimestamp is set, and then drops it', async (t) => {
  const payloadOf = (token: string): unknown =>
    JSON.parse(Buffer.from(String(token.split('.')[1]), 'base64url').toString())
  const dated = decorated(hmac)
  const other = decorated({
    ...hmac,
    sign: { algorithm: 'HS256', header: { alg: 'HS256', typ: 'reset+jwt' } },
  })
  t.match(other.verify(other.sign({ sub: 'a' })), { header: { alg: 'HS256', typ: 'reset+jwt' } })
  const bare = decorated({ ...hmac, sign: { algorithm: 'HS256', noTimestamp: true } })
  t.strictSame(payloadOf(dated.sign({ sub: 'a', iat: 5 })), { sub: 'a', iat: 5 })
  t.strictSame(payloadOf(bare.sign({ sub: 'a', iat: 5 })), { sub: 'a' })
  t.strictSame(payloadOf(bare.sign({ sub: 'a', exp: 1, nbf: 1 })), { sub: 'a', exp: 1, nbf: 1 })
})

t.test('@fastify/jwt takes pairs as PEM text, and a public key alone to verify', async (t) => {
  const pair = {
    private: privatePem(keys.p256.privateKey),
    public: publicPem(keys.p256.publicKey),
  }
  const of = (secret: object): Decorator =>
    decorated({
      ...hmac,
      secret,
      sign: { algorithm: 'ES256' },
      verify: { ...strict, algorithms: ['ES256'] },
    })
  const token = of(pair).sign({ sub: 'a' })
  const verifier = of({ private: undefined, public: pair.public })
  t.match(verifier.verify(token), { header: { alg: 'ES256' }, payload: { sub: 'a' } })
  t.throws(() => verifier.sign({ sub: 'a' }), { message: /verify mode/ })
})

t.test(
  '@fastify/jwt refuses by throwing, with a code, what is not signed by the key',
  async (t) => {
    const { verify } = decorated(hmac)
    const good = hmacToken({ alg: 'HS256' }, { sub: 'a' }, secret)
    const bad = [
      `${good}A`,
      'a.b.c',
      'a',
      '',
      hmacToken({ alg: 'HS512' }, { sub: 'a' }, secret),
      `${encode({ alg: 'none' })}.${encode({ sub: 'a' })}.`,
    ]
    for (const token of bad) t.type(thrownBy(() => verify(token)).code, 'string', token)
  },
)
