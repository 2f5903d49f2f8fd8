import type { TSchema } from '@sinclair/typebox/type'
import type { RehashEvent } from '../../../types/events.js'
import type { HashAlgorithm } from '../../../types/passwords.js'

/** The parameters of a hash; 0 for those that its algorithm does not have. `memory` is that of argon2, in KiB. */
export type Strength = Readonly<
  Record<'cost' | 'memory' | 'passes' | 'blockSize' | 'parallelism', number>
>
export const noStrength: Strength = { cost: 0, memory: 0, passes: 0, blockSize: 0, parallelism: 0 }

export interface StoredHash {
  readonly kind: HashKind
  readonly name: RehashEvent['from']
  readonly text: string
  readonly strength: Strength
}

/** Called with the error that the client gets while a run goes on that takes too long. */
export type OnLate = (error: Error) => void

/** A kind of stored hashes. Errors of its engine are thrown as they are. */
export interface HashKind {
  readonly name: HashAlgorithm | 'other'
  /** The most bytes of a password that it uses. */
  readonly longest: number
  load(): Promise<unknown>
  /** Reads a stored text, and never throws. @returns null where it is no hash of this kind */
  parse(text: string): StoredHash | null
  /** The memory of one run, in KiB; 0 where the queue does not limit it. */
  memory(strength: Strength): number
  /** The work of one run: rounds for bcrypt, and for the others KiB that are written or read. */
  work(strength: Strength): number
  matches(password: string, stored: StoredHash, onLate: OnLate): Promise<boolean>
  /** The runs that do the wanted work, or what `done` lacks of it: a hash of this kind that was compared already. */
  missing(wanted: Strength, done: StoredHash | null): readonly Strength[]
  /** Does the work of a comparison whose answer does not matter. */
  spend(password: string, strength: Strength, onLate: OnLate): Promise<unknown>
}

/** A kind that new hashes can have. */
export interface HashAlgorithmKind extends HashKind {
  readonly name: HashAlgorithm
  readonly members: { readonly [Name in keyof Strength]?: TSchema }
  readonly defaults: Strength
  /** The least memory and work of the OWASP Password Storage Cheat Sheet. */
  readonly owasp: { readonly memory: number; readonly work: number }
  /** Says why a cost within its limits does not fit the other parameters; null if it fits. */
  problem?(strength: Strength): string | null
  hash(password: string, wanted: Strength): Promise<string>
}
