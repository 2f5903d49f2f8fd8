import { stat } from 'node:fs/promises'
import { keyFilePaths } from '../../jwt/key-files.js'
import { variables } from '../environment.js'
import { nearest, quoted, shellWord } from '../text.js'
import { spanInWords } from '../times.js'
import { bootWith, isSet } from './boot.js'
import { note, warning, type Finding } from './finding.js'
import type { Environment } from '../../config.js'

/** What is looked at. */
export interface Setting {
  readonly env: Environment
  /** The env file, if there is one, and what stands in it. */
  readonly file: { readonly path: string; readonly env: Environment } | null
}

type Doubt = (setting: Setting) => readonly Finding[] | Promise<readonly Finding[]>

const pairs = ['AUTH_JWT_RSA', 'AUTH_JWT_ECDSA', 'AUTH_JWT_EDDSA']
const secrets = variables.filter((name) => /(?:SECRET|PASSPHRASE|PASSWORD)$/.test(name))

/** What a boot lets pass, and is nevertheless hardly meant. */
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
]

export async function doubtsOf(setting: Setting): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const doubt of doubts) findings.push(...(await doubt(setting)))
  return findings
}

function nothingSet({ env }: Setting): Finding[] {
  if (variables.some((name) => isSet(env, name))) return []
  return [
    warning(
      null,
      'none of the variables that configFromEnv() reads is set.',
      'Name the file that sets them (--env .env), or begin with: npx fastify-authn secret',
    ),
  ]
}

function unknownVariables({ env }: Setting): Finding[] {
  return Object.keys(env)
    .filter((name) => isSet(env, name) && !variables.includes(name))
    .flatMap((name) => unknownVariable(env, name))
}

function unknownVariable(env: Environment, name: string): Finding[] {
  // JWT_SECRET and the like are somebody else's, unless ours is missing.
  const whole = `AUTH_${name}`
  if (variables.includes(whole)) {
    return isSet(env, whole)
      ? []
      : [warning(name, `is not read, and ${whole} is not set.`, `Is ${whole} meant?`)]
  }
  // Some editors begin a file with a byte order mark, which is then part of the first name.
  if (!/^\ufeff?auth_/i.test(name)) return []
  const near = nearest(name, variables)
  if (near !== undefined) return [warning(name, 'is not read.', `Is ${near} meant?`)]
  return [note(name, 'is not read by fastify-authn.', 'Nothing, if it is for something else.')]
}

function poorSecret({ env }: Setting): Finding[] {
  const { AUTH_JWT_SECRET: secret = '' } = env
  const remedy = 'Make one with: npx fastify-authn secret'
  // What is too short is an error already.
  if (Buffer.byteLength(secret) < 32) return []
  if (new Set(secret).size < 10 || /secret|password|example|change/i.test(secret)) {
    return [warning('AUTH_JWT_SECRET', 'looks made up, not random.', remedy)]
  }
  if (/^[\da-f]{32,63}$/i.test(secret)) {
    return [
      warning(
        'AUTH_JWT_SECRET',
        `is hexadecimal: ${secret.length} digits hold ${secret.length * 4} random bits at most, expected 256.`,
        remedy,
      ),
    ]
  }
  return []
}

function quotedValues({ env }: Setting): Finding[] {
  return variables
    .filter((name) => {
      const { [name]: value = '' } = env
      // What stands around PEM text does not matter.
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

/** Permissions for others, and for the group to write. Windows has other ones, and nothing here. */
const open = new Map<string, number>([['win32', 0]]).get(process.platform) ?? 0o027

async function openFiles({ env, file }: Setting): Promise<Finding[]> {
  const files: { path: string; variable: string | null }[] = pairs
    .map((pair) => `${pair}_PRIVATE`)
    .flatMap((variable) => pathsOf(env, variable).map((path) => ({ path, variable })))
  if (file !== null && holdsSecret(file.env)) {
    files.push({ path: file.path, variable: null })
  }
  const found = await Promise.all(files.map(({ path, variable }) => openFile(path, variable)))
  return found.flat()
}

/** The path of the key file that a variable names, if it does not hold the key itself. */
function pathsOf(env: Environment, variable: string): string[] {
  return keyFilePaths({ rsa: { private: env[variable] || undefined } })
}

function holdsSecret(env: Environment): boolean {
  const isKey = (name: string): boolean => isSet(env, name) && pathsOf(env, name).length === 0
  return secrets.some((name) => isSet(env, name)) || pairs.some((pair) => isKey(`${pair}_PRIVATE`))
}

async function openFile(path: string, variable: string | null): Promise<Finding[]> {
  // What cannot be read is an error already.
  const mode = (await stat(path).catch(() => null))?.mode ?? 0
  if ((mode & open) === 0) return []
  const permissions = (mode & 0o777).toString(8).padStart(3, '0')
  return [
    warning(
      variable,
      `others on this machine may read or change the file ${quoted(path)} (mode ${permissions}).`,
      `chmod 600 ${shellWord(path)}`,
    ),
  ]
}

async function uselessPassphrase({ env }: Setting): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const pair of pairs) {
    const [key, passphrase] = [`${pair}_PRIVATE`, `${pair}_PASSPHRASE`] as const
    if (!isSet(env, key) || !isSet(env, passphrase)) continue
    const opensWithout = await bootWith({ [key]: env[key] }).then(
      () => true,
      () => false,
    )
    if (opensWithout) {
      const remedy = 'Encrypt the key (npx fastify-authn keys … --encrypt), or take this away.'
      findings.push(warning(passphrase, `is set, but the key of ${key} is not encrypted.`, remedy))
    }
  }
  return findings
}

function shortPassword({ env }: Setting): Finding[] {
  const { AUTH_BASIC_PASSWORD: password = '' } = env
  if (password === '' || password.length >= 12) return []
  return [
    warning(
      'AUTH_BASIC_PASSWORD',
      'has fewer than 12 characters.',
      'Take a longer one: openssl rand -base64 24',
    ),
  ]
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
