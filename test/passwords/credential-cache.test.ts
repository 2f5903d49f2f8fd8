import bcrypt from 'bcrypt'
import { LRUCache } from 'lru-cache'
import t from 'tap'
import { CredentialCache } from '../../lib/passwords/credential-cache.js'
import { fakeRequest } from '../helpers/load.js'

const stored = bcrypt.hashSync('swordfish', 4)
const cacheOf = (): CredentialCache => new CredentialCache({ max: 10, ttl: 60 })
const yes = async (): Promise<string> => 'swordfish'
const asked = (username: string, password: string, fake = fakeRequest()) => ({
  ...fake,
  username,
  password,
})

t.test('the cache knows credentials by name, password and hash', async (t) => {
  const cache = cacheOf()
  await cache.share(asked('alice', 'swordfish'), stored, yes)
  t.equal(cache.knows('alice', 'swordfish', stored), true)
  const rows = [
    ['alice', 'Swordfish', stored],
    ['Alice', 'swordfish', stored],
    ['alic', 'eswordfish', stored],
    ['alices', 'wordfish', stored],
    ['alice', 'swordfish', stored.replace('$2b$', '$2y$')],
  ] as const
  for (const [name, password, hash] of rows) t.equal(cache.knows(name, password, hash), false, name)
  t.strictSame(cache.stats, { hits: 1, misses: 1, size: 1 })
})

t.test('the cache holds no password or hash, and its keys differ in each process', async (t) => {
  const secret = 'correct horse battery staple'
  const hash = bcrypt.hashSync(secret, 4)
  const keysOf = async (): Promise<string[]> => {
    const kept = [LRUCache, Map].map(({ prototype }) => t.capture(prototype, 'set', prototype.set))
    const cache = cacheOf()
    await cache.share(asked('alice', secret), hash, yes)
    cache.accept('alice@192.0.2.1', secret)
    const texts = kept.flatMap((calls) => calls().flatMap(({ args }) => args)).map(String)
    for (const part of [secret, hash.slice(29)]) {
      for (const encoding of ['utf8', 'base64', 'hex'] as const) {
        const encoded = Buffer.from(part).toString(encoding)
        t.notOk(texts.some((text) => text.includes(encoded)))
      }
    }
    return texts.filter((text) => /^[A-Za-z0-9+/]{43}=$/.test(text))
  }
  const [first, second] = [await keysOf(), await keysOf()]
  t.ok(first.length > 2, 'its keys were looked at')
  for (const key of first) t.notOk(second.includes(key))
})
