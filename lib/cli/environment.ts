import util from 'node:util'
import { configFromEnv, type Environment } from '../options/environment.js'
import { algorithmOf, signingMethods } from '../common/algorithms.js'
import { pairNames } from '../tokens/keys/parse.js'
import { JwtService } from '../tokens/service.js'
import { defaults } from '../options/resolve.js'
import { checkTokenHeader } from '../options/resolve-jwt.js'
import { fail, misuse, type Given, type Io, type Option } from './command.js'
import { readText } from './input.js'
import { didYouMean } from './text.js'
import type { JwtConfig, SigningMethod, TokenRules } from '../../types/jwt.js'

const families = pairNames.map((name) => name.toUpperCase())

/** The common start of the variables of each key pair, such as `AUTH_JWT_RSA`. */
export const pairVariables = families.map((family) => `AUTH_JWT_${family}`)

/** All variables that configFromEnv() reads. */
export const variables: readonly string[] = [
  'AUTH_JWT_SECRET',
  'AUTH_JWT_KEYS',
  'AUTH_JWT_EXPIRY',
  ...pairVariables.flatMap((pair) =>
    ['PRIVATE', 'PUBLIC', 'PASSPHRASE'].map((half) => `${pair}_${half}`),
  ),
  'AUTH_BASIC_USERNAME',
  'AUTH_BASIC_PASSWORD',
]

/** The option with which a command reads a file of variables. */
export const envFileOption: Option = {
  value: 'file',
  text: 'a file of variables; those that are set already win',
}

/** The option with which a command is told the signing method. */
export const algOption = (text: string): Option => ({ value: 'method', text })

/**
 * The environment of the process, completed by the env file. As with `node --env-file`, the process wins.
 *
 * @throws CliError when the file cannot be read
 */
export async function environmentOf(given: Given, io: Io): Promise<Environment> {
  const file = given.text('env')
  return file === undefined ? io.env : { ...(await readEnvFile(file)), ...io.env }
}

/** @throws CliError when the file cannot be read */
export async function readEnvFile(file: string): Promise<Environment> {
  // Not a named import: Node 20.0 to 20.11 have no such function.
  const { parseEnv } = util as { parseEnv?: (text: string) => Environment }
  if (parseEnv === undefined) fail('--env needs Node 20.12 or later.')
  return parseEnv(await readText(file, 'env file'))
}

/** The ring file that a command works with: that of its option, or that of the environment; undefined for none. */
export function ringOf(given: Given, env: Environment): string | undefined {
  return given.text('ring') ?? (env.AUTH_JWT_KEYS || undefined)
}

/**
 * The value of an option that names a signing method.
 *
 * @throws CliError for a value that is not a signing method
 */
export function methodOption(given: Given): SigningMethod | undefined {
  const name = given.text('alg')
  return name === undefined ? undefined : toMethod(name)
}

/** @throws CliError for a text that is not a signing method */
export function toMethod(
  name: string,
  known: readonly SigningMethod[] = signingMethods,
): SigningMethod {
  if (known.includes(name as SigningMethod)) return name as SigningMethod
  return misuse(
    `unknown algorithm.${didYouMean(name, known)}`,
    `The algorithms are ${known.join(', ')}.`,
  )
}

/** The values of the option --typ, which say what a token is for. */
export function typesOf(given: Given): readonly string[] {
  const types = given.all('typ')
  try {
    for (const typ of types) checkTokenHeader({ typ })
    return types
  } catch {
    return misuse('option --typ: expected a media type, such as reset+jwt.')
  }
}

/** A message of the core, in which names of options are replaced by names of variables. */
export function inVariables(message: string): string {
  return message
    .replace(/^fastify-authn: /, '')
    .replaceAll(/\boption "((?:jwt|basic)\.[\w.]+)"/g, (_, name: string) => variableOf(name))
    .replaceAll(/"(jwt\.\w+\.passphrase)"/g, (_, name: string) => variableOf(name))
    .replaceAll(/(?<= )jwt\.(?:secret|expiry|(?:rsa|ecdsa|eddsa)(?:\.\w+)?)(?=[ ,.])/g, variableOf)
    .replace(/^environment variable /, '')
}

/** The variable of an option; for a whole key pair, the common start of its variables. */
function variableOf(option: string): string {
  const name = `AUTH_${option.replaceAll('.', '_').toUpperCase()}`
  return families.some((family) => name === `AUTH_JWT_${family}`) ? `${name}_*` : name
}

/** The service that a server makes from this environment. */
export interface OpenedService {
  readonly service: JwtService
  readonly method: SigningMethod
  /** Where the key of the method comes from. */
  readonly source: string
}

/**
 * @param alg - the signing method, if one is given
 * @throws CliError when no key is configured, or when several are and no method is given; for bad keys, the
 * error of the boot
 */
export async function openService(
  env: Environment,
  alg: SigningMethod | undefined,
  rules: TokenRules = {},
): Promise<OpenedService> {
  const { jwt } = configFromEnv(env)
  if (jwt === undefined || !hasKey(jwt)) {
    return fail(
      'no key is configured: neither AUTH_JWT_SECRET nor AUTH_JWT_KEYS is set, and no AUTH_JWT_RSA_*, AUTH_JWT_ECDSA_* or AUTH_JWT_EDDSA_*.',
      'Set one, or name a file that does: --env .env',
    )
  }
  const service = await new JwtService({ ...jwt, ...rules }).load()
  const method =
    alg ?? standardMethod(jwt, (each) => service.require(each, 'verify', 'the command line'))
  const { family } = algorithmOf(method)
  const source = family === 'secret' ? 'AUTH_JWT_SECRET' : `AUTH_JWT_${family.toUpperCase()}_*`
  return { service, method, source }
}

/** Whether any key is configured: `AUTH_JWT_EXPIRY` alone is not enough. */
export function hasKey({ secret, rsa, ecdsa, eddsa }: JwtConfig): boolean {
  return secret !== undefined || Boolean(rsa ?? ecdsa ?? eddsa)
}

/**
 * The method to use when none is given: HS256 if there is a secret, which is the plugin's default too; otherwise the
 * method of the only key pair.
 *
 * @param require - throws when no key fits a method
 * @throws CliError when there are several pairs
 */
export function standardMethod(
  jwt: JwtConfig,
  require: (method: SigningMethod) => unknown,
): SigningMethod {
  if (jwt.secret !== undefined) return defaults.jwt.signingMethod
  const [family, ...others] = pairNames.filter((name) => jwt[name] !== undefined)
  if (others.length > 0) {
    misuse('several key pairs are configured.', 'Say which signing method is meant: --alg RS256')
  }
  const fits = (method: SigningMethod): boolean => {
    try {
      require(method)
      return true
    } catch {
      return false
    }
  }
  const methods = signingMethods.filter((method) => algorithmOf(method).family === family)
  return methods.find(fits) as SigningMethod
}
