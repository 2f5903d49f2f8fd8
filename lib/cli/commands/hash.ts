import { defaults } from '../../options/defaults.js'
import { longestPassword } from '../../passwords/bcrypt.js'
import { hashPassword } from '../../passwords/password.js'
import { fail, type Command } from '../command.js'
import { numberOption } from '../environment.js'
import { readSecret } from '../input.js'

export const hash: Command<{ cost: number }> = {
  name: 'hash',
  summary: 'hash a password with bcrypt; type it, or pipe it in',
  details: 'One line break at the end of piped input is ignored.',
  options: [
    numberOption('--cost <n>', 'binary logarithm of the rounds, 4 to 31', 4, 31).default(
      defaults.hashing.cost,
    ),
  ],
  examples: ['npx fastify-authn hash', 'npx fastify-authn hash --cost 12 < password.txt'],
  exits: ['done', 'the password is empty or too long, or the two entries differ'],
  noArguments:
    'a password does not belong on the command line: other users and the shell history see it. Type it when asked, or pipe it in.',
  async run({ cost }, _, io) {
    const password = await readSecret(io, 'Password')
    const bytes = Buffer.byteLength(password)
    if (bytes === 0) fail('the password is empty.')
    if (bytes > longestPassword) {
      fail(
        `the password has ${bytes} bytes, expected ${longestPassword} at most: bcrypt ignores what comes after.`,
      )
    }
    const hashed = await hashPassword(password, { cost })
    return { lines: [hashed], json: { hash: hashed, cost } }
  },
}
