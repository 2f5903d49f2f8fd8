import { configFromEnv, type Environment } from '../../config.js'
import { AuthnUsageError } from '../../errors.js'
import { remedyOf } from '../../jwt/keys.js'
import { JwtService } from '../../jwt/service.js'
import { resolveOptions } from '../../options.js'
import { CliError } from '../command.js'
import { inVariables, standardMethod } from '../environment.js'
import { error, note, type Finding } from './finding.js'
import type { SigningMethod } from '../../../types/jwt.js'

/** A part of the configuration that can be judged alone, with what it then lacks. */
interface Part {
  readonly variables: readonly string[]
  /** Judged when one of these is set; default: one of {@link variables}. */
  readonly when?: readonly string[]
  readonly filling?: Environment
}

const fillingSecret = { AUTH_JWT_SECRET: 'filling '.repeat(8) }
const basic = ['AUTH_BASIC_USERNAME', 'AUTH_BASIC_PASSWORD'] as const

const parts: readonly Part[] = [
  { variables: ['AUTH_JWT_SECRET'] },
  { variables: ['AUTH_JWT_EXPIRY'], filling: fillingSecret },
  ...['AUTH_JWT_RSA', 'AUTH_JWT_ECDSA', 'AUTH_JWT_EDDSA'].flatMap((name): Part[] => [
    { variables: [`${name}_PRIVATE`, `${name}_PASSPHRASE`], when: [`${name}_PRIVATE`] },
    { variables: [`${name}_PUBLIC`] },
    { variables: [`${name}_PRIVATE`, `${name}_PUBLIC`, `${name}_PASSPHRASE`] },
  ]),
  { variables: [basic[0]], when: basic, filling: { [basic[1]]: 'filling' } },
  { variables: [basic[1]], when: basic, filling: { [basic[0]]: 'filling' } },
]

/**
 * What stops a boot with this environment. The boot stops at the first fault; so its checks are run on each
 * part of the configuration alone, and then on all of it.
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
  const complete = faults.length === 0
  await attempt(bootWith(env, { method: complete ? alg : undefined }))
  if (complete && faults.length === 0 && alg === undefined) await attempt(bootAsGuessed(env))
  return distinct(faults.map(toFinding))
}

/** Empty counts as not set, as the core has it. */
export function isSet(env: Environment, name: string): boolean {
  return env[name] !== undefined && env[name] !== ''
}

/** What the plugin does with its options while it boots, as far as the environment has a say in it. */
export async function bootWith(
  env: Environment,
  { method }: { method?: SigningMethod | undefined } = {},
): Promise<void> {
  const { jwt } = resolveOptions(configFromEnv(env))
  const service = jwt && (await new JwtService(jwt).load())
  if (method !== undefined) service?.require(method, 'verify', 'jwtAuthenticator')
}

/** The method is a matter of the app's code: what it has to be is told. */
async function bootAsGuessed(env: Environment): Promise<void> {
  const { jwt } = configFromEnv(env)
  if (jwt === undefined) return
  const method = standardMethod(jwt, await new JwtService(jwt).load())
  if (method !== 'HS256') throw new GuessedMethod(method)
}

/** Not a fault, but it has to be told. */
class GuessedMethod extends Error {
  readonly method: SigningMethod

  constructor(method: SigningMethod) {
    super(method)
    this.method = method
  }
}

function toFinding(fault: unknown): Finding {
  if (fault instanceof GuessedMethod) {
    return note(
      null,
      'AUTH_JWT_SECRET is not set, and HS256 is what an app accepts that says nothing else.',
      `The app has to say jwt: { ...configFromEnv().jwt, signingMethod: '${fault.method}' }`,
    )
  }
  if (fault instanceof CliError) {
    return note(
      null,
      fault.message,
      'Say which method the app has, to have it checked: --alg RS256',
    )
  }
  if (!(fault instanceof AuthnUsageError)) throw fault
  const remedy = remedyOf(fault)
  const message = inVariables(
    fault.message.slice(0, fault.message.length - remedy.length).trimEnd(),
  )
  const [, variable = null, problem = message] = /^(AUTH_\w+\*?):? (.*)$/s.exec(message) ?? []
  return error(variable, problem, ownRemedy(variable, inVariables(remedy)))
}

function ownRemedy(variable: string | null, remedy: string): string {
  if (remedy !== '' && !remedy.startsWith('Make one with')) return remedy
  const [, found] = remedies.find(([start]) => variable?.startsWith(start)) ?? remedies[0]
  return found
}

/** Where the core has none, or knows no command line: by what the variable begins with. */
const remedies: readonly [readonly [string, string], ...(readonly [string, string])[]] = [
  ['AUTH_JWT_SECRET', 'Make one with: npx fastify-authn secret'],
  ['AUTH_JWT_EXPIRY', 'Give whole seconds, such as 900, or leave it out for 300.'],
  ['AUTH_JWT_RSA', 'Make a pair with: npx fastify-authn keys RS256'],
  ['AUTH_JWT_ECDSA', 'Make a pair with: npx fastify-authn keys ES256'],
  ['AUTH_JWT_EDDSA', 'Make a pair with: npx fastify-authn keys EdDSA'],
  ['AUTH_BASIC', 'Set AUTH_BASIC_USERNAME and AUTH_BASIC_PASSWORD, or neither of them.'],
]

function distinct(findings: readonly Finding[]): Finding[] {
  return [...new Map(findings.map((each) => [`${each.variable} ${each.problem}`, each])).values()]
}
