import { algOption, envFileOption, environmentOf, methodOption } from '../../environment.js'
import { thisMachine } from '../../ring/files.js'
import { ringFile, ringOption, secondsOption } from '../../ring/options.js'
import { outcomeOf } from '../../ring/report.js'
import { rotateRing } from '../../ring/ring-file.js'
import { configFromEnv } from '../../../options/environment.js'
import { defaults } from '../../../options/resolve.js'
import type { Command } from '../../command.js'

const standard = { life: defaults.jwt.expiry, lag: 120, settle: 600 }

/** Lets the next key of a ring sign. */
export const rotate: Command = {
  summary: 'let the next key of a ring sign, and make a new next one',
  details: [
    'The key that signed until now verifies for lag + life + 300 seconds more, so that no token',
    'is refused that was good. Keys that are past their time go out of the ring.',
  ],
  options: {
    ring: ringOption,
    alg: algOption('which key, where several sign; or what to change to'),
    life: {
      value: 'span',
      text: `longest life of a token; default ${standard.life}, or AUTH_JWT_EXPIRY if more`,
    },
    lag: {
      value: 'span',
      text: `until all processes have the file, at least reloadEvery; default ${standard.lag}`,
    },
    settle: {
      value: 'span',
      text: `the least age of the key that signs; default ${standard.settle} seconds`,
    },
    env: envFileOption,
  },
  examples: [
    'npx fastify-authn keys rotate --ring keys/ring.json',
    'npx fastify-authn keys rotate --ring keys/ring.json --life 8h --lag 10m',
  ],
  exits: ['done', 'too early, or the ring could not be changed'],
  async run(given, io) {
    const env = await environmentOf(given, io)
    const file = ringFile(given, env)
    const lag = secondsOption(given, 'lag', standard.lag)
    const settle = secondsOption(given, 'settle', standard.settle)
    const { expiry = 0 } = configFromEnv(env).jwt ?? {}
    const life = secondsOption(given, 'life', Math.max(standard.life, expiry))
    const rotation = { alg: methodOption(given), life, lag, settle }
    const changed = await rotateRing(thisMachine, file, rotation, env)
    return outcomeOf(file, changed, [
      ...(changed.signs === null
        ? ['The ring had no next key: now it has one, and nothing else has changed.']
        : []),
      `Every process has to have the new file within ${lag} seconds (--lag); see jwt.reloadEvery.`,
      ...(settle > 0 ? [`The next rotation is not within ${settle} seconds (--settle).`] : []),
    ])
  },
}
