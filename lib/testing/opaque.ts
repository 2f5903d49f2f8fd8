import { randomBytes } from 'node:crypto'
import { flawOf } from './error.js'
import { answers, claimsOf, replacedIssuer } from './issuer.js'
import type { AttackOptions } from './attack-options.js'
import type { Bad } from './broken.js'
import type { TokenContent } from './forge.js'

/** What each flaw changes in a good introspection response; null: the issuer does not know the token. */
const brokenOpaqueTokens = {
  unknown: null,
  expired: { exp: 1 },
  otherAudience: { aud: 'https://other.example', client_id: 'other' },
  senderConstrained: { cnf: { jkt: 'fastify-authn-testing' } },
  refresh: { typ: 'Refresh', token_type: undefined },
  oversized: {},
} satisfies Record<BrokenOpaqueToken, object | null>

/** Names of opaque tokens that must be rejected. Each has exactly one flaw. */
export type BrokenOpaqueToken =
  'expired' | 'otherAudience' | 'oversized' | 'refresh' | 'senderConstrained' | 'unknown'

/** An opaque token of an issuer; null if it does not introspect. @throws ERR_AUTH_TESTING */
export function opaqueToken(
  app: object,
  name: string,
  content: TokenContent,
  caller: string,
  broken?: BrokenOpaqueToken,
): string | null {
  const { issuer } = replacedIssuer(app, name, content, caller)
  if (issuer.introspection === undefined) return null
  const flaw = broken === undefined ? {} : flawOf(brokenOpaqueTokens, broken, caller)
  const token = randomBytes(broken === 'oversized' ? 2049 : 24).toString('hex')
  const claims = { active: true, token_type: 'Bearer', ...claimsOf(issuer, content), ...flaw }
  if (flaw !== null) answers.set(token, claims)
  return token
}

/** All broken opaque tokens of the issuer of an attack; none if it does not introspect. */
export function badOpaqueTokens(app: object, options: AttackOptions): Bad[] {
  const { issuer, sub = 'alice', claims, algorithm } = options
  const content = { sub, claims, algorithm }
  return Object.keys(issuer === undefined ? {} : brokenOpaqueTokens).flatMap((flaw): Bad[] => {
    const broken = flaw as BrokenOpaqueToken
    const token = opaqueToken(app, String(issuer), content, 'authAttacks', broken)
    return token === null ? [] : [[`opaque, ${flaw}`, token]]
  })
}
