import { ownOf } from '../common/objects.js'
import { keyAddress } from '../http/key-address.js'
import { scopesOf } from '../users/granted.js'
import { columns, quoted } from './text.js'
import { timeInWords } from './times.js'
import type { Decoded } from './decode.js'
import type { Verdict } from './verdict.js'

/** The members of a part of a token under a title, times also as dates and in words. */
export function section(title: string, values: Decoded['claims']): string[] {
  if (values === null) return []
  const now = Date.now() / 1000
  const rows = Object.entries(values).map(([name, value]): [string, string] => [
    /^[\w.:/-]+$/.test(name) ? name : quoted(name),
    [quoted(value), times.has(name) ? timeInWords(value, now) : null]
      .filter((text) => text !== null)
      .join('  '),
  ])
  return [title, ...(rows.length > 0 ? columns(rows) : ['  none']), '']
}

const times = new Set(['exp', 'nbf', 'iat', 'auth_time'])

/** The scopes that a mark finds in the token, where it has a claim for them. */
export function scopesSection(claims: Decoded['claims']): string[] {
  const claim = ['scope', 'scp'].find((name) => claims !== null && Object.hasOwn(claims, name))
  if (claims === null || claim === undefined) return []
  const names = [...scopesOf(claims)].map(quoted)
  const none = `none in the claim "${claim}": expected names with spaces between them${claim === 'scp' ? ', or an array of texts' : ''}`
  return ['Scopes', ...(names.length > 0 ? names : [none]).map((name) => `  ${name}`), '']
}

/**
 * Which issuer would judge the token, where a server has one for it: the `iss` that a token names picks it.
 *
 * @param own - the issuer of the server's own tokens, which need none
 */
export function issuerSection(claims: Decoded['claims'], own: string | undefined): string[] {
  const iss = claims === null ? undefined : ownOf(claims, 'iss')
  const url = typeof iss === 'string' && iss !== own ? keyAddress(iss) : null
  if (url === null) return []
  return [
    'Issuer',
    `  That of the option "issuers" with issuer: ${quoted(iss)}, if the server has one, by the keys that`,
    `  ${quoted(`${String(iss).replace(/\/$/, '')}/.well-known/openid-configuration`)} names, or its jwksUri.`,
    '',
  ]
}

/** What the server says of the token. */
export function sentence({ valid, reason, code }: Verdict): string {
  if (valid === null) return `Not checked: ${reason}`
  return valid ? `Valid: ${reason}` : `Not valid (${code}): ${reason}`
}
