import bcrypt from 'bcrypt'
import t from 'tap'
import { costOf, isBcryptHash } from '../../lib/common/hash-format.js'
import { hashPassword, needsRehash } from '../../lib/passwords/password.js'
import { rejectionOf, thrownBy } from '../helpers/errors.js'
import { watchBcrypt } from '../helpers/load.js'

const stored = bcrypt.hashSync('swordfish', 5)

t.test('hashPassword: a hash of the wanted cost that the password matches', async (t) => {
  for (const password of ['x', 'swordfish', 'пароль 🔑', 'x'.repeat(72), 'é'.repeat(36)]) {
    const made = await hashPassword(password, { cost: 4 })
    t.ok(isBcryptHash(made))
    t.equal(costOf(made), 4)
    t.equal(bcrypt.compareSync(password, made), true)
    t.equal(bcrypt.compareSync(`${password.slice(0, -1)}.`, made), false)
  }
})

t.test('hashPassword: another hash at every call', async (t) => {
  t.not(await hashPassword('swordfish', { cost: 4 }), await hashPassword('swordfish', { cost: 4 }))
})

t.test('hashPassword: the default cost', async (t) => {
  t.equal(costOf(await hashPassword('swordfish')), 10)
  t.equal(costOf(await hashPassword('swordfish', {})), 10)
})

t.test('hashPassword: bad passwords are refused before any work', async (t) => {
  const watch = watchBcrypt(t)
  const rows: [name: string, password: unknown, found: string][] = [
    ['nothing', undefined, 'undefined'],
    ['null', null, 'object'],
    ['a number', 12_345, 'number'],
    ['an array of one', ['swordfish'], 'object'],
    ['a Buffer', Buffer.from('swordfish'), 'object'],
    ['an object that looks like a text', { toString: () => 'swordfish' }, 'object'],
    ['empty', '', '0 bytes'],
    ['73 letters', 'x'.repeat(73), '73 bytes'],
    ['37 letters of two bytes', 'é'.repeat(37), '74 bytes'],
    ['very long', 'secret'.repeat(100_000), '600000 bytes'],
  ]
  for (const [name, password, found] of rows) {
    const { code, message } = await rejectionOf(hashPassword(password as string, { cost: 4 }))
    t.equal(code, 'ERR_AUTH_OPTION', name)
    t.equal(
      message,
      `fastify-authn: hashPassword: found ${found}, expected a password of 1 to 72 bytes (bcrypt ignores what comes after).`,
      name,
    )
  }
  t.equal(watch.runs.length, 0)
})

const badCosts: unknown[] = [3, 32, 0, -4, 4.5, Number.NaN, Infinity, '10', null, {}, true, 10n]

t.test('hashPassword: bad costs are refused before any work', async (t) => {
  const watch = watchBcrypt(t)
  for (const cost of badCosts) {
    const { code, message } = await rejectionOf(hashPassword('swordfish', { cost: cost as number }))
    t.equal(code, 'ERR_AUTH_OPTION')
    t.equal(
      message,
      `fastify-authn: option "cost": found ${String(cost)}, expected a whole number from 4 to 31.`,
    )
  }
  t.equal(watch.runs.length, 0)
})

t.test('hashPassword: a broken bcrypt rejects, and the next call works', async (t) => {
  const watch = watchBcrypt(t, true)
  const broken = hashPassword('swordfish', { cost: 4 })
  watch.runs[0]?.fail(new Error('no memory'))
  t.match((await rejectionOf(broken)).message, 'no memory')
  watch.hold(false)
  t.equal(costOf(await hashPassword('swordfish', { cost: 4 })), 4)
})

t.test('needsRehash', async (t) => {
  t.equal(needsRehash(stored, 6), true, 'a lower cost')
  t.equal(needsRehash(stored, 5), false, 'the same')
  t.equal(needsRehash(stored, 4), false, 'a higher one')
  t.equal(needsRehash(stored), true, 'the default is 10')
  t.equal(needsRehash(stored.replace('$05$', '$10$')), false)
  t.equal(needsRehash(stored.replace('$2b$', '$2y$'), 5), false, 'of PHP')
  t.equal(needsRehash(stored.replace('$2b$', '$2y$'), 6), true, 'of PHP')
  for (const value of ['', 'plain text', '$argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHQ$aGFzaA']) {
    t.equal(needsRehash(value, 4), true, 'no bcrypt hash')
  }
  t.equal(needsRehash(null as unknown as string, 4), true, 'an account without password')
})

t.test('needsRehash: bad costs', async (t) => {
  for (const cost of badCosts) {
    t.equal(thrownBy(() => needsRehash(stored, cost as number)).code, 'ERR_AUTH_OPTION')
  }
})
