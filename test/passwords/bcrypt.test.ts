import bcrypt from 'bcrypt'
import * as fc from 'fast-check'
import t from 'tap'
import { compare, costOf, dummyHash, isBcryptHash } from '../../lib/passwords/bcrypt.js'

const stored = bcrypt.hashSync('swordfish', 4)

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

t.test('compare() accepts the variants 2a, 2b and 2y of a hash', async (t) => {
  for (const variant of ['$2a$', '$2b$', '$2y$']) {
    const hash = stored.replace('$2b$', variant)
    t.equal(await compare('swordfish', hash), true, variant)
    t.equal(await compare('Swordfish', hash), false, variant)
    t.equal(costOf(hash), 4, variant)
  }
})
