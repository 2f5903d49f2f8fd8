import bcrypt from 'bcrypt'
import t from 'tap'
import { isBcryptHash } from '../../lib/passwords/bcrypt.js'

const stored = bcrypt.hashSync('swordfish', 4)

t.test('only complete bcrypt hashes are recognized', async (t) => {
  const { length } = stored
  const rest = stored.slice(7)
  const right = {
    'of this package': stored,
    'of PHP': `$2y$04$${rest}`,
    'of old': `$2a$31$${rest}`,
    'of cost 10': `$2b$10$${rest}`,
  }
  for (const [name, value] of Object.entries(right)) t.equal(isBcryptHash(value), true, name)
  const wrong: Record<string, unknown> = {
    nothing: undefined,
    null: null,
    'a number': 4,
    'an object': { toString: () => stored },
    'an array of one': [stored],
    'an empty text': '',
    'cut short': stored.slice(0, length - 1),
    'too long': `${stored}a`,
    'a line break after it': `${stored}\n`,
    'a space before it': ` ${stored}`,
    'another variant': `$2x$04$${rest}`,
    'without variant': `$2$04$${rest}`,
    'cost 3': `$2b$03$${rest}`,
    'cost 32': `$2b$32$${rest}`,
    'cost of one digit': `$2b$4$${rest}a`,
    'a letter of other base64': `$2b$04$${rest.slice(0, 52)}+`,
    'a letter beyond ASCII': `$2b$04$${rest.slice(0, 52)}é`,
  }
  for (const [name, value] of Object.entries(wrong)) t.equal(isBcryptHash(value), false, name)
})
