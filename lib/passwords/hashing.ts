import * as Type from '@sinclair/typebox/type'
import { wrongOption } from '../errors/errors.js'
import { check, oneOf, options, seconds, whole } from '../options/check.js'
import { defaults, withDefaults } from '../options/defaults.js'
import type { HashingOptions } from '../../types/passwords.js'
import { argon2 } from './kinds/argon2.js'
import { bcrypt } from './kinds/bcrypt.js'
import { foreignKind } from './kinds/foreign.js'
import { scrypt } from './kinds/scrypt.js'
import {
  noStrength,
  type HashAlgorithmKind,
  type HashKind,
  type StoredHash,
  type Strength,
} from './kinds/hash-kind.js'

/** The algorithms of new hashes. Every app verifies the hashes of all of them. */
export const kinds: readonly HashAlgorithmKind[] = [bcrypt, argon2, scrypt]

/** An algorithm with its parameters, whose work each rejection takes. */
export interface Profile<Kind extends HashKind = HashKind> {
  readonly kind: Kind
  readonly strength: Strength
}

/** The longest password in bytes, without options of an app: longer texts take too much work (CVE-2013-1443). */
export const longestText = 512

export const longestFor = ({ longest }: HashKind): number => Math.min(longest, longestText)

const algorithm = oneOf(kinds.map(({ name }) => name))
const parameterNames = Object.keys(noStrength) as (keyof Strength)[]

export const parametersOf = (strength: Strength): [string, number][] =>
  Object.entries(strength).filter(([, value]) => value > 0)

const migrated = "an object: { algorithm: 'bcrypt', cost: 10 }, or { pattern, verify, sample }"

const schema = options({
  algorithm,
  ...Object.fromEntries(parameterNames.map((name) => [name, Type.Any()])),
  migrateFrom: Type.Array(Type.Object({}, { description: migrated }), {
    maxItems: 4,
    description: 'an array of at most 4 entries',
  }),
  maxCost: whole(4, 31),
  maxMemory: whole(8192, 16_777_216, ' in KiB: 262144 for 256 MiB'),
  maxQueue: whole(0, 1_000_000),
  maxWait: seconds(60),
})

const ofQueue = ['maxMemory', 'maxQueue', 'maxWait'] as const

/** Checks the option, and adds that of the first registration of its app, which has set the queue for all. */
export function inheritHashing(first?: HashingOptions, option: unknown = {}): HashingOptions {
  const given = withDefaults({}, check<HashingOptions>(schema, option, 'hashing'))
  const shared = { ...defaults.hashing, ...first }
  const other = ofQueue.find((each) => given[each] !== undefined && given[each] !== shared[each])
  if (first !== undefined && other !== undefined) {
    wrongOption(
      `option "hashing.${other}": found ${given[other]}, which has no effect, expected ${Number(shared[other])} as in the first registration of the app, whose queue all share. Set it there, or leave it out here.`,
    )
  }
  const isOther =
    given.algorithm !== undefined && given.algorithm !== (first?.algorithm ?? 'bcrypt')
  const dropped = isOther ? [...parameterNames, 'migrateFrom'] : []
  const kept = Object.entries(first ?? {}).filter(([name]) => !dropped.includes(name))
  return { ...Object.fromEntries(kept), ...given } as HashingOptions
}

export type ResolvedHashing = ReturnType<typeof resolveHashing>

