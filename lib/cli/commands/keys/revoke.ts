import { envFileOption, environmentOf } from '../../environment.js'
import { thisMachine } from '../../ring/files.js'
import { ringFile, ringOption } from '../../ring/options.js'
import { outcomeOf } from '../../ring/report.js'
import { revokeKey } from '../../ring/ring-file.js'
import type { Command } from '../../command.js'

/** Takes a key out of a ring. */
export const revoke: Command = {
  summary: 'take a key out of a ring at once: somebody else has it',
  details: [
    'All its tokens are refused as soon as the processes have the new file. If it was the key',
    'that signs, the next one takes over, and a new next one is made.',
  ],
  argument: {
    name: 'kid',
    text: 'the name of the key, as keys list shows it',
    required: true,
    // A thumbprint of RFC 7638, which may begin with "-".
    dashed: /^-[\w-]{42}$/,
  },
  options: { ring: ringOption, env: envFileOption },
  examples: [
    'npx fastify-authn keys list --ring keys/ring.json',
    'npx fastify-authn keys revoke 2027-01 --ring keys/ring.json',
  ],
  exits: ['done', 'the ring has no such key, or could not be changed'],
  async run(given, io) {
    const env = await environmentOf(given, io)
    const file = ringFile(given, env)
    const changed = await revokeKey(thisMachine, file, given.argument as string, env)
    return outcomeOf(file, changed, [
      ...(changed.isUnknown === true ? noNextKey : []),
      'Put the file on every machine now, and reload: until then its tokens are accepted there.',
      ...signerGone,
    ])
  },
}

const signerGone = [
  'Whoever has a token of that key has to log in again. Consumers that have the keys of before',
  'in a cache go on accepting its tokens until they fetch the keys again.',
]

const noNextKey = [
  'There was no next key, so the key that signs is one that nobody knows yet: processes and',
  'consumers refuse its tokens until they have it. Reload all processes at the same time.',
]
