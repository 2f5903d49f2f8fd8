import { Argument, Option } from 'commander'
import { signingMethods } from '../../common/algorithms.js'
import { configFromEnv } from '../../options/environment.js'
import { defaults } from '../../options/defaults.js'
import { misuse, type Command } from '../command.js'
import { algOption, envOption, keySetOption, spanOption, type KeyOptions } from '../environment.js'
import { bitsOption, makeKey, makeLike, writeNewFiles } from '../key-pairs.js'
import {
  changeKeySet,
  outcomeOf,
  readKeySetFile,
  shownKey,
  tableOf,
  keySetTextOf,
} from '../key-set/file.js'
import { revokeKey, rotateKeySet } from '../key-set/rotation.js'
import { quoted, timeText } from '../text.js'
import type { SigningMethod } from '../../../types/jwt.js'

interface Options extends KeyOptions {
  readonly bits?: number
  readonly passphraseEnv?: string
  readonly life?: number
  readonly lag: number
  readonly settle: number
}

export const init: Command<Options> = {
  name: 'init',
  summary: 'make a key set file with an active key and a next key',
  details: 'Only you can read the file. An existing file is never overwritten.',
  arguments: [new Argument('<alg>', 'signing method').choices(signingMethods)],
  options: [
    keySetOption,
    bitsOption,
    new Option(
      '--passphrase-env <name>',
      'encrypt the keys with the passphrase in this variable',
    ).argParser(toVariable),
    envOption,
  ],
  examples: ['npx fastify-authn keys init ES256 --key-set keys/keys.json'],
  exits: ['done', 'the file exists already, or cannot be written'],
  async run({ keySet, bits, passphraseEnv }, [alg]) {
    const file = fileOf(keySet)
    const wanted = { alg: alg as SigningMethod, bits, passphraseEnv }
    const sign = await makeKey({ ...wanted, state: 'sign' })
    const next = await makeKey({ ...wanted, state: 'next' })
    const since = timeText(Date.now())
    const keys = [{ ...sign, entry: { ...sign.entry, since } }, next]
    await writeNewFiles([{ file, text: keySetTextOf(keys), mode: 0o600 }])
    return {
      lines: tableOf(keys),
      json: { keySet: file, keys: keys.map(shownKey) },
      aside: [
        `Name the file in the app: jwt: { keys: ${quoted(file)} }`,
        `Rotate it regularly: npx fastify-authn keys rotate --key-set ${quoted(file)}`,
        ...(passphraseEnv === undefined
          ? []
          : [`The app needs the passphrase in ${passphraseEnv}.`]),
      ],
    }
  },
}

export const rotate: Command<Options> = {
  name: 'rotate',
  summary: 'make the next key of a key set active, and add a new next key',
  details:
    'The key that was active verifies for another lag + life + 300 seconds, so that no valid token is rejected. Expired keys are removed.',
  options: [
    keySetOption,
    algOption('which key, if several are active; or the method to change to'),
    spanOption(
      '--life <span>',
      `longest life of a token; default ${defaults.jwt.expiry}, or AUTH_JWT_EXPIRY if that is longer`,
    ),
    spanOption(
      '--lag <span>',
      'time until all processes have the file; at least jwt.reloadEvery',
    ).default(120),
    spanOption('--settle <span>', 'minimum age of the active and the next key').default(600),
    envOption,
  ],
  examples: [
    'npx fastify-authn keys rotate --key-set keys/keys.json',
    'npx fastify-authn keys rotate --key-set keys/keys.json --life 8h --lag 10m',
  ],
  exits: ['done', 'too early, or the key set could not be changed'],
  async run({ keySet, alg, lag, settle, life }) {
    const file = fileOf(keySet)
    const longest = Math.max(defaults.jwt.expiry, configFromEnv().jwt?.expiry ?? 0)
    const rotation = { alg, lag, settle, life: life ?? longest }
    const changed = await changeKeySet(file, (keys) => rotateKeySet(keys, rotation, makeLike))
    return outcomeOf(file, changed, [
      `Every process must have the new file within ${lag} seconds (--lag); see jwt.reloadEvery.`,
    ])
  },
}

export const revoke: Command<Options> = {
  name: 'revoke',
  summary: 'remove a leaked key from a key set at once',
  details:
    'All its tokens are rejected as soon as the processes have the new file. If it was the active key, the next key takes over, and a new next key is made.',
  arguments: [
    new Argument(
      '<kid>',
      'the name of the key, as keys list shows it; after -- if it begins with -',
    ),
  ],
  options: [keySetOption, envOption],
  examples: [
    'npx fastify-authn keys list --key-set keys/keys.json',
    'npx fastify-authn keys revoke 2027-01 --key-set keys/keys.json',
  ],
  exits: ['done', 'there is no such key, or the key set could not be changed'],
  async run({ keySet }, [kid]) {
    const file = fileOf(keySet)
    const changed = await changeKeySet(file, (keys) => revokeKey(keys, String(kid), makeLike))
    return outcomeOf(file, changed, [
      'Put the file on every machine now, and reload: until then its tokens are accepted there.',
      'Users with such a token must log in again. Services that fetch the published keys accept its tokens until they fetch them again.',
    ])
  },
}

export const list: Command<Options> = {
  name: 'list',
  summary: 'show the keys of a key set, without their secrets',
  options: [keySetOption, envOption],
  examples: ['npx fastify-authn keys list --key-set keys/keys.json'],
  exits: ['done', 'the key set cannot be read, or is not valid'],
  async run({ keySet }) {
    const file = fileOf(keySet)
    const keys = await readKeySetFile(file)
    return { lines: tableOf(keys), json: { keySet: file, keys: keys.map(shownKey) } }
  },
}

function fileOf(keySet: string | undefined): string {
  const file = keySet ?? process.env.AUTH_JWT_KEYS
  return (
    file || misuse('--key-set is missing, and AUTH_JWT_KEYS is not set. Name the key set file.')
  )
}

function toVariable(name: string): string {
  if (/^[A-Za-z_]\w*$/.test(name)) return name
  return misuse(
    'option --passphrase-env: expected the name of an environment variable, such as KEYS_PASSPHRASE.',
    'It is not the passphrase itself, which other users and the shell history would see.',
  )
}
