import { exits, type Command, type Given, type Io } from '../command.js'
import { bootFindings, isSet } from '../doctor/boot.js'
import { doubtsOf } from '../doctor/doubts.js'
import {
  algOption,
  envFileOption,
  methodOption,
  readEnvFile,
  ringOf,
  variables,
} from '../environment.js'
import { count, quoted } from '../text.js'
import type { Finding, Setting } from '../doctor/finding.js'

/** Checks the configuration in the environment variables. */
export const doctor: Command = {
  summary: 'check the configuration in the environment, as the boot does',
  details: [
    'Errors stop the boot. Warnings do not, but are probably mistakes. Notes only inform.',
    'No value of a variable is printed, but for the paths of files.',
  ],
  options: {
    alg: algOption('what the app has as jwt.signingMethod'),
    env: envFileOption,
    ring: {
      value: 'file',
      text: 'a ring file, what the app has as jwt.keys; default: AUTH_JWT_KEYS',
    },
  },
  examples: ['npx fastify-authn doctor --env .env', 'npx fastify-authn doctor --alg ES256 --json'],
  exits: ['nothing is wrong', 'there are errors or warnings'],
  async run(given, io) {
    const alg = methodOption(given)
    const setting = await settingOf(given, io)
    const findings = [...(await bootFindings(setting.env, alg)), ...(await doubtsOf(setting))]
    const wrong = findings.some(({ level }) => level !== 'note')
    return {
      exit: wrong ? exits.no : exits.done,
      lines: [...readFrom(setting, io), '', ...findings.flatMap(linesOf), summaryOf(findings)],
      json: { findings },
    }
  },
}

async function settingOf(given: Given, { env }: Io): Promise<Setting> {
  const path = given.text('env')
  if (path === undefined) return { env, file: null, ring: ringOf(given, env) ?? null }
  const own = await readEnvFile(path)
  const all = { ...own, ...env }
  return { env: all, file: { path, env: own }, ring: ringOf(given, all) ?? null }
}

/** Lists the variables that are set, and whether in the process or in the env file. */
function readFrom({ env, file }: Setting, io: Io): string[] {
  const found = variables.filter((name) => isSet(env, name))
  const own = found.filter((name) => io.env[name] !== undefined)
  const fromFile = found.filter((name) => !own.includes(name))
  const hidden = own.filter((name) => isSet(file?.env ?? {}, name) && file?.env[name] !== env[name])
  return [
    ...(own.length > 0 ? [`In the environment: ${own.join(', ')}`] : []),
    ...(fromFile.length > 0 ? [`In ${quoted(file?.path)}: ${fromFile.join(', ')}`] : []),
    ...(hidden.length > 0 ? [`In both, where the environment wins: ${hidden.join(', ')}`] : []),
  ]
}

function linesOf({ level, variable, problem, remedy }: Finding): string[] {
  const place = variable === null ? '' : `${variable}: `
  return [`${level.padEnd(7)}  ${place}${problem}`, `         ${remedy}`, '']
}

function summaryOf(findings: readonly Finding[]): string {
  const counts = (['error', 'warning', 'note'] as const)
    .map((level) => [findings.filter((each) => each.level === level).length, level] as const)
    .filter(([number]) => number > 0)
  return counts.length === 0
    ? 'Nothing is wrong.'
    : `${counts.map(([number, level]) => count(number, level)).join(', ')}.`
}
