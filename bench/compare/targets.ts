import type { Target } from '../support/report.js'
import { share, table } from './markdown.js'
import type { Growth } from './memory.js'
import type { Result } from './rounds.js'

/** The least that each share has to be, by the name of its variant. */
const leastShares: Readonly<Record<string, number>> = {
  'HS256: by hand with a map, Node 24': 0.97,
  'RS256: by hand with a map, Node 24': 0.95,
  'ES256: by hand with a map, Node 24': 0.95,
  'HS256: @fastify/jwt, synchronous, cache, Node 24': 1.15,
  'RS256: @fastify/jwt, synchronous, cache, Node 24': 1.15,
  'ES256: @fastify/jwt, synchronous, cache, Node 24': 1.15,
  '10,000 tokens in rotation: one token, Node 24': 0.9,
  '20,000 tokens in rotation: @fastify/jwt, synchronous, no cache, Node 24': 0.97,
  '20,000 tokens in rotation: @fastify/jwt, jwtVerify(), Node 24': 1.12,
  'HS256: by hand with a map, Node 20': 0.93,
  'HS256, a scope in the mark: without, Node 24': 0.98,
  'HS256, sessions: without, Node 24': 0.98,
  'HS256, in a cookie: in a header, Node 24': 0.95,
  'an API key, cached: HS256, Node 24': 0.95,
  'an API key, cached: HS256, Node 20': 0.92,
  'HS256, a key set, cached: one key without kid, Node 24': 0.98,
  'HS256, a key set, first seen: one key without kid, Node 24': 0.97,
  'ES256, a key set, cached: one key without kid, Node 24': 0.98,
  'ES256, a key set, first seen: one key without kid, Node 24': 0.97,
  'ES256, of an issuer: of our own, Node 24': 0.98,
  'fastify-authn, unmarked route, Node 24': 0.98,
  'fastify-authn, unmarked route, Node 20': 0.98,
  'fastify-authn, Basic, cached, Node 24': 0.8,
}

/** What is judged beside the requests. */
export interface Others {
  /** What the plugin adds to the boot, as a multiple of what @fastify/jwt adds. */
  readonly bootRatio: number
  readonly growth: Growth
}

/** The shares that have to hold, of some of the variants. */
export function shareTargets(results: readonly Result[]): Target[] {
  return results.flatMap(({ variant: { name }, ratio }): Target[] => {
    const bound = leastShares[name]
    return bound === undefined ? [] : [{ name, found: ratio.median, bound, kind: 'least' }]
  })
}

/** All that has to hold, by the medians. */
export function targetsOf(results: readonly Result[], { bootRatio, growth }: Others): Target[] {
  const shares = shareTargets(results)
  const missing = Object.keys(leastShares).filter(
    (each) => !shares.some(({ name }) => name === each),
  )
  if (missing.length > 0) throw new Error(`There is no variant ${missing.join(', ')}`)
  const boot = { name: 'boot added with HMAC: @fastify/jwt alone, Node 24', found: bootRatio }
  const heap = { name: 'heap after 100,000 tokens: before', found: growth.after / growth.before }
  return [...shares, { ...boot, bound: 1.8, kind: 'most' }, { ...heap, bound: 1.1, kind: 'most' }]
}

/** The targets as Markdown. */
export function targetsTable(targets: readonly Target[]): string {
  const rows = targets.map(({ name, found, bound, kind }) => {
    const isMet = kind === 'least' ? found >= bound : found <= bound
    const sign = kind === 'least' ? '≥' : '≤'
    return [name, share(found), `${sign} ${share(bound)}`, isMet ? 'met' : '**missed**']
  })
  return table(['target', 'found', 'wanted', ''], rows)
}
