import { Option } from 'commander'
import { kinds, longestFor, parametersOf, profileOf } from '../../passwords/hashing.js'
import { nfcOf } from '../../passwords/nfc.js'
import { hashPassword } from '../../passwords/password.js'
import type { HashParameters } from '../../../types/passwords.js'
import { fail, misuse, type Command, type Io } from '../command.js'
import { numberOption, startupError } from '../environment.js'
import { readSecret } from '../input.js'

const names = kinds.map(({ name }) => name)

export const hash: Command<HashParameters> = {
  name: 'hash',
  summary: 'hash a password with bcrypt, argon2id or scrypt; type it, or pipe it in',
  details: 'One line break at the end of piped input is ignored.',
  options: [
    new Option('--algorithm <name>', `${names.join(', ')}; default bcrypt`).argParser((name) =>
      names.some((each) => each === name)
        ? name
        : misuse(`option --algorithm <name>: expected one of ${names.join(', ')}.`),
    ),
    numberOption(
      '--cost <n>',
      'bcrypt: binary logarithm of the rounds, 4 to 31; scrypt: of N, 10 to 24',
      4,
      31,
    ),
    numberOption('--memory <kib>', 'argon2id: KiB of memory', 1024, 4_194_304),
    numberOption('--passes <n>', 'argon2id: passes over the memory, 1 to 64', 1, 64),
    numberOption('--block-size <n>', 'scrypt: r, 1 to 64', 1, 64),
    numberOption('--parallelism <n>', 'argon2id and scrypt: p, 1 to 16', 1, 16),
  ],
  examples: [
    'npx fastify-authn hash',
    'npx fastify-authn hash --cost 12 < password.txt',
    'npx fastify-authn hash --algorithm argon2id --memory 65536 --passes 3',
  ],
  exits: [
    'done',
    'the password is empty or too long, the two entries differ, or argon2id has no engine',
  ],
  noArguments:
    'a password does not belong on the command line: other users and the shell history see it. Type it when asked, or pipe it in.',
  async run({ algorithm, cost, memory, passes, blockSize, parallelism }, _, io) {
    const given = { algorithm, cost, memory, passes, blockSize, parallelism } as HashParameters
    const { kind, strength } = chosen(given)
    const made = await readAndHash(io, given)
    const numbers = Object.fromEntries(parametersOf(strength))
    return { lines: [made], json: { hash: made, algorithm: kind.name, ...numbers } }
  },
}

/** Reads a password from the terminal or a pipe. @returns its hash @throws CliError where it cannot be hashed */
export async function readAndHash(io: Io, given: HashParameters = {}): Promise<string> {
  const { kind } = chosen(given)
  const password = nfcOf(await readSecret(io, 'Password'))
  const bytes = Buffer.byteLength(password)
  if (bytes === 0) fail('the password is empty.')
  const most = longestFor(kind)
  const why = most === kind.longest ? `: ${kind.name} ignores what comes after` : ''
  if (bytes > most) fail(`the password has ${bytes} bytes, expected ${most} at most${why}.`)
  await kind.load().catch((error: unknown) => fail(startupError(error)))
  return hashPassword(password, given)
}

function chosen(given: HashParameters): ReturnType<typeof profileOf> {
  try {
    return profileOf(given)
  } catch (error) {
    return misuse(startupError(error))
  }
}
