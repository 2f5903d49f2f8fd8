// What lib/tokens/engine.ts expects of @fastify/jwt, and no other test would notice after an update of it.
import { createRequire } from 'node:module'
import t from 'tap'
import { hmacSecret } from '../helpers/keys.js'

const require = createRequire(import.meta.url)
type Plugin = (instance: object, options: object, next: (error?: Error) => void) => void
interface Decorator {
  sign: (claims: object) => string
  verify: (token: string) => object
}

t.test('we rely on @fastify/jwt making one signer and verifier for all tokens', async (t) => {
  const { resolve, cache } = require
  require('@fastify/jwt')
  const loaded = require.cache[resolve('fast-jwt', { paths: [resolve('@fastify/jwt')] })]
  if (loaded === undefined) throw new Error('@fastify/jwt no longer depends on fast-jwt')
  const { exports: real } = loaded as { exports: Record<string, (options: object) => unknown> }
  const made: string[] = []
  const count = (name: string) => (options: object) => {
    made.push(name)
    return real[name]?.(options)
  }
  loaded.exports = {
    ...real,
    createSigner: count('createSigner'),
    createVerifier: count('createVerifier'),
  }
  delete cache[resolve('@fastify/jwt')]
  t.teardown(() => (loaded.exports = real))
  const plugin = require('@fastify/jwt') as Plugin
  const decorated: Partial<Record<string, Decorator>> = {}
  const instance = {
    decorate: (name: string, value: Decorator) => (decorated[name] = value),
    decorateRequest: () => undefined,
    decorateReply: () => undefined,
  }
  const verify = { algorithms: ['HS256'], cache: false, complete: true }
  const secret = Buffer.from(hmacSecret)
  plugin(instance, { secret, sign: { algorithm: 'HS256' }, verify }, (error) => t.error(error))
  const { jwt } = decorated
  for (let each = 0; each < 5; each += 1) jwt?.verify(jwt.sign({ sub: 'a' }))
  t.strictSame(made.toSorted(), ['createSigner', 'createVerifier'])
})
