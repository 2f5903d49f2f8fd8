import bcrypt from 'bcrypt'
import t from 'tap'
import { hashPassword, needsRehash } from '../../lib/passwords/password.js'
import { rejectionOf, thrownBy } from '../helpers/errors.js'
import { watchBcrypt } from '../helpers/load.js'

const stored = bcrypt.hashSync('swordfish', 5)

t.test('hashPassword() returns a hash of the wanted cost that the password matches', async (t) => {
  for (const password of ['x', 'пароль 🔑', 'x'.repeat(72), 'é'.repeat(36)]) {
    const made = await hashPassword(password, { cost: 4 })
    t.equal(bcrypt.getRounds(made), 4)
    t.equal(bcrypt.compareSync(password, made), true)
    t.not(await hashPassword(password, { cost: 4 }), made, 'another one at every call')
  }
  t.equal(bcrypt.getRounds(await hashPassword('swordfish', {})), 10)
})

const badCosts: unknown[] = [3, 32, 4.5, Number.NaN, '10', null, true, 10n]

t.test('hashPassword() rejects wrong passwords and costs before any work', async (t) => {
  const watch = watchBcrypt(t)
  const passwords = [undefined, null, 12_345, ['swordfish'], Buffer.from('swordfish'), '']
  for (const password of [...passwords, 'x'.repeat(73), 'é'.repeat(37)]) {
    const { code, message } = await rejectionOf(hashPassword(password as string, { cost: 4 }))
    t.equal(code, 'ERR_AUTH_OPTION')
    t.match(message, '72 bytes')
  }
  for (const cost of badCosts) {
    const { code, message } = await rejectionOf(hashPassword('swordfish', { cost: cost as number }))
    t.equal(code, 'ERR_AUTH_OPTION')
    t.match(message, '"cost"')
    t.equal(thrownBy(() => needsRehash(stored, { cost: cost as number })).code, 'ERR_AUTH_OPTION')
  }
  t.equal(watch.runs.length, 0)
})

t.test('needsRehash() is true for hashes of lower costs and for no hashes', async (t) => {
  t.equal(needsRehash(stored, { cost: 6 }), true, 'a lower cost')
  t.equal(needsRehash(stored, { cost: 5 }), false, 'the same')
  t.equal(needsRehash(stored), true, 'the default is 10')
  t.equal(needsRehash(stored.replace('$2b$', '$2y$'), { cost: 5 }), false, 'of PHP')
  for (const value of ['', 'plain text', '$argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHQ$aGFzaA', null])
    t.equal(needsRehash(value, { cost: 4 }), true, 'no bcrypt hash')
})
