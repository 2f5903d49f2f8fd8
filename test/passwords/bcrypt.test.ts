import bcrypt from 'bcrypt'
import * as fc from 'fast-check'
import t from 'tap'
import { compare, costOf, dummyHash, isBcryptHash, loadBcrypt } from '../../lib/passwords/bcrypt.js'

t.before(loadBcrypt)

t.test('each name has one dummy hash of the wanted cost', async (t) => {
  const property = fc.property(
    fc.integer({ min: 4, max: 31 }),
    fc.string(),
    fc.string(),
    (cost, name, other) => {
      const dummy = dummyHash(cost, name)
      return (
        isBcryptHash(dummy) &&
        costOf(dummy) === cost &&
        dummyHash(cost, name) === dummy &&
        (name === other) === (dummyHash(cost, other) === dummy)
      )
    },
  )
  t.doesNotThrow(() => fc.assert(property))
})

t.test('bcrypt runs in full for a dummy hash, since it accepts its salt', async (t) => {
  for (const name of ['alice', '', 'ключ', '1']) {
    const salt = dummyHash(4, name).slice(0, 29)
    // The last character of a salt has two bits that count.
    t.equal(bcrypt.hashSync('any', salt).slice(0, 28), salt.slice(0, 28))
    t.equal(await compare('any', dummyHash(4, name)), false)
  }
})
