import { variables } from '../environment.js'
import { storeVariables } from '../session-store.js'
import { nearest } from '../text.js'
import { spanInWords } from '../times.js'
import { isSet } from './boot.js'
import { ringFindings } from './ring.js'
import { openFiles } from './files.js'
import { note, warning, type Doubt, type Finding, type Setting } from './finding.js'
import { poorSecret, shortPassword, uselessPassphrase } from './secrets.js'
import type { Environment } from '../../options/environment.js'

/** Checks for what a boot accepts but is probably a mistake. */
const doubts: readonly Doubt[] = [
  nothingSet,
  unknownVariables,
  poorSecret,
  quotedValues,
  oddExpiry,
  openFiles,
  uselessPassphrase,
  shortPassword,
  nodeEnv,
  ringFindings,
]

export async function doubtsOf(setting: Setting): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const doubt of doubts) findings.push(...(await doubt(setting)))
  return findings
}

function nothingSet({ env, ring }: Setting): Finding[] {
  if (ring !== null || variables.some((name) => isSet(env, name))) return []
  return [
    warning(
      null,
      'none of the variables that configFromEnv() reads is set.',
      'Name the file that sets them (--env .env), or begin with: npx fastify-authn secret',
    ),
  ]
}

const known = [...variables, ...Object.keys(storeVariables)]

function unknownVariables({ env }: Setting): Finding[] {
  return Object.keys(env)
    .filter((name) => isSet(env, name) && !known.includes(name))
    .flatMap((name) => unknownVariable(env, name))
}

function unknownVariable(env: Environment, name: string): Finding[] {
  // A variable such as JWT_SECRET may belong to other software: reported only when AUTH_JWT_SECRET is missing.
  const whole = `AUTH_${name}`
  if (variables.includes(whole)) {
    return isSet(env, whole)
      ? []
      : [warning(name, `is not read, and ${whole} is not set.`, `Is ${whole} meant?`)]
  }
  // Some editors begin a file with a byte order mark, which is then part of the first name.
  if (!/^\ufeff?auth_/i.test(name)) return []
  const near = nearest(name, known)
  if (near !== undefined) return [warning(name, 'is not read.', `Is ${near} meant?`)]
  return [note(name, 'is not read by fastify-authn.', 'Nothing, if it is for something else.')]
}

function quotedValues({ env }: Setting): Finding[] {
  return variables
    .filter((name) => {
      const { [name]: value = '' } = env
      // White space and quotes around PEM text do no harm.
      return /^\s|\s$|^(["'`]).*\1$/s.test(value) && !value.includes('-----END')
    })
    .map((name) =>
      warning(
        name,
        'begins and ends with quotes, or with spaces, which are part of the value.',
        'Take them away: not everything that reads env files does so.',
      ),
    )
}

function oddExpiry({ env }: Setting): Finding[] {
  const { AUTH_JWT_EXPIRY: text = '' } = env
  const seconds = Number(text)
  const remedy = 'A login that holds for minutes is the rule: AUTH_JWT_EXPIRY=900'
  if (seconds > 86_400) {
    const problem = `lets tokens live for ${spanInWords(seconds)}; until then none can be taken back.`
    return [warning('AUTH_JWT_EXPIRY', problem, `The unit is seconds. ${remedy}`)]
  }
  if (seconds > 0 && seconds < 30) {
    return [warning('AUTH_JWT_EXPIRY', `lets tokens live for ${spanInWords(seconds)}.`, remedy)]
  }
  return []
}

const environments = ['production', 'development', 'test', 'staging']

function nodeEnv({ env }: Setting): Finding[] {
  const { NODE_ENV: name = '' } = env
  if (environments.includes(name)) return []
  if (name === '') {
    return [
      note(
        'NODE_ENV',
        'is not set; many packages then assume development.',
        'On a server: NODE_ENV=production',
      ),
    ]
  }
  const near = nearest(name, environments) ?? 'production'
  return [warning('NODE_ENV', 'is no name that packages know.', `Is ${near} meant?`)]
}
