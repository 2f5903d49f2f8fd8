import { isUsageError } from '../../errors.js'
import { CliError, exits, misuse, type Command, type Given, type Io } from '../command.js'
import { cleaned, decode, type Decoded } from '../decode.js'
import {
  algOption,
  envFileOption,
  environmentOf,
  inVariables,
  methodOption,
  openService,
  ringOf,
  typesOf,
} from '../environment.js'
import { askHidden, readAll } from '../input.js'
import { chooseKey, type JudgingKey } from '../ring/judge.js'
import { issuerSection, scopesSection, section, sentence } from '../token-report.js'
import { judge, type Verdict } from '../verdict.js'
import { defaults } from '../../options/resolve.js'
import { scopesOf } from '../../users/granted.js'
import type { Environment } from '../../options/environment.js'
import type { TokenRules } from '../../../types/jwt.js'

/** Shows the content of a token, and whether the server would accept it. */
export const inspect: Command = {
  summary: 'show what is in a token, and whether and why it is valid or not',
  details: [
    'Nothing is sent anywhere. A "Bearer " before the token does not matter.',
    'The token is read from standard input; at a terminal it is asked for, and not shown.',
    'Without --alg: HS256 where AUTH_JWT_SECRET is set, else what fits the only key pair.',
  ],
  argument: {
    name: 'token',
    text: 'better not: other users and the shell history see it',
    required: false,
  },
  options: {
    alg: algOption('what the server accepts; default: see above'),
    issuer: { value: 'text', text: 'what the server has as jwt.issuer' },
    audience: { value: 'text', multiple: true, text: 'what the server has as jwt.audience' },
    'clock-tolerance': {
      value: 'seconds',
      text: `what the server has as jwt.clockTolerance; default ${defaults.tokenRules.clockTolerance}`,
    },
    typ: {
      value: 'type',
      multiple: true,
      text: 'the typ of its authenticator; default: JWT, at+jwt or none',
    },
    'claim-name': {
      value: 'name',
      text: `the claim that names the user; default ${defaults.jwtAuthenticator.claimName}`,
    },
    env: envFileOption,
    ring: { value: 'file', text: 'what the server has as jwt.keys: a ring file' },
  },
  examples: [
    'npx fastify-authn inspect --env .env < token.txt',
    'npx fastify-authn inspect --ring keys/ring.json < token.txt',
    'pbpaste | npx fastify-authn inspect',
  ],
  exits: ['the token is valid', 'it is not valid, or it could not be checked'],
  async run(given, io) {
    const env = await environmentOf(given, io)
    const token = cleaned(await tokenOf(given, io))
    const decoded = decode(token)
    const { key, ...verdict } = await verdictOf(token, decoded, given, env)
    const { header, claims } = decoded
    return {
      exit: verdict.valid === true ? exits.done : exits.no,
      lines: [
        ...section('Header', header),
        ...section('Claims', claims),
        ...scopesSection(claims),
        ...issuerSection(claims, given.text('issuer')),
        ...section('Key', key && { ...key }),
        sentence(verdict),
      ],
      json: {
        ...verdict,
        ...(ringOf(given, env) !== undefined && { key }),
        header,
        claims,
        scopes: claims && [...scopesOf(claims)],
      },
      aside: isGiven(given) ? [warning] : [],
    }
  },
}

const warning =
  'Warning: other users and the shell history see arguments. Pipe the token in, or type it when asked.'

/** Whether the token was given as an argument; "-" means standard input. */
function isGiven({ argument = '-' }: Given): boolean {
  return argument !== '-'
}

async function tokenOf(given: Given, io: Io): Promise<string> {
  if (isGiven(given)) return given.argument as string
  if (io.stdin.isTTY !== true) return readAll(io.stdin)
  const [token] = await askHidden(io, ['Token: '])
  return token as string
}

async function verdictOf(
  token: string,
  decoded: Decoded,
  given: Given,
  env: Environment,
): Promise<Verdict & { key: JudgingKey | null }> {
  const alg = methodOption(given)
  const rules = rulesOf(given)
  const typ = typesOf(given)
  const claimName = given.text('claim-name') ?? defaults.jwtAuthenticator.claimName
  const code = 'ERR_AUTH_JWT_INVALID'
  let key: JudgingKey | null = null
  if (decoded.problem !== null) {
    return { key, valid: false, code, reason: `it is no JSON Web Token: ${decoded.problem}` }
  }
  const { header, claims } = decoded
  const ring = ringOf(given, env)
  try {
    const chosen = ring === undefined ? null : await chooseKey(ring, header, alg, env, rules)
    key = chosen?.key ?? null
    if (chosen !== null && chosen.problem !== null) {
      return { key, valid: false, code, reason: chosen.problem }
    }
    const verdict = judge(token, claims, {
      header,
      ...(chosen?.opened ?? (await openService(env, alg, rules))),
      rules: { ...rules, ...(typ.length > 0 && { typ }) },
      claimName,
      assumed: alg === undefined && chosen === null,
    })
    return { key, ...verdict }
  } catch (error) {
    return { key, valid: null, reason: whyNotChecked(error) }
  }
}

/** Why the signature could not be checked. Without a usable key, the token is shown all the same. */
function whyNotChecked(error: unknown): string {
  if (isUsageError(error)) return inVariables(error.message)
  if (error instanceof CliError) return [error.message, error.remedy].join(' ').trim()
  throw error
}

function rulesOf(given: Given): TokenRules {
  const issuer = given.text('issuer')
  const audience = given.all('audience')
  const tolerance = given.text('clock-tolerance')
  return {
    ...(issuer !== undefined && { issuer }),
    ...(audience.length > 0 && { audience }),
    ...(tolerance !== undefined && { clockTolerance: toTolerance(tolerance) }),
  }
}

function toTolerance(text: string): number {
  if (/^\d{1,3}$/.test(text) && Number(text) <= 300) return Number(text)
  return misuse('option --clock-tolerance: expected seconds, 0 to 300.')
}
