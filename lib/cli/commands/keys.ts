import { generateKeyPair, type KeyObject } from 'node:crypto'
import path from 'node:path'
import { promisify } from 'node:util'
import { algorithmOf, signingMethods } from '../../common/algorithms.js'
import { fail, misuse, type Command, type Given, type Io } from '../command.js'
import { toMethod } from '../environment.js'
import { bareText, readSecret, readText } from '../input.js'
import { openFolder, writeNewFiles } from '../new-files.js'
import { word } from '../text.js'
import type { PairFamily } from '../../jwt/keys/ring.js'
import type { SigningMethod } from '../../../types/jwt.js'

const methods = signingMethods.filter((method) => algorithmOf(method).family !== 'secret')
const generate = promisify(generateKeyPair)
const defaultBits = 3072
/** The longest passphrase that OpenSSL accepts, in bytes. */
const longestPassphrase = 1024

/** Writes a key pair into two PEM files. */
export const keys: Command = {
  summary: 'make a key pair, as two PEM files',
  details: [
    'The private file is readable by you alone. Files that are there are never written over.',
  ],
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
    bits: { value: 'n', text: `size of an RSA key, 2048 to 8192; default ${defaultBits}` },
  },
  examples: [
    'npx fastify-authn keys ES256 --out keys',
    'npx fastify-authn keys RS256 --out keys --encrypt',
  ],
  exits: ['done', 'a file is there already, or cannot be written'],
  async run(given, io) {
    const method = toPairMethod(given.argument as string)
    const bits = toBits(given, method)
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

function toBits(given: Given, method: SigningMethod): number {
  const text = given.text('bits')
  if (text === undefined) return defaultBits
  if (algorithmOf(method).family !== 'rsa') misuse(`option --bits is for RSA, not for ${method}.`)
  const bits = Number(text)
  if (/^\d{4}$/.test(text) && bits >= 2048 && bits <= 8192) return bits
  return misuse('option --bits: expected a whole number from 2048 to 8192.')
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
  const bytes = Buffer.byteLength(passphrase)
  if (bytes === 0) fail('the passphrase is empty.')
  if (bytes > longestPassphrase) {
    fail(`the passphrase has ${bytes} bytes, expected ${longestPassphrase} at most.`)
  }
  if (passphrase.includes('\0')) {
    fail('the passphrase holds a NUL character, which no environment variable can hold.')
  }
  return passphrase
}

interface Pair {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

const makers: Readonly<Record<PairFamily, (method: SigningMethod, bits: number) => Promise<Pair>>> =
  {
    rsa: (_, bits) => generate('rsa', { modulusLength: bits }),
    ecdsa: (method) => generate('ec', { namedCurve: algorithmOf(method).curve as string }),
    eddsa: () => generate('ed25519'),
  }

function makePair(method: SigningMethod, bits: number): Promise<Pair> {
  return makers[algorithmOf(method).family as PairFamily](method, bits)
}

function privatePem(key: KeyObject, passphrase: string | undefined): string {
  const encryption = passphrase === undefined ? {} : { cipher: 'aes-256-cbc', passphrase }
  return key.export({ type: 'pkcs8', format: 'pem', ...encryption }).toString()
}

function publicPem(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }).toString()
}
