import { configFromEnv, type Environment } from '../../options/environment.js'
import { isUsageError } from '../../errors.js'
import { JwtService } from '../../tokens/service.js'
import { defaults, resolveOptions } from '../../options/resolve.js'
import { CliError } from '../command.js'
import { inVariables, pairVariables, standardMethod } from '../environment.js'
import { error, note, type Finding } from './finding.js'
import type { JwtConfig, SigningMethod } from '../../../types/jwt.js'

/** A part of the configuration that is checked alone, completed with what the plugin needs besides. */
interface Part {
  readonly variables: readonly string[]
  /** Checked when one of these variables is set; default: one of {@link variables}. */
  readonly when?: readonly string[]
  readonly filling?: Environment
}

const fillingSecret = { AUTH_JWT_SECRET: 'filling '.repeat(8) }
const basic = ['AUTH_BASIC_USERNAME', 'AUTH_BASIC_PASSWORD'] as const

const parts: readonly Part[] = [
  { variables: ['AUTH_JWT_SECRET'] },
  { variables: ['AUTH_JWT_EXPIRY'], filling: fillingSecret },
  ...pairVariables.flatMap((name): Part[] => [
    { variables: [`${name}_PRIVATE`, `${name}_PASSPHRASE`], when: [`${name}_PRIVATE`] },
    { variables: [`${name}_PUBLIC`] },
    { variables: [`${name}_PRIVATE`, `${name}_PUBLIC`, `${name}_PASSPHRASE`] },
  ]),
  { variables: [basic[0]], when: basic, filling: { [basic[1]]: 'filling' } },
  { variables: [basic[1]], when: basic, filling: { [basic[0]]: 'filling' } },
]

/**
 * Everything in this environment that stops a boot. A boot reports only the first error; to find the others too, its
 * checks are run on each part of the configuration alone, and then on the whole.
 *
 * @param alg - the signing method of the app, if one is given
 */
export async function bootFindings(
  env: Environment,
  alg: SigningMethod | undefined,
): Promise<Finding[]> {
  const faults: unknown[] = []
  const attempt = (boot: Promise<void>) => boot.catch((fault: unknown) => faults.push(fault))
  for (const { variables, when = variables, filling = {} } of parts) {
    if (!when.some((name) => isSet(env, name))) continue
    const taken = variables.map((name) => [name, env[name]] as const)
    await attempt(bootWith({ ...filling, ...Object.fromEntries(taken) }))
  }
  // A method is checked only against keys that are right.
  await attempt(bootWith(env, faults.length === 0 ? alg : undefined))
  if (faults.length > 0) return distinct(faults.map(toFinding))
  return alg === undefined ? methodNotes(env) : []
}

/** Whether a variable is set; an empty one is not, as in `configFromEnv()`. */
export function isSet(env: Environment, name: string): boolean {
  return env[name] !== undefined && env[name] !== ''
}

/** Runs the checks that the plugin makes at boot, as far as they depend on the environment. */
export async function bootWith(env: Environment, method?: SigningMethod): Promise<void> {
  const { jwt } = resolveOptions(configFromEnv(env))
  const service = jwt && (await openOnce(jwt))
  if (service && jwt.keys === undefined && method !== undefined)
    service.require(method, 'verify', 'jwtAuthenticator')
}

function openOnce(jwt: JwtConfig): Promise<JwtService> {
  return new JwtService(jwt.keys === undefined ? jwt : { ...jwt, reloadEvery: 0 }).load()
}

/**
 * The signing method is set in the app's code, which is not read here. When the keys fit only a method that is not
 * the default, the finding says which one the code has to set.
 */
async function methodNotes(env: Environment): Promise<Finding[]> {
  const { jwt } = configFromEnv(env)
  // The keys of a ring name their algorithms.
  if (jwt === undefined || jwt.keys !== undefined) return []
  const service = await openOnce(jwt)
  try {
    const method = standardMethod(jwt, (each) => service.require(each, 'verify', 'doctor'))
    if (method === defaults.jwt.signingMethod) return []
    const problem =
      'AUTH_JWT_SECRET is not set, but an app without jwt.signingMethod uses HS256, which needs it.'
    const remedy = `Set the method in the app: jwt: { ...configFromEnv().jwt, signingMethod: '${method}' }`
    return [note(null, problem, remedy)]
  } catch (fault) {
    if (!(fault instanceof CliError)) throw fault
    const remedy = 'Say which method the app has, to have it checked: --alg RS256'
    return [note(null, fault.message, remedy)]
  }
}

function toFinding(fault: unknown): Finding {
  if (!isUsageError(fault)) throw fault
  const message = inVariables(fault.message)
  const [, variable = null, problem = message] = /^(AUTH_\w+\*?):? (.*)$/s.exec(message) ?? []
  return error(variable, problem, ownRemedy(variable))
}

function ownRemedy(variable: string | null): string {
  const [, found] = remedies.find(([start]) => variable?.startsWith(start)) ?? remedies[0]
  return found
}

/** Advice where the core's error has none, or does not name a command of this program; by the start of the variable. */
const remedies: readonly [readonly [string, string], ...(readonly [string, string])[]] = [
  ['AUTH_JWT_SECRET', 'Make one with: npx fastify-authn secret'],
  [
    'AUTH_JWT_EXPIRY',
    `Give whole seconds, such as 900, or leave it out for ${defaults.jwt.expiry}.`,
  ],
  ['AUTH_JWT_RSA', 'Make a pair with: npx fastify-authn keys RS256'],
  ['AUTH_JWT_ECDSA', 'Make a pair with: npx fastify-authn keys ES256'],
  ['AUTH_JWT_EDDSA', 'Make a pair with: npx fastify-authn keys EdDSA'],
  ['AUTH_BASIC', 'Set AUTH_BASIC_USERNAME and AUTH_BASIC_PASSWORD, or neither of them.'],
]

function distinct(findings: readonly Finding[]): Finding[] {
  return [...new Map(findings.map((each) => [`${each.variable} ${each.problem}`, each])).values()]
}
