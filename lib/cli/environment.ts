import util from 'node:util'
import { Option } from 'commander'
import { isUsageError } from '../errors/errors.js'
import { algorithmOf, signingMethods } from '../common/algorithms.js'
import { JwtService } from '../tokens/service.js'
import { configFromEnv, type Environment } from '../options/environment.js'
import { CliError, fail, misuse } from './command.js'
import { readText } from './input.js'
import type { SigningMethod, TokenRules } from '../../types/jwt.js'

export const variables: readonly string[] = [
  'AUTH_JWT_SECRET',
  'AUTH_JWT_KEYS',
  'AUTH_JWT_EXPIRY',
  ...['RSA', 'ECDSA', 'EDDSA'].flatMap((family) =>
    ['PRIVATE', 'PUBLIC', 'PASSPHRASE'].map((part) => `AUTH_JWT_${family}_${part}`),
  ),
  'AUTH_BASIC_USERNAME',
  'AUTH_BASIC_PASSWORD',
]

// The name is not --env-file: Node.js looks for that among the arguments of programs too (nodejs/node#54232).
export const envOption = new Option(
  '--env <file>',
  'a file of variables; those that are already set take precedence',
)

export const keySetOption = new Option(
  '--key-set <file>',
  'the key set file; default: AUTH_JWT_KEYS',
)

export interface KeyOptions {
  readonly alg?: SigningMethod | undefined
  readonly keySet?: string | undefined
}

export const algOption = (text: string): Option =>
  new Option('--alg <method>', text).choices(signingMethods)

const sizes = new Map(Object.entries({ '': 1, s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 }))

/** An option that takes seconds, or a span such as `15m`. */
export function spanOption(flags: string, text: string): Option {
  return new Option(flags, text).argParser((value) => {
    const [, digits, unit = ''] = /^(\d{1,10})([smhdw]?)$/.exec(value) ?? []
    const seconds = Number(digits) * Number(sizes.get(unit))
    if (seconds < 2 ** 31) return seconds
    return misuse(`option ${flags}: expected seconds, or a span such as 15m, 8h, 7d.`)
  })
}

export function numberOption(flags: string, text: string, least: number, most: number): Option {
  return new Option(flags, text).argParser((value) => {
    const number = Number(value)
    if (/^(?:0|[1-9]\d*)$/.test(value) && number >= least && number <= most) return number
    return misuse(`option ${flags}: expected a whole number from ${least} to ${most}.`)
  })
}

export function listOption(flags: string, text: string): Option {
  const collect = (value: string, earlier: readonly string[] = []) => [...earlier, value]
  return new Option(flags, text).argParser(collect)
}

/** Completes `process.env` by a file, as `node --env-file` does it. @throws CliError when it cannot be read */
export async function loadEnvironment(file: string): Promise<void> {
  // A named import would fail in Node 20.0 to 20.11, which have no such function.
  const { parseEnv } = util as { parseEnv?: (text: string) => Environment }
  if (parseEnv === undefined) fail('--env needs Node 20.12 or later.')
  for (const [name, value] of Object.entries(parseEnv(await readText(file, 'env file')))) {
    process.env[name] ??= value
  }
}

/** Loads the plugin itself, which is not built into the program: see scripts/build.js. */
export const loadPlugin = () => import('../index.js')

/** A message of the core, in which names of options are replaced by names of variables. */
export function inVariables(message: string): string {
  return message
    .replace(/^fastify-authn: /, '')
    .replaceAll(
      /\b(?:option )?"((?:jwt\.(?:secret|expiry|rsa|ecdsa|eddsa)|basic)(?:\.\w+)?)"/g,
      (_, option: string) => `AUTH_${option.replaceAll('.', '_').toUpperCase()}`,
    )
}

/** Says what is wrong with the configuration. @throws any error that is about something else */
export function startupError(error: unknown): string {
  if (error instanceof CliError) return [error.message, error.remedy].join(' ').trim()
  if (isUsageError(error)) return inVariables(error.message)
  throw error
}

/**
 * A service with the keys of the environment or of a key set file, and the signing method: undefined for a key set
 * unless one was given, since its keys name theirs.
 * @throws CliError when no key is configured, or when several are and no method is given; the errors of startup
 */
export async function openService(given: KeyOptions, rules: TokenRules = {}) {
  const { jwt } = configFromEnv()
  const keySet = given.keySet ?? (jwt?.keys as string | undefined)
  if (keySet !== undefined) {
    const config = { ...rules, keys: keySet, reloadEvery: 0, expiry: jwt?.expiry }
    return { service: await new JwtService(config).load(), method: given.alg, keySet }
  }
  if (jwt === undefined) {
    return fail(
      'no key is configured: neither AUTH_JWT_SECRET nor AUTH_JWT_KEYS is set, and no AUTH_JWT_RSA_*, AUTH_JWT_ECDSA_* or AUTH_JWT_EDDSA_*.',
      'Set one, or name a file that does: --env .env',
    )
  }
  const service = await new JwtService({ ...jwt, ...rules }).load()
  return { service, method: given.alg ?? onlyMethod(service), keySet }
}

/** HS256 where there is a secret, which is the default of an app too; otherwise the method of the only key pair. */
function onlyMethod(service: JwtService): SigningMethod | undefined {
  const [first, ...others] = signingMethods.filter((method) => service.canVerify(method))
  const isPair = first !== undefined && first !== 'HS256'
  if (isPair && others.some((each) => algorithmOf(each).family !== algorithmOf(first).family)) {
    misuse('several key pairs are configured.', 'Choose the signing method: --alg RS256')
  }
  return first
}
