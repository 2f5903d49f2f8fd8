import { misuse, type Command, type Given } from '../command.js'
import {
  algOption,
  envFileOption,
  environmentOf,
  methodOption,
  openService,
  ringOf,
  typesOf,
} from '../environment.js'
import { openSigner } from '../ring/sign.js'
import { parseSpan } from '../times.js'
import { quoted } from '../text.js'
import { defaults } from '../../options/resolve.js'
import { unverifiedPart } from '../../tokens/unverified.js'
import { isUsableName } from '../../users/find.js'
import { userNameRule } from '../verdict.js'

/** Prints a token that a server with the same configuration accepts. */
export const token: Command = {
  summary: 'make a token with the keys of the environment, to try an API',
  options: {
    sub: { value: 'name', text: 'whose token it is: the claim "sub"' },
    claim: {
      value: 'name=value',
      multiple: true,
      text: 'another claim; JSON where it is any (admin=true), else text',
    },
    alg: algOption('signing method; default: see above'),
    typ: {
      value: 'type',
      text: 'what it is for, such as reset+jwt; default: JWT, a login',
    },
    expires: {
      value: 'span',
      text: `seconds, or 15m, 8h, 7d; default: AUTH_JWT_EXPIRY, else ${defaults.jwt.expiry}`,
    },
    env: envFileOption,
    ring: { value: 'file', text: 'sign with this ring file; default: AUTH_JWT_KEYS' },
  },
  details: [
    'Without --alg: HS256 where AUTH_JWT_SECRET is set, else what fits the only key pair; with',
    '--ring, the key that signs.',
  ],
  examples: [
    'npx fastify-authn token --sub alice --env .env',
    'npx fastify-authn token --sub alice --claim admin=true --expires 15m',
    'npx fastify-authn token --sub alice --ring keys/ring.json',
    'curl -H "Authorization: Bearer $(npx fastify-authn token --sub al)" localhost:3000/me',
  ],
  exits: ['done', 'the keys are missing or wrong'],
  async run(given, io) {
    const alg = methodOption(given)
    const asked = claimsOf(given)
    const [typ] = typesOf(given)
    const env = await environmentOf(given, io)
    const ring = ringOf(given, env)
    const { service, method } =
      ring === undefined ? await openService(env, alg) : await openSigner(ring, env, alg)
    const value = service.generateTokenWithClaims(asked, method, { typ })
    return { lines: [value], json: { token: value, alg: method, claims: unverifiedPart(value, 1) } }
  },
}

/** @throws CliError for claims that are not valid, or are given twice */
function claimsOf(given: Given): Record<string, unknown> {
  const claims = new Map<string, unknown>()
  const sub = given.text('sub')
  if (sub !== undefined) claims.set('sub', checked('sub', sub))
  const span = given.text('expires')
  if (span !== undefined) claims.set('exp', Math.floor(Date.now() / 1000) + toSeconds(span))
  for (const text of given.all('claim')) {
    const [name, value] = parseClaim(text)
    if (claims.has(name)) misuse(`claim ${quoted(name)} is given twice.`)
    claims.set(name, value)
  }
  if (sub === undefined && given.all('claim').length === 0) {
    misuse('--sub is missing: whose token is it?')
  }
  return Object.fromEntries(claims)
}

function toSeconds(span: string): number {
  return (
    parseSpan(span) ?? misuse('option --expires: expected seconds, or a span such as 15m, 8h, 7d.')
  )
}

function parseClaim(text: string): [name: string, value: unknown] {
  const at = text.indexOf('=')
  if (at < 1) misuse('option --claim: expected name=value.')
  const name = text.slice(0, at)
  return [name, checked(name, parseValue(name, text.slice(at + 1)))]
}

function checked(name: string, value: unknown): unknown {
  const rule = reserved[name]
  if (rule === undefined || rule.fits(value)) return value
  return misuse(`claim ${quoted(name)}: expected ${rule.expected}.`)
}

function parseValue(name: string, text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return text
  }
  // A number that JavaScript cannot hold exactly, such as 12345678901234567890, would change without notice.
  if (!numbersIn(text).every(isExact)) {
    const remedy =
      typeof value === 'number' ? `Give it as text: '${name}="…"'` : 'Give it as text, in quotes.'
    misuse(`claim ${quoted(name)}: the number is too large to be exact. ${remedy}`)
  }
  return value
}

/** The numbers in a JSON text as they are written, at any depth. */
function numbersIn(json: string): string[] {
  return json.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').match(/-?\d[\d.e+-]*/gi) ?? []
}

function isExact(text: string): boolean {
  const value = Number(text)
  if (!Number.isFinite(value)) return false
  return !Number.isInteger(value) || Number.isSafeInteger(value) || /[.e]/i.test(text)
}

interface Rule {
  readonly expected: string
  fits(value: unknown): boolean
}

const isText = (value: unknown): boolean => typeof value === 'string'
const textRule: Rule = {
  expected: `text; a number as text is written '"1"'`,
  fits: isText,
}
const timeRule: Rule = {
  expected: 'seconds since 1970, 1 or more',
  fits: (value) => Number.isFinite(value) && Number(value) >= 1,
}

/** The registered claims (RFC 7519 §4.1). */
const reserved: Readonly<Record<string, Rule>> = Object.assign(Object.create(null), {
  iss: textRule,
  jti: textRule,
  sub: {
    expected: userNameRule,
    fits: isUsableName,
  },
  aud: {
    expected: 'text, or an array of texts',
    fits: (value) => [value].flat().length > 0 && [value].flat().every(isText),
  },
  exp: timeRule,
  nbf: timeRule,
  iat: timeRule,
} satisfies Record<string, Rule>)
