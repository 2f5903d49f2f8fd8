import { envFileOption, environmentOf } from '../../environment.js'
import { thisMachine } from '../../ring/files.js'
import { readRing } from '../../ring/change.js'
import { keysAsFar } from '../../ring/keys-of.js'
import { ringFile, ringOption } from '../../ring/options.js'
import { shownKey, tableOf } from '../../ring/report.js'
import { exits, type Command } from '../../command.js'

/** Shows the keys of a ring, and nothing that is secret of them. */
export const list: Command = {
  summary: 'show what keys are in a ring, and nothing secret of them',
  options: { ring: ringOption, env: envFileOption },
  examples: ['npx fastify-authn keys list --ring keys/ring.json'],
  exits: ['done', 'the ring cannot be read, or would stop the boot'],
  async run(given, io) {
    const env = await environmentOf(given, io)
    const file = ringFile(given, env)
    const ring = await readRing(thisMachine, file)
    const { keys, problem } = await keysAsFar(ring, env)
    return {
      exit: problem === null ? exits.done : exits.no,
      lines: tableOf(keys, thisMachine.now()),
      json: { ring: file, keys: keys.map(shownKey), ...(problem !== null && { problem }) },
      aside: problem === null ? [] : [`Not checked: ${problem}`],
    }
  },
}
