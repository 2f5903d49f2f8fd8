import bcrypt from 'bcrypt'
import * as fc from 'fast-check'
import t from 'tap'
import {
  compare,
  defaultConcurrency,
  dummyHash,
  hash,
  longestPassword,
} from '../../lib/passwords/bcrypt.js'
import { costOf, isBcryptHash } from '../../lib/common/hash-format.js'
import { pretendMachine, watchBcrypt } from '../helpers/load.js'

const stored = bcrypt.hashSync('swordfish', 4)

t.test('dummy hashes are hashes of the wanted cost, one a name', async (t) => {
  let names = 0
  const property = fc.property(
    fc.integer({ min: 4, max: 31 }),
    fc.string(),
    fc.string(),
    (cost, seed, other) => {
      names += 1
      const dummy = dummyHash(cost, seed)
      return (
        isBcryptHash(dummy) &&
        costOf(dummy) === cost &&
        bcrypt.getRounds(dummy) === cost &&
        dummyHash(cost, seed) === dummy &&
        (seed === other) === (dummyHash(cost, other) === dummy)
      )
    },
  )
  t.doesNotThrow(() => fc.assert(property))
  t.ok(names >= 100)
})

t.test('bcrypt takes the salt of a dummy hash, so that it runs in full', async (t) => {
  for (const seed of ['alice', 'nobody', '', 'ключ', '1', '2', '3']) {
    const salt = dummyHash(4, seed).slice(0, 29)
    const made = bcrypt.hashSync('any', salt)
    t.ok(isBcryptHash(made), 'bcrypt hashes under it')
    // The last character of a salt has two bits that count.
    t.equal(made.slice(0, 28), salt.slice(0, 28))
    t.equal(await compare('any', dummyHash(4, seed)), false)
  }
})

t.test('compare knows every variant of a hash', async (t) => {
  for (const variant of ['$2a$', '$2b$', '$2y$']) {
    const variantHash = stored.replace('$2b$', variant)
    t.equal(await compare('swordfish', variantHash), true, variant)
    t.equal(await compare('Swordfish', variantHash), false, variant)
  }
})

t.test('compare and hash are one run of the package each', async (t) => {
  const watch = watchBcrypt(t)
  const fresh = await hash('pässword', 5)
  t.equal(costOf(fresh), 5)
  t.equal(await compare('pässword', fresh), true)
  t.strictSame(
    watch.runs.map(({ kind, password, against }) => [kind, password, against]),
    [
      ['hash', 'pässword', 5],
      ['compare', 'pässword', fresh],
    ],
  )
})

t.test('what bcrypt ignores begins after the longest password', async (t) => {
  const long = 'x'.repeat(longestPassword)
  const made = bcrypt.hashSync(long, 4)
  t.equal(await compare(`${long}y`, made), true)
  t.equal(await compare(long.slice(1), made), false)
})

t.test('as many at once as there are cores, less than the pool has threads', async (t) => {
  const rows: [cores: number, pool: string | undefined, expected: number][] = [
    [1, undefined, 1],
    [2, undefined, 2],
    [3, undefined, 3],
    [64, undefined, 3],
    [64, '4', 3],
    [64, '16', 15],
    [8, '16', 8],
    [8, '9', 8],
    [8, '8', 7],
    [8, '2', 1],
    [8, '1', 1],
    [8, '-5', 1],
  ]
  for (const [cores, pool, expected] of rows) {
    await t.test(`${cores} cores, UV_THREADPOOL_SIZE=${pool ?? '(not set)'}`, async (t) => {
      pretendMachine(t, cores, pool)
      t.equal(defaultConcurrency(), expected)
    })
  }
})

t.test('a pool size that is no number is one thread, as libuv reads it', async (t) => {
  for (const pool of ['', '0', 'many']) {
    await t.test(pool, async (t) => {
      pretendMachine(t, 8, pool)
      t.equal(defaultConcurrency(), 1)
    })
  }
})
