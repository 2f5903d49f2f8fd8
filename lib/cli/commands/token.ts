import { Option } from 'commander'
import { withoutUndefined } from '../../common/objects.js'
import { unverifiedPart } from '../../tokens/claims.js'
import { misuse, type Command } from '../command.js'
import {
  algOption,
  envOption,
  keySetOption,
  listOption,
  openService,
  spanOption,
  type KeyOptions,
} from '../environment.js'
import { quoted } from '../text.js'

interface Options extends KeyOptions {
  readonly sub?: string
  readonly claim?: readonly string[]
  readonly issuer?: string
  readonly audience?: readonly string[]
  readonly typ?: string
  readonly expires?: number
}

export const token: Command<Options> = {
  name: 'token',
  summary: 'make a token with the keys of the environment, to try an API',
  details:
    'Without --alg: HS256 if AUTH_JWT_SECRET is set, else the method of the only key pair; with a key set, that of its active key.',
  options: [
    new Option('--sub <name>', 'the user of the token: the claim "sub"'),
    listOption(
      '--claim <name=value>',
      'another claim, can be repeated; read as JSON if it is JSON (admin=true)',
    ),
    algOption('signing method; default: see above'),
    new Option('--issuer <text>', 'the claim "iss", as in the option jwt.issuer'),
    listOption('--audience <text>', 'the claim "aud", as in jwt.audience; can be repeated'),
    new Option('--typ <type>', 'its purpose, such as reset+jwt; default: JWT'),
    spanOption('--expires <span>', 'seconds, or 15m, 8h, 7d; default: AUTH_JWT_EXPIRY, else 300'),
    envOption,
    keySetOption,
  ],
  examples: [
    'npx fastify-authn token --sub alice --env .env',
    'npx fastify-authn token --sub alice --claim admin=true --expires 15m',
    'npx fastify-authn token --sub alice --key-set keys/keys.json',
    'curl -H "Authorization: Bearer $(npx fastify-authn token --sub al)" localhost:3000/me',
  ],
  exits: ['done', 'the keys are missing or wrong'],
  async run(options) {
    const asked = claimsOf(options)
    const { service, method } = await openService(options)
    const value = service.generateTokenWithClaims(asked, method, { typ: options.typ })
    const [header, claims] = [unverifiedPart(value, 0), unverifiedPart(value, 1)]
    return { lines: [value], json: { token: value, alg: header?.alg, claims } }
  },
}

function claimsOf({ sub, issuer: iss, audience, expires, claim = [] }: Options) {
  const aud = audience?.length === 1 ? audience[0] : audience
  const claims = new Map<string, unknown>(Object.entries(withoutUndefined({ sub, iss, aud })))
  if (expires !== undefined) claims.set('exp', Math.floor(Date.now() / 1000) + expires)
  for (const text of claim) {
    const [name, value] = parseClaim(text)
    if (claims.has(name)) misuse(`claim ${quoted(name)} is given twice.`)
    claims.set(name, value)
  }
  if (sub === undefined && claim.length === 0)
    misuse('--sub is missing: it names the user of the token.')
  return Object.fromEntries(claims)
}

function parseClaim(text: string): [name: string, value: unknown] {
  const at = text.indexOf('=')
  if (at < 1) misuse('option --claim: expected name=value.')
  const value = text.slice(at + 1)
  try {
    const parsed: unknown = JSON.parse(value)
    // A number that JavaScript cannot hold exactly, such as 12345678901234567890, stays a string.
    const isExact = typeof parsed !== 'number' || Math.abs(parsed) <= Number.MAX_SAFE_INTEGER
    return [text.slice(0, at), isExact ? parsed : value]
  } catch {
    return [text.slice(0, at), value]
  }
}
