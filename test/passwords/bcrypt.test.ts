import bcryptPackage from 'bcrypt'
import t from 'tap'
import { bcrypt, dummyHash } from '../../lib/passwords/kinds/bcrypt.js'

t.test(
  'bcrypt runs in full for the dummy hash of each cost, since it accepts its salt',
  async (t) => {
    for (let cost = 4; cost <= 31; cost += 1) {
      t.match(bcrypt.parse(dummyHash(cost)), { name: 'bcrypt', strength: { cost } })
    }
    const salt = dummyHash(4).slice(0, 29)
    // The last character of a salt has two bits that count.
    t.equal(bcryptPackage.hashSync('any', salt).slice(0, 28), salt.slice(0, 28))
  },
)
