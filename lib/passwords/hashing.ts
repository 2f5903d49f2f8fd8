import * as Type from '@sinclair/typebox/type'
import { wrongOption } from '../errors/errors.js'
import { check, oneOf, options, seconds, whole } from '../options/check.js'
import { defaults, withDefaults } from '../options/defaults.js'
import type { HashingOptions } from '../../types/passwords.js'
import { foreignKind } from './kinds/foreign.js'
import {
  noStrength,
  type HashAlgorithmKind,
  type HashKind,
  type StoredHash,
  type Strength,
} from './kinds/hash-kind.js'
import { kinds } from './kinds/table.js'

/** An algorithm with its parameters, whose work each rejection takes. */
export interface Profile<Kind extends HashKind = HashKind> {
  readonly kind: Kind
  readonly strength: Strength
}

/** In bytes, without options of an app. The limit is there for the work that a long text takes (CVE-2013-1443). */
export const longestText = 512

/** The most bytes of a password that an algorithm accepts by default. */
export const longestFor = ({ longest }: HashAlgorithmKind): number => Math.min(longest, longestText)

export type ResolvedHashing = ReturnType<typeof resolveHashing>

const algorithm = oneOf(kinds.map(({ name }) => name))
const parameterNames = Object.keys(noStrength) as (keyof Strength)[]

const schema = options({
  algorithm,
  ...Object.fromEntries(parameterNames.map((name) => [name, Type.Any()])),
  migrateFrom: Type.Array(Type.Object({}, { description: 'an object' }), {
    maxItems: 4,
    description: 'an array of at most 4 entries',
  }),
  maxCost: whole(4, 31),
  maxMemory: {
    ...whole(8192, 16_777_216),
    description: 'a whole number from 8192 to 16777216 in KiB: 262144 for 256 MiB',
  },
  concurrency: whole(1, 1024),
  maxQueue: whole(0, 1_000_000),
  maxWait: seconds(60),
})

/** What the option `hashing` may be. @throws ERR_AUTH_OPTION */
export function checkHashing(given: unknown): HashingOptions {
  return withDefaults({}, check<HashingOptions>(schema, given, 'hashing')) as HashingOptions
}

/** The options of a registration inside of an app: those of the first one are the defaults of the others. */
export function inheritHashing(outer: HashingOptions, given: HashingOptions): HashingOptions {
  const isOther = given.algorithm !== undefined && given.algorithm !== (outer.algorithm ?? 'bcrypt')
  const dropped = isOther ? [...parameterNames, 'migrateFrom'] : []
  const kept = Object.entries(outer).filter(([name]) => !dropped.includes(name))
  return { ...Object.fromEntries(kept), ...given }
}

/**
 * @param given - {@link checkHashing} has checked it
 * @param timeout - seconds that `verify` of a foreign kind may take
 * @throws ERR_AUTH_OPTION
 */
export function resolveHashing(given: HashingOptions, timeout?: number) {
  const { migrateFrom = [], ...others } = given
  const chosen = parameterNames.concat('algorithm' as never).map((name) => [name, others[name]])
  const wanted = profileOf(withDefaults({}, Object.fromEntries(chosen) as object), 'hashing')
  const entries = migrateFrom.map((entry, at) => {
    const where = `hashing.migrateFrom.${at}`
    return 'pattern' in checkEntry(entry, where)
      ? { kind: foreignKind(entry, where, timeout), strength: noStrength }
      : profileOf(withDefaults({}, entry), where)
  })
  const profiles: readonly Profile[] = [wanted, ...entries]
  checkDoubles(profiles)
  const { maxQueue, maxWait, concurrency, ...limits } = withDefaults(defaults.hashing, others)
  const costs = profiles.map(({ kind, strength }) => (kind === kinds[0] ? strength.cost : 0))
  const { maxMemory } = limits
  const maxCost = given.maxCost ?? Math.max(limits.maxCost, ...costs)
  profiles.forEach((profile, at) => {
    const where = at === 0 ? 'hashing' : `hashing.migrateFrom.${at - 1}`
    checkCeilings(profile, { maxCost, maxMemory }, where)
  })
  const foreign = profiles.map(({ kind }) => kind).filter((kind) => !isOurs(kind))
  const queue = { concurrency, maxQueue, maxWait, budget: given.maxMemory }
  return { wanted, profiles, foreign, maxCost, maxMemory, queue }
}

