import type { Target } from '../support/report.js'
import { share, table } from './markdown.js'
import type { Growth } from './memory.js'
import type { Result } from './rounds.js'

/** What is judged beside the comparison itself. */
export interface Others {
  readonly scaling: readonly Result[]
  /** Milliseconds that the plugin adds to the boot. */
  readonly bootAdded: number
  readonly growth: Growth
}

/** All that has to hold, by the medians. */
export function targetsOf(results: readonly Result[], others: Others): Target[] {
  return [
    ...ofOpenRoute(results),
    ...againstPeers(results),
    beyondMemory(others.scaling),
    most('boot: added to Fastify, with three families of keys, ms', others.bootAdded, 60),
    most('heap: after 100,000 tokens / before', others.growth.after / others.growth.before, 1.1),
  ]
}

function ofOpenRoute(results: readonly Result[]): Target[] {
  const of = (name: string): number => named(results, `fastify-authn, ${name}`).ratio.median
  const bounds = { HS256: 0.96, RS256: 0.91, ES256: 0.91 }
  return [
    ...Object.entries(bounds).flatMap(([algorithm, bound]) => {
      const without = of(`${algorithm}, asyncContext: false`)
      return [
        least(
          `${algorithm}, token seen before, asyncContext: false: of the open route`,
          without,
          bound,
        ),
        most(
          `${algorithm}, token seen before: lost to asyncContext`,
          without - of(algorithm),
          0.03,
        ),
      ]
    }),
    least('HS256, first seen: of the open route', of('HS256, first seen'), 0.62),
    least('Basic, remembered: of the open route', of('Basic, remembered'), 0.8),
    least(
      'unmarked route: of bare Fastify',
      of('HS256, unmarked route against bare Fastify'),
      0.99,
    ),
  ]
}

function againstPeers(results: readonly Result[]): Target[] {
  const bounds = {
    '@fastify/jwt, jwtVerify(), cache, HS256': 1.5,
    '@fastify/jwt, jwtVerify(), ES256': 6,
    '@fastify/jwt, synchronous, cache, ES256': 1.15,
  }
  return Object.entries(bounds).map(([theirs, bound]) => {
    const name = `fastify-authn / ${theirs}`
    return least(name, named(results, name).ratio.median, bound)
  })
}

function beyondMemory(scaling: readonly Result[]): Target {
  const rate = (name: string): number => named(scaling, name).ratio.median
  const name = '100,000 tokens in rotation'
  const found = rate(name) / rate(`${name}, rememberTokens: false`)
  return least(`${name}: of rememberTokens: false`, found, 0.95)
}

function named(results: readonly Result[], name: string): Result {
  const found = results.find(({ variant }) => variant.name === name)
  if (found === undefined) throw new Error(`There is no variant ${name}`)
  return found
}

function least(name: string, found: number, bound: number): Target {
  return { name, found, bound, kind: 'least' }
}

function most(name: string, found: number, bound: number): Target {
  return { name, found, bound, kind: 'most' }
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