/** @param timeout - seconds that `verify` of a foreign kind may take. @throws ERR_AUTH_OPTION */
export function resolveHashing(given: HashingOptions, timeout?: number) {
  const resolved = withDefaults(defaults.hashing, given)
  const { migrateFrom = [], maxCost, maxMemory, concurrency, maxQueue, maxWait, ...own } = resolved
  const places = ['hashing', ...migrateFrom.map((_, at) => `hashing.migrateFrom.${at}`)]
  const wanted = profileOf(own, 'hashing')
  const entries = migrateFrom.map((entry, at): Profile => {
    const place = String(places[at + 1])
    const [isOwn, isForeign] = ['algorithm', 'pattern'].map((name) => Object.hasOwn(entry, name))
    if (isOwn === isForeign) {
      wrongOption(
        `option "${place}": found ${isOwn === true ? 'both "algorithm" and' : 'neither "algorithm" nor'} "pattern", expected one of them: { algorithm: 'bcrypt', cost: 10 }, or { pattern, verify, sample }.`,
      )
    }
    if (isOwn === true) return profileOf(entry, place)
    return { kind: foreignKind(entry, place, kinds, timeout), strength: noStrength }
  })
  const profiles = [wanted, ...entries]
  for (const [at, { kind }] of profiles.entries()) {
    const first = profiles.findIndex((each) => each.kind === kind)
    if (first < at) {
      wrongOption(
        `option "${places[at]}.algorithm": found ${kind.name}, which "${places[first]}" has already, expected another algorithm. Leave the entry out.`,
      )
    }
  }
  const costs = profiles.map(({ kind, strength }) => (kind === bcrypt ? strength.cost : 0))
  const ceilings = { maxCost: given.maxCost ?? Math.max(maxCost, ...costs), maxMemory }
  for (const [at, profile] of profiles.entries()) {
    const problem = ceilingOf(profile, ceilings)
    const { kind, strength } = profile
    const name = kind === bcrypt ? 'maxCost' : 'maxMemory'
    const found = kind === bcrypt ? strength.cost : kind.memory(strength)
    if (problem !== null) {
      wrongOption(
        `option "hashing.${name}": found ${ceilings[name]}, but the hashes of "${places[at]}" (${found}) would not be accepted: their ${problem}. Raise "hashing.${name}", or lower the parameters.`,
      )
    }
  }
  const foreign = entries.map(({ kind }) => kind).filter(({ name }) => name === 'other')
  const queue = { concurrency, maxQueue, maxWait, budget: given.maxMemory }
  return { wanted, profiles, known: [...kinds, ...foreign], ...ceilings, queue }
}

/** Checks an algorithm and its parameters, and adds defaults. @param where - the name of the option, for errors */
export function profileOf(given: object, where = ''): Profile<HashAlgorithmKind> {
  const prefix = where === '' ? '' : `${where}.`
  const { algorithm: name = 'bcrypt', ...parameters } = withDefaults({}, given as HashingOptions)
  check(algorithm, name, `${prefix}algorithm`)
  const kind = kinds.find((each) => each.name === name) as HashAlgorithmKind
  const known = Object.keys(kind.members)
  const other = parameterNames.find((each) => each in parameters && !known.includes(each))
  if (other !== undefined) {
    wrongOption(
      `option "${prefix}${other}": found beside the algorithm ${name}, which has no such parameter, expected ${known.join(', ')}. Leave it out, or set "${prefix}algorithm".`,
    )
  }
  const checked = check<Partial<Strength>>(options(kind.members), parameters, where)
  const strength = withDefaults(kind.defaults, checked)
  const problem = kind.problem?.(strength) ?? null
  if (problem !== null) wrongOption(`option "${prefix}cost": ${problem}.`)
  return { kind, strength }
}

/** @returns the ceiling that a hash is above; null for none */
export function ceilingOf(
  { kind, strength }: Profile | StoredHash,
  { maxCost, maxMemory }: Pick<ResolvedHashing, 'maxCost' | 'maxMemory'>,
): string | null {
  if (kind === bcrypt) return strength.cost > maxCost ? 'cost is above "hashing.maxCost"' : null
  if (kind.memory(strength) > maxMemory) return 'memory is above "hashing.maxMemory"'
  if (kind.work(strength) > 4 * maxMemory) return 'work is above 4 times "hashing.maxMemory"'
  return null
}

/** Whether a hash takes less memory or work than the least that is wanted. */
export function isBelow(
  { kind, strength }: Profile,
  least: { readonly memory: number; readonly work: number },
): boolean {
  return kind.memory(strength) < least.memory || kind.work(strength) < least.work
}
