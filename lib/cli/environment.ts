import util from 'node:util'
import { configFromEnv, type Environment } from '../config.js'
import { algorithmOf, signingMethods } from '../jwt/algorithms.js'
import { pairNames } from '../jwt/keys.js'
import { JwtService } from '../jwt/service.js'
import { fail, misuse, type Given, type Io, type Option } from './command.js'
import { readText } from './input.js'
import { didYouMean } from './text.js'
import type { JwtConfig, SigningMethod, TokenRules } from '../../types/jwt.js'

const families = pairNames.map((name) => name.toUpperCase())

/** Every variable that configFromEnv() reads. */
export const variables: readonly string[] = [
  'AUTH_JWT_SECRET',
  'AUTH_JWT_EXPIRY',
  ...families.flatMap((family) =>
    ['PRIVATE', 'PUBLIC', 'PASSPHRASE'].map((half) => `AUTH_JWT_${family}_${half}`),
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
 * The environment of the process, and what the env file adds, as `node --env-file` has it.
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

/**
 * The value of an option that names a signing method.
 *
 * @throws CliError for what is none
 */
export function methodOption(given: Given): SigningMethod | undefined {
  const name = given.text('alg')
  return name === undefined ? undefined : toMethod(name)
}

/** @throws CliError for what is no signing method */
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

/** A message of the core, with variables where it names options. */
export function inVariables(message: string): string {
  return message
    .replace(/^fastify-authn: /, '')
    .replaceAll(/\boption "((?:jwt|basic)\.[\w.]+)"/g, (_, name: string) => variableOf(name))
    .replaceAll(/"(jwt\.\w+\.passphrase)"/g, (_, name: string) => variableOf(name))
    .replaceAll(/(?<= )jwt\.(?:secret|expiry|(?:rsa|ecdsa|eddsa)(?:\.\w+)?)(?=[ ,.])/g, variableOf)
    .replace(/^environment variable /, '')
}

/** The variable of an option; of a pair, what its variables begin with. */
function variableOf(option: string): string {
  const name = `AUTH_${option.replaceAll('.', '_').toUpperCase()}`
  return families.some((family) => name === `AUTH_JWT_${family}`) ? `${name}_*` : name
}

/** The service that a server has with this environment. */
export interface OpenedService {
  readonly service: JwtService
  readonly method: SigningMethod
  /** Where the key of the method comes from. */
  readonly source: string
}

/**
 * @param alg - the signing method, if one is given
 * @throws CliError when no key is configured, or several and no method; what the boot throws for bad keys
 */
export async function openService(
  env: Environment,
  alg: SigningMethod | undefined,
  rules: TokenRules = {},
): Promise<OpenedService> {
  const { jwt } = configFromEnv(env)
  if (jwt === undefined || !hasKey(jwt)) {
    return fail(
      'no key is configured: AUTH_JWT_SECRET is not set, and no AUTH_JWT_RSA_*, AUTH_JWT_ECDSA_* or AUTH_JWT_EDDSA_*.',
      'Set one, or name a file that does: --env .env',
    )
  }
  const service = await new JwtService({ ...jwt, ...rules }).load()
  const method = alg ?? standardMethod(jwt, service)
  const { family } = algorithmOf(method)
  const source = family === 'secret' ? 'AUTH_JWT_SECRET' : `AUTH_JWT_${family.toUpperCase()}_*`
  return { service, method, source }
}

/** Whether tokens are configured at all, and not only how long they live. */
export function hasKey({ secret, rsa, ecdsa, eddsa }: JwtConfig): boolean {
  return secret !== undefined || Boolean(rsa ?? ecdsa ?? eddsa)
}

/**
 * The method that a server would have: HS256 where there is a secret, as the plugin has it; else the one of
 * the only pair.
 *
 * @throws CliError where there are several pairs
 */
export function standardMethod(jwt: JwtConfig, service: JwtService): SigningMethod {
  if (jwt.secret !== undefined) return 'HS256'
  const [family, ...others] = pairNames.filter((name) => jwt[name] !== undefined)
  if (others.length > 0) {
    misuse('several key pairs are configured.', 'Say which signing method is meant: --alg RS256')
  }
  const methods = signingMethods.filter((method) => algorithmOf(method).family === family)
  return methods.find((method) => fits(service, method)) as SigningMethod
}

function fits(service: JwtService, method: SigningMethod): boolean {
  try {
    service.require(method, 'verify', 'the command line')
    return true
  } catch {
    return false
  }
}
