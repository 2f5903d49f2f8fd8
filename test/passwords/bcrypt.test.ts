import bcryptPackage from 'bcrypt'
import t from 'tap'
import { bcrypt } from '../../lib/passwords/kinds/bcrypt.js'
import { noStrength } from '../../lib/passwords/kinds/hash-kind.js'

t.test('bcrypt runs in full for the dummy hash of each cost', async (t) => {
  const compared: string[] = []
  const compare = async (_: string, hash: string): Promise<boolean> => compared.push(hash) < 0
  const { restore } = t.capture(bcryptPackage, 'compare', compare)
  for (let cost = 4; cost <= 31; cost += 1) {
    await bcrypt.spend('any', { ...noStrength, cost }, () => undefined)
    t.match(bcrypt.parse(String(compared.at(-1))), { name: 'bcrypt', strength: { cost } })
  }
  restore()
  const salt = String(compared[0]).slice(0, 29)
  // The last character of a salt has two bits that count.
  t.equal(bcryptPackage.hashSync('any', salt).slice(0, 28), salt.slice(0, 28))
})
