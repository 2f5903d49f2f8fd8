import path from 'node:path'
import { misuse, type Command, type Given } from '../../command.js'
import { envFileOption, environmentOf, toMethod } from '../../environment.js'
import { bitsOption, toBits } from '../../key-pairs.js'
import { openFolder } from '../../new-files.js'
import { quoted, shellWord } from '../../text.js'
import { thisMachine } from '../../ring/files.js'
import { ringFile, ringOption } from '../../ring/options.js'
import { shownKey, tableOf } from '../../ring/report.js'
import { createRing } from '../../ring/ring-file.js'

/** Makes a ring file. */
export const init: Command = {
  summary: 'make a ring file, with a key that signs and the next one',
  details: ['The file is readable by you alone. A file that is there is never written over.'],
  argument: {
    name: 'alg',
    text: 'ES256, ES384, ES512, EdDSA, and in the same way RS…, PS…, HS…',
    required: true,
  },
  options: {
    ring: ringOption,
    bits: bitsOption,
    'passphrase-env': {
      value: 'name',
      text: 'encrypt the keys, with the passphrase in this variable',
    },
    env: envFileOption,
  },
  examples: ['npx fastify-authn keys init ES256 --ring keys/ring.json'],
  exits: ['done', 'the file is there already, or cannot be written'],
  async run(given, io) {
    const alg = toMethod(given.argument as string)
    const env = await environmentOf(given, io)
    const file = ringFile(given, env)
    const wanted = { alg, bits: toBits(given, alg), passphraseEnv: variableOption(given) }
    const keys = await createRing(thisMachine, file, wanted, env)
    return {
      lines: tableOf(keys, thisMachine.now()),
      json: { ring: file, keys: keys.map(shownKey) },
      aside: [
        `Name the file in the app: jwt: { keys: ${quoted(file)}, reloadEvery: 60 }`,
        `Then rotate now and then: npx fastify-authn keys rotate --ring ${shellWord(file)}`,
        ...(wanted.passphraseEnv === undefined
          ? []
          : [`The app needs the passphrase in ${wanted.passphraseEnv}.`]),
        ...(await openFolder(path.dirname(file), '--ring')),
      ],
    }
  },
}

function variableOption(given: Given): string | undefined {
  const name = given.text('passphrase-env')
  if (name === undefined || /^[A-Za-z_]\w*$/.test(name)) return name
  return misuse(
    'option --passphrase-env: expected the name of an environment variable, such as RING_PASSPHRASE.',
    'It is not the passphrase itself, which other users and the shell history would see.',
  )
}
