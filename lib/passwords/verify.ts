import type { FastifyRequest } from 'fastify'
import { faultOf, isAuthenticationError, isUsageError, wrongOption } from '../errors/errors.js'
import { ceilingOf, isBelow, type Profile, type ResolvedHashing } from './hashing.js'
import type { HashAlgorithmKind, HashKind, StoredHash } from './kinds/hash-kind.js'
import { nfcOf } from './nfc.js'
import type { HashingQueue } from './queue.js'

export interface Hashing extends Omit<ResolvedHashing, 'queue'> {
  readonly queue: HashingQueue
  readonly maxPasswordBytes: number | false
}

type Read = { readonly hash: StoredHash } | { readonly hash: null; readonly reason: string }

/** @returns a hash within the ceilings, or why there is none. It quotes nothing of the text */
export function readHash(
  text: unknown,
  hashing: Pick<Hashing, 'known' | 'maxCost' | 'maxMemory'>,
): Read {
  if (typeof text !== 'string') return { hash: null, reason: 'it is not a string' }
  if (text === '') return { hash: null, reason: 'it is empty' }
  const hash = parseHash(text, hashing.known)
  if (hash === null) {
    return {
      hash,
      reason: 'it is not a hash of bcrypt, argon2 or scrypt, nor of an entry of "migrateFrom"',
    }
  }
  const ceiling = ceilingOf(hash, hashing)
  return ceiling === null ? { hash } : { hash: null, reason: `its ${ceiling}` }
}

export function parseHash(text: string, known: readonly HashKind[]): StoredHash | null {
  for (const kind of known) {
    const hash = kind.parse(text)
    if (hash !== null) return hash
  }
  return null
}

interface Steps {
  readonly request?: FastifyRequest
  before?(waited: boolean): void | Promise<void>
  onWrong?(): void
}

/** The most bytes of a new password. */
export function longestOf({ maxPasswordBytes, wanted }: Hashing): number {
  return Math.min(wanted.kind.longest, maxPasswordBytes === false ? Infinity : maxPasswordBytes)
}

/** The work of one spelling of a password: the hash to compare, null where it is too long, and what a mismatch lacks. */
function planOf({ profiles, maxPasswordBytes }: Hashing, text: string, stored: StoredHash | null) {
  const bytes = Buffer.byteLength(text)
  const isShort = maxPasswordBytes === false || bytes <= maxPasswordBytes
  // bcrypt ignores all bytes after the 72nd. Longer passwords are compared only with `maxPasswordBytes: false`.
  const fits = maxPasswordBytes === false || bytes <= (stored?.kind.longest ?? 0)
  const hash = bytes > 0 && isShort && fits ? stored : null
  const missing = profiles.flatMap(({ kind, strength }) => {
    const all = kind.missing(strength, hash?.kind === kind ? hash : null)
    return all.map((each) => ({ kind, strength: each, dummy: isShort ? text : 'too long' }))
  })
  return { text, hash, missing }
}

/**
 * Compares the NFC of a password, then the password as it was typed, which is what other programs hash. A mismatch
 * takes the work of all profiles for each, even if the stored hash is weaker or the client disconnects meanwhile: its
 * time must not tell which users exist. After ERR_AUTH_USER_SERVICE_TIMEOUT, the place in the queue stays taken.
 */
export function verifyInTurn(
  hashing: Hashing,
  password: string,
  stored: StoredHash | null,
  { request, before, onWrong }: Steps = {},
): Promise<string | null> {
  const texts = new Set([nfcOf(password), password])
  const plans = Array.from(texts, (text) => planOf(hashing, text, stored))
  const missing = plans.flatMap((plan) => plan.missing)
  const all: readonly Profile[] = [...hashing.profiles, ...missing, ...(stored ? [stored] : [])]
  const memory = Math.max(0, ...all.map(({ kind, strength }) => kind.memory(strength)))
  return new Promise((resolve, reject) => {
    const work = async (waited: boolean): Promise<string | null> => {
      await before?.(waited)
      try {
        for (const { text, hash } of plans) {
          if (hash !== null && (await hash.kind.matches(text, hash, reject))) return text
        }
        onWrong?.()
        for (const { kind, strength, dummy } of missing) await kind.spend(dummy, strength, reject)
        return null
      } catch (error) {
        throw isTimeout(error) ? error : faultOf('ERR_AUTH_HASHING', error)
      }
    }
    hashing.queue.run(work, request, memory).then(resolve, reject)
  })
}

const isTimeout = (error: unknown): boolean =>
  isAuthenticationError(error) && error.code === 'ERR_AUTH_USER_SERVICE_TIMEOUT'

/** Hashes the NFC of a password. @throws (rejects) ERR_AUTH_OPTION, ERR_AUTH_OVERLOADED, ERR_AUTH_HASHING */
export async function hashInTurn(
  { wanted, queue }: Pick<Hashing, 'wanted' | 'queue'>,
  password: string,
  longest: number,
  request?: FastifyRequest,
): Promise<string> {
  const { kind, strength } = wanted
  const text = typeof password === 'string' ? nfcOf(password) : ''
  const bytes = Buffer.byteLength(text)
  const most = Math.min(kind.longest, longest)
  if (bytes < 1 || bytes > most) {
    const why = most === kind.longest ? ` (${kind.name} ignores what comes after)` : ''
    wrongOption(
      `hashPassword: found ${bytes} bytes of text, expected a password of 1 to ${most} bytes${why}.`,
    )
  }
  const fail = (error: unknown): never => {
    throw isUsageError(error) ? error : faultOf('ERR_AUTH_HASHING', error)
  }
  await kind.load().catch(fail)
  const work = (): Promise<string> => kind.hash(text, strength).catch(fail)
  return queue.run(work, request, kind.memory(strength))
}

export function isOutdated(
  { kind, strength }: Profile<HashAlgorithmKind>,
  stored: StoredHash | null,
): boolean {
  const least = { memory: kind.memory(strength), work: kind.work(strength) }
  // A hash of argon2i has the kind of argon2id, but another name.
  return stored === null || stored.name !== kind.name || isBelow(stored, least)
}

export function requireText(password: unknown): asserts password is string {
  if (typeof password === 'string') return
  wrongOption(`verifyPassword: found a password of type ${typeof password}, expected a string.`)
}
