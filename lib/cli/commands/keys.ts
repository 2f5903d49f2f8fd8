import path from 'node:path'
import { algorithmOf, signingMethods } from '../../common/algorithms.js'
import { misuse, type Command, type Given, type Io } from '../command.js'
import { init } from './keys/init.js'
import { list } from './keys/list.js'
import { revoke } from './keys/revoke.js'
import { rotate } from './keys/rotate.js'
import { toMethod } from '../environment.js'
import { bareText, readSecret, readText } from '../input.js'
import {
  bitsOption,
  checkPassphrase,
  defaultBits,
  makePair,
  privatePem,
  publicPem,
  toBits,
} from '../key-pairs.js'
import { openFolder, writeNewFiles } from '../new-files.js'
import { word } from '../text.js'
import type { SigningMethod } from '../../../types/jwt.js'

const methods = signingMethods.filter((method) => algorithmOf(method).family !== 'secret')

/** Writes a key pair into two PEM files. */
export const keys: Command = {
  summary: 'make a key pair, as two PEM files; or look after a ring of keys',
  details: [
    'The private file is readable by you alone. Files that are there are never written over.',
    'The commands below make and change a ring file, for keys that rotate: option jwt.keys.',
  ],
  subcommands: { init, rotate, revoke, list },
  argument: { name: 'alg', text: methods.join(', '), required: true },
  options: {
    out: { value: 'folder', text: 'where to write the files; default: the current folder' },
    encrypt: {
      text: 'encrypt the private key: asks for a passphrase, or reads it',
    },
    'passphrase-file': {
      value: 'file',
      text: 'encrypt it with the passphrase in this file',
    },
    bits: bitsOption,
  },
  examples: [
    'npx fastify-authn keys ES256 --out keys',
    'npx fastify-authn keys RS256 --out keys --encrypt',
  ],
  exits: ['done', 'a file is there already, or cannot be written'],
  async run(given, io) {
    const method = toPairMethod(given.argument as string)
    const bits = toBits(given, method) ?? defaultBits
    const passphrase = await readPassphrase(given, io)
    const folder = given.text('out') ?? '.'
    const pair = await makePair(method, bits)
    const name = path.join(folder, method.toLowerCase())
    const files = { private: `${name}-private.pem`, public: `${name}-public.pem` }
    await writeNewFiles([
      { file: files.private, text: privatePem(pair.privateKey, passphrase), mode: 0o600 },
      { file: files.public, text: publicPem(pair.publicKey), mode: 0o644 },
    ])
    const outcome = outcomeOf(method, files, passphrase !== undefined)
    return { ...outcome, aside: [...outcome.aside, ...(await openFolder(folder))] }
  },
}

function outcomeOf(
  method: SigningMethod,
  files: Readonly<Record<'private' | 'public', string>>,
  encrypted: boolean,
) {
  const prefix = `AUTH_JWT_${algorithmOf(method).family.toUpperCase()}`
  const env = { [`${prefix}_PRIVATE`]: files.private, [`${prefix}_PUBLIC`]: files.public }
  return {
    lines: Object.entries(env).map(([variable, file]) => `${variable}=${word(file)}`),
    json: { alg: method, files, encrypted, env },
    aside: [
      `Set the method in the app: jwt: { ...configFromEnv().jwt, signingMethod: '${method}' }`,
      ...(encrypted ? [`and needs the passphrase in ${prefix}_PASSPHRASE.`] : []),
    ],
  }
}

function toPairMethod(name: string): SigningMethod {
  if (signingMethods.includes(name as SigningMethod) && !methods.includes(name as SigningMethod)) {
    misuse(`${name} takes a secret, not a pair.`, `Try: npx fastify-authn secret --alg ${name}`)
  }
  return toMethod(name, methods)
}

async function readPassphrase(given: Given, io: Io): Promise<string | undefined> {
  const file = given.text('passphrase-file')
  if (file !== undefined && given.flag('encrypt')) {
    misuse('--encrypt and --passphrase-file are two ways to the same: choose one.')
  }
  if (file === undefined && !given.flag('encrypt')) return undefined
  const passphrase =
    file === undefined
      ? await readSecret(io, 'Passphrase')
      : bareText(await readText(file, 'passphrase file'))
  return checkPassphrase(passphrase)
}
