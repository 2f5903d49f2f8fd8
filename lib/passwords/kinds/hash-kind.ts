import type { TSchema } from '@sinclair/typebox/type'
import type { RehashEvent } from '../../../types/events.js'
import type { HashAlgorithm } from '../../../types/passwords.js'

/** The parameters of a hash; 0 for those that its algorithm does not have. `memory` is that of argon2, in KiB. */
export type Strength = Readonly<
  Record<'cost' | 'memory' | 'passes' | 'blockSize' | 'parallelism', number>
>
export const noStrength: Strength = { cost: 0, memory: 0, passes: 0, blockSize: 0, parallelism: 0 }

/** Salt and key of a hash whose kind reads the text itself. */
export const noBytes: Buffer = Buffer.alloc(0)

/** The salt of work whose result is not used. */
export const dummySalt: Buffer = Buffer.from('fastify-authn---')

/** A stored text that a kind has read. */
export interface StoredHash {
  readonly kind: HashKind
  readonly name: RehashEvent['from']
  readonly text: string
  readonly strength: Strength
  readonly salt: Buffer
  readonly key: Buffer
}

/** Called with the error that the client gets while a run goes on that takes too long. */
export type OnLate = (error: Error) => void

/** One kind of stored hashes. What its engine throws passes through. */
export interface HashKind {
  /** Reads a stored text, and never throws. @returns null where it is no hash of this kind */
  parse(text: string): StoredHash | null
  /** The memory of one comparison, in KiB; 0 where the queue does not limit it. */
  memory(strength: Strength): number
  /** In rounds for bcrypt; in KiB that are written or read for the others. */
  work(strength: Strength): number
  matches(password: string, stored: StoredHash, onLate: OnLate): Promise<boolean>
  /**
   * Does the work of a comparison whose answer does not matter.
   *
   * @param done - a stored hash of this kind that was compared already: only what it lacks is done
   */
  spend(
    password: string,
    wanted: Strength,
    done: StoredHash | null,
    onLate: OnLate,
  ): Promise<unknown>
  /** The most memory that {@link spend} needs, in KiB. */
  spendMemory(wanted: Strength, done: StoredHash | null): number
}

/** A kind that new hashes can have. */
export interface HashAlgorithmKind extends HashKind {
  readonly name: HashAlgorithm
  /** Its options, with their limits. */
  readonly members: { readonly [Name in keyof Strength]?: TSchema }
  readonly defaults: Strength
  /** The most bytes of a password that it uses. */
  readonly longest: number
  /** Loads the engine. @throws (rejects) where there is none */
  load(): Promise<unknown>
  /** What is wrong with parameters that have the right limits each; null for nothing. */
  problem(strength: Strength): string | null
  /** Whether the parameters are below those of the OWASP Password Storage Cheat Sheet. */
  isBelowOwasp(strength: Strength): boolean
  /** Whether a stored hash is replaced at the next login. */
  isWeaker(stored: StoredHash, wanted: Strength): boolean
  hash(password: string, wanted: Strength): Promise<string>
}
