import path from 'node:path'
import { Argument, Option } from 'commander'
import { algorithmOf, signingMethods } from '../../common/algorithms.js'
import { fail, misuse, type Command, type Io } from '../command.js'
import { bareText, readSecret, readText } from '../input.js'
import { bitsOption, makePair, privatePem, writeNewFiles } from '../key-pairs.js'
import { init, list, revoke, rotate } from './key-set.js'
import type { SigningMethod } from '../../../types/jwt.js'

const methods = signingMethods.filter((method) => algorithmOf(method).family !== 'secret')

interface Options {
  readonly out: string
  readonly encrypt?: boolean
  readonly passphraseFile?: string
  readonly bits?: number
}

export const keys: Command<Options> = {
  name: 'keys',
  summary: 'make a key pair as two PEM files, or maintain a key set',
  details: `Only you can read the private file. Existing files are never overwritten.
The commands below make and change a key set file: see the option jwt.keys.`,
  subcommands: [init, rotate, revoke, list],
  arguments: [new Argument('<alg>', 'signing method').choices(methods)],
  options: [
    new Option('--out <folder>', 'where to write the files').default('.', 'the current folder'),
    new Option('--encrypt', 'encrypt the private key with a passphrase that is typed or piped in'),
    new Option(
      '--passphrase-file <file>',
      'encrypt the private key with the passphrase in this file',
    ),
    bitsOption,
  ],
  examples: [
    'npx fastify-authn keys ES256 --out keys',
    'npx fastify-authn keys RS256 --out keys --encrypt',
  ],
  exits: ['done', 'a file exists already, or cannot be written'],
  async run(options, [alg], io) {
    const method = alg as SigningMethod
    const passphrase = await readPassphrase(options, io)
    const { privateKey, publicKey } = await makePair(method, options.bits)
    const name = path.join(options.out, method.toLowerCase())
    const files = { private: `${name}-private.pem`, public: `${name}-public.pem` }
    const publicPem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
    await writeNewFiles([
      { file: files.private, text: privatePem(privateKey, passphrase), mode: 0o600 },
      { file: files.public, text: publicPem, mode: 0o644 },
    ])
    const prefix = `AUTH_JWT_${algorithmOf(method).family.toUpperCase()}`
    const env = { [`${prefix}_PRIVATE`]: files.private, [`${prefix}_PUBLIC`]: files.public }
    const encrypted = passphrase !== undefined
    return {
      lines: Object.entries(env).map(([variable, file]) => `${variable}=${envValue(file)}`),
      json: { alg: method, files, encrypted, env },
      aside: [
        `Set the method in the app: jwt: { ...configFromEnv().jwt, signingMethod: '${method}' }`,
        ...(encrypted ? [`and the passphrase in ${prefix}_PASSPHRASE.`] : []),
      ],
    }
  },
}

/** Quotes a value for an env file where it needs it, with quotes that it does not contain. */
function envValue(text: string): string {
  if (/^[\w./:\\@+-]+$/.test(text)) return text
  const quote = [`'`, '"', '`'].find((each) => !text.includes(each)) ?? ''
  return `${quote}${text}${quote}`
}

async function readPassphrase({ encrypt, passphraseFile: file }: Options, io: Io) {
  if (file !== undefined && encrypt) misuse('give one of --encrypt and --passphrase-file.')
  if (file === undefined && !encrypt) return undefined
  const passphrase =
    file === undefined
      ? await readSecret(io, 'Passphrase')
      : bareText(await readText(file, 'passphrase file'))
  return passphrase === '' ? fail('the passphrase is empty.') : passphrase
}
