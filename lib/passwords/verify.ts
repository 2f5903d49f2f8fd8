import type { FastifyRequest } from 'fastify'
import { faultOf, isAuthenticationError, isUsageError, wrongOption } from '../errors/errors.js'
import { ceilingOf, type Profile, type ResolvedHashing } from './hashing.js'
import type { HashAlgorithmKind, HashKind, OnLate, StoredHash } from './kinds/hash-kind.js'
import { kinds } from './kinds/table.js'
import type { HashingQueue } from './queue.js'

/** What comparing and hashing needs of the options of an app. */
export interface Hashing extends Pick<
  ResolvedHashing,
  'wanted' | 'profiles' | 'foreign' | 'maxCost' | 'maxMemory'
> {
  readonly queue: HashingQueue
  readonly maxPasswordBytes: number | false
}

type Read = { readonly hash: StoredHash } | { readonly hash: null; readonly reason: string }

/** @returns a hash within the ceilings, or why there is none. It quotes nothing of the text */
export function readHash(text: unknown, hashing: Hashing): Read {
  if (typeof text !== 'string' || text === '') {
    return { hash: null, reason: text === '' ? 'it is empty' : 'it is no string' }
  }
  const hash = parseHash(text, [...kinds, ...hashing.foreign])
  if (hash === null) {
    return { hash, reason: 'it is no bcrypt, argon2 or scrypt hash, nor of "migrateFrom"' }
  }
  const ceiling = ceilingOf(hash, hashing)
  return ceiling === null ? { hash } : { hash: null, reason: `its ${ceiling}` }
}

/** Reads a stored text by the first kind that knows it. */
export function parseHash(text: string, known: readonly HashKind[]): StoredHash | null {
  for (const kind of known) {
    const hash = kind.parse(text)
    if (hash !== null) return hash
  }
  return null
}

/** Functions that are called before the password is compared, and after a wrong one. */
interface Steps {
  readonly request?: FastifyRequest
  before?(waited: boolean): void | Promise<void>
  onWrong?(): void
}

/**
 * Compares in turn. A false takes the work of all profiles, even if the stored hash is weaker or the client disconnects
 * meanwhile: its time must not tell which users exist.
 *
 * @param stored - null for a user who does not exist or has no hash
 * @throws (rejects) ERR_AUTH_HASHING; ERR_AUTH_USER_SERVICE_TIMEOUT, while the place in the queue stays taken; what
 * the queue and `before` throw
 */
export function verifyInTurn(
  hashing: Hashing,
  password: string,
  stored: StoredHash | null,
  { request, before, onWrong }: Steps = {},
): Promise<boolean> {
  const hash = stored !== null && canMatch(hashing, password, stored) ? stored : null
  return new Promise((resolve, reject) => {
    const work = async (waited: boolean): Promise<boolean> => {
      await before?.(waited)
      try {
        if (hash !== null && (await hash.kind.matches(password, hash, reject))) return true
        onWrong?.()
        await spend(hashing, password, hash, reject)
        return false
      } catch (error) {
        throw isTimeout(error) ? error : faultOf('ERR_AUTH_HASHING', error)
      }
    }
    hashing.queue.run(work, request, memoryOf(hashing, hash)).then(resolve, reject)
  })
}

const isTimeout = (error: unknown): boolean =>
  isAuthenticationError(error) && error.code === 'ERR_AUTH_USER_SERVICE_TIMEOUT'

/** Does what a comparison lacks of the work of all profiles. */
async function spend(
  { profiles, maxPasswordBytes: most }: Hashing,
  password: string,
  done: StoredHash | null,
  onLate: OnLate,
): Promise<void> {
  const text = most === false || Buffer.byteLength(password) <= most ? password : 'too long'
  for (const { kind, strength } of profiles) {
    await kind.spend(text, strength, done?.kind === kind ? done : null, onLate)
  }
}

function canMatch({ maxPasswordBytes }: Hashing, password: string, { kind }: StoredHash): boolean {
  const bytes = Buffer.byteLength(password)
  if (maxPasswordBytes === false) return bytes > 0
  const most = Math.min(maxPasswordBytes, kind === kinds[0] ? kinds[0].longest : Infinity)
  return bytes > 0 && bytes <= most
}

/** The most KiB that a run of a request may take. */
function memoryOf({ profiles }: Hashing, stored: StoredHash | null): number {
  const own = stored === null ? 0 : stored.kind.memory(stored.strength)
  const ofProfiles = profiles.map(({ kind, strength }) =>
    Math.max(
      kind.spendMemory(strength, stored?.kind === kind ? stored : null),
      kind.memory(strength),
    ),
  )
  return Math.max(own, ...ofProfiles)
}

/** @throws (rejects) ERR_AUTH_OPTION, ERR_AUTH_OVERLOADED, ERR_AUTH_HASHING */
export async function hashInTurn(
  { wanted, queue }: { wanted: Profile<HashAlgorithmKind>; queue: HashingQueue },
  password: string,
  longest: number,
  request?: FastifyRequest,
): Promise<string> {
  const { kind, strength } = wanted
  const bytes = typeof password === 'string' ? Buffer.byteLength(password) : 0
  const most = Math.min(kind.longest, longest)
  if (bytes < 1 || bytes > most) {
    const why = most === kind.longest ? ` (${kind.name} ignores what comes after)` : ''
    wrongOption(
      `hashPassword: found ${bytes} bytes of text, expected a password of 1 to ${most} bytes${why}.`,
    )
  }
  await kind.load().catch((error: unknown) => {
    throw isUsageError(error) ? error : faultOf('ERR_AUTH_HASHING', error)
  })
  const work = async (): Promise<string> => {
    try {
      return await kind.hash(password, strength)
    } catch (error) {
      throw faultOf('ERR_AUTH_HASHING', error)
    }
  }
  return queue.run(work, request, kind.memory(strength))
}

/** Whether a stored hash is replaced by one of the wanted strength. */
export function isOutdated(
  { kind, strength }: Profile<HashAlgorithmKind>,
  stored: StoredHash | null,
): boolean {
  return stored?.kind !== kind || kind.isWeaker(stored, strength)
}

/** @throws ERR_AUTH_OPTION */
export function requireText(password: unknown): asserts password is string {
  if (typeof password === 'string') return
  wrongOption(`verifyPassword: found a password of type ${typeof password}, expected a string.`)
}
