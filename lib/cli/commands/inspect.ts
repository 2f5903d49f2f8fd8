import { Argument, Option } from 'commander'
import { isAuthenticationError } from '../../errors/errors.js'
import { unverifiedPart } from '../../tokens/claims.js'
import { defaults } from '../../options/defaults.js'
import { isUsableName } from '../../users/user.js'
import { scopesOf } from '../../users/granted.js'
import { exits, type Command } from '../command.js'
import {
  algOption,
  envOption,
  keySetOption,
  listOption,
  numberOption,
  openService,
  startupError,
  type KeyOptions,
} from '../environment.js'
import { askHidden, readInput } from '../input.js'
import { readKeySetFile, shownKey } from '../key-set/file.js'
import { quoted, relative, table, timeText } from '../text.js'

interface Options extends KeyOptions {
  readonly issuer?: string
  readonly audience?: string[]
  readonly clockTolerance?: number
  readonly typ?: string[]
  readonly claimName: string
}

type Part = Readonly<Record<string, unknown>> | null

/** Whether the server would accept a token. */
interface Verdict {
  readonly valid: boolean | null
  /** The code of the server's error, and what exactly was wrong. */
  readonly code?: string
  readonly cause?: string | undefined
  readonly reason?: string
  /** The key of the key set that the token names. */
  readonly key?: object | undefined
}

export const inspect: Command<Options> = {
  name: 'inspect',
  summary: 'show what is in a token, and whether it is valid',
  details: `Nothing is sent anywhere. A "Bearer " before the token does not matter.
The token is read from standard input. At a terminal you are asked for it, and it is not shown.
Without --alg: HS256 if AUTH_JWT_SECRET is set, else the method of the only key pair.`,
  arguments: [
    new Argument('[token]', 'not recommended: other users and the shell history see arguments'),
  ],
  options: [
    algOption('the method that the server accepts; default: see above'),
    new Option('--issuer <text>', 'the option jwt.issuer of the server'),
    listOption('--audience <text>', 'the option jwt.audience of the server, can be repeated'),
    numberOption(
      '--clock-tolerance <seconds>',
      'the option jwt.clockTolerance of the server',
      0,
      300,
    ),
    listOption(
      '--typ <type>',
      'the typ that the server accepts, can be repeated; default: JWT, at+jwt or none',
    ),
    new Option('--claim-name <name>', 'the claim that names the user').default(
      defaults.jwtAuthenticator.claimName,
    ),
    envOption,
    keySetOption,
  ],
  examples: [
    'npx fastify-authn inspect --env .env < token.txt',
    'npx fastify-authn inspect --key-set keys/keys.json < token.txt',
    'pbpaste | npx fastify-authn inspect',
  ],
  exits: ['the token is valid', 'it is not valid, or it could not be checked'],
  async run(options, [argument = '-'], io) {
    const ask = async () =>
      io.stdin.isTTY ? String(await askHidden(io, ['Token: '])) : readInput(io.stdin)
    const token = (argument === '-' ? await ask() : argument)
      .trim()
      .replace(/^(?:authorization:\s*)?bearer\s+/i, '')
    const header = unverifiedPart(token, 0)
    const claims = unverifiedPart(token, 1)
    const isToken = header && claims && /^[\w-]+\.[\w-]+\.[\w-]*$/.test(token)
    const verdict = isToken ? await verdictOf(token, header, options) : noToken
    const scopes = claims && [...scopesOf(claims)]
    return {
      exit: verdict.valid === true ? exits.done : exits.no,
      lines: [
        ...section('Header', header),
        ...section('Claims', claims),
        ...(scopes?.length ? ['Scopes', ...scopes.map((scope) => `  ${quoted(scope)}`), ''] : []),
        ...section('Key', verdict.key && { ...verdict.key }),
        sentence(verdict, header),
      ],
      json: { ...verdict, header, claims, scopes },
      aside: argument === '-' ? [] : [warning],
    }
  },
}

const warning =
  'Warning: other users and the shell history see arguments. Pipe the token in, or type it when asked.'

const reason =
  'This is no token: expected header.claims.signature in base64url, the first two of them JSON objects.'
const noToken: Verdict = { valid: false, code: 'ERR_AUTH_JWT_INVALID', cause: 'malformed', reason }

async function verdictOf(token: string, header: Part, options: Options): Promise<Verdict> {
  const { issuer, audience, clockTolerance, typ, claimName } = options
  let key: object | undefined
  try {
    const rules = { issuer, audience, clockTolerance }
    const { service, method, keySet } = await openService(options, rules)
    const keys = keySet === undefined ? [] : (await readKeySetFile(keySet)).map(shownKey)
    const { kid, alg } = header ?? {}
    key = keys.find((each) =>
      kid === undefined ? each.legacy && each.alg === alg : each.kid === kid,
    )
    const claims: Record<string, unknown> = service.verify(token, method, { typ })
    if (isUsableName(claims[claimName])) return { valid: true, key }
    return { valid: false, code: 'ERR_AUTH_JWT_INVALID', cause: `claim ${claimName}` }
  } catch (error) {
    if (!isAuthenticationError(error)) return { valid: null, reason: startupError(error) }
    const { code, cause } = error
    const aud = cause === 'claim aud' ? unverifiedPart(token, 1)?.aud : undefined
    const reason = `The token needs jwt.audience (here --audience): its aud is ${quoted(aud)}.`
    const why = { cause: typeof cause === 'string' ? cause : undefined, key }
    return { valid: false, code, ...why, ...(aud !== undefined && { reason }) }
  }
}

/** The members of a part of a token under a title, times also as dates and in words. */
function section(title: string, values: Part | undefined): string[] {
  if (!values) return []
  const rows = Object.entries(values).map(([name, value]) => [
    /^[\w.:/-]+$/.test(name) ? name : quoted(name),
    [quoted(value), ...(times.has(name) ? timeInWords(value) : [])].join('  '),
  ])
  return [title, ...table(rows, '  '), '']
}

const times = new Set(['exp', 'nbf', 'iat', 'auth_time'])

/** A NumericDate (RFC 7519 §2). */
function timeInWords(value: unknown): string[] {
  // The largest time that a Date can hold (ECMA-262, time values).
  if (typeof value !== 'number' || Math.abs(value) > 8.64e12) return []
  return [`${timeText(value * 1000)}, ${relative(value)}`]
}

function sentence({ valid, code, cause, reason }: Verdict, header: Part): string {
  if (valid === null) return `Not checked: ${reason}`
  if (valid) return `Valid: signed with ${String(header?.alg)}.`
  return `Not valid: ${code}${cause ? ` (${cause})` : ''}${reason ? `. ${reason}` : ''}`
}