export function isOurs(kind: HashKind): kind is HashAlgorithmKind {
  return kinds.includes(kind as HashAlgorithmKind)
}

/**
 * Checks an algorithm and its parameters, and adds defaults.
 *
 * @param where - the name of their option, for errors; empty for the parameters of a function
 * @throws ERR_AUTH_OPTION
 */
export function profileOf(given: object, where = ''): Profile<HashAlgorithmKind> {
  const prefix = where === '' ? '' : `${where}.`
  const { algorithm: name = 'bcrypt', ...parameters } = given as HashingOptions
  check(algorithm, name, `${prefix}algorithm`)
  const kind = kinds.find((each) => each.name === name) as HashAlgorithmKind
  const known = Object.keys(kind.members)
  const other = parameterNames.find((each) => each in parameters && !known.includes(each))
  if (other !== undefined && parameters[other] !== undefined) {
    wrongOption(
      `option "${prefix}${other}": found beside the algorithm ${name}, which has no such parameter, expected ${known.join(', ')}. Leave it out, or set "${prefix}algorithm".`,
    )
  }
  const checked = check<Partial<Strength>>(options(kind.members), parameters, where)
  const strength = withDefaults(kind.defaults, checked)
  const problem = kind.problem(strength)
  if (problem !== null) wrongOption(`option "${prefix}cost": ${problem}.`)
  return { kind, strength }
}

function checkEntry(entry: object, where: string): object {
  const [isOwn, isForeign] = ['algorithm', 'pattern'].map((name) => Object.hasOwn(entry, name))
  if (isOwn !== isForeign) return entry
  return wrongOption(
    `option "${where}": found ${isOwn === true ? 'both "algorithm" and' : 'neither "algorithm" nor'} "pattern", expected one of them: { algorithm: 'bcrypt', cost: 10 }, or { pattern, verify, sample }.`,
  )
}

function checkDoubles(profiles: readonly Profile[]): void {
  profiles.forEach(({ kind }, at) => {
    const first = profiles.findIndex((each) => each.kind === kind)
    if (first === at || !isOurs(kind)) return
    const place = first === 0 ? '"hashing"' : `"hashing.migrateFrom.${first - 1}"`
    wrongOption(
      `option "hashing.migrateFrom.${at - 1}.algorithm": found ${kind.name}, which ${place} has already, expected another algorithm. Leave the entry out.`,
    )
  })
}

export interface Ceilings {
  readonly maxCost: number
  readonly maxMemory: number
}

/** @returns the ceiling that a hash is above; null for none */
export function ceilingOf(
  { kind, strength }: Profile | StoredHash,
  { maxCost, maxMemory }: Ceilings,
): string | null {
  if (kind === kinds[0]) return strength.cost > maxCost ? `cost is above "hashing.maxCost"` : null
  if (kind.memory(strength) > maxMemory) return 'memory is above "hashing.maxMemory"'
  if (kind.work(strength) > 4 * maxMemory) return 'work is above 4 times "hashing.maxMemory"'
  return null
}

function checkCeilings(profile: Profile, ceilings: Ceilings, where: string): void {
  const problem = ceilingOf(profile, ceilings)
  if (problem === null) return
  const { kind, strength } = profile
  const [name, highest, found] =
    kind === kinds[0]
      ? ['maxCost', ceilings.maxCost, strength.cost]
      : ['maxMemory', ceilings.maxMemory, kind.memory(strength)]
  wrongOption(
    `option "hashing.${name}": found ${highest}, but the hashes of "${where}" (${found}) would not be accepted: their ${problem}. Raise "hashing.${name}", or lower the parameters.`,
  )
}
