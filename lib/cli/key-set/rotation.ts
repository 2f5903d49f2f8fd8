import { fail, misuse } from '../command.js'
import { count, timeText } from '../text.js'
import type { KeyFileEntry } from '../../../types/keys.js'
import type { SigningMethod } from '../../../types/jwt.js'

/** A key of a key set file, with its `kid`, which need not be in the file. */
export interface SetKey {
  readonly entry: KeyFileEntry
  readonly kid: string
  readonly bits?: number | undefined
}

/** Makes a `next` key, with the passphrase of another key, and with its size where both are of RSA. */
export type MakeNext = (alg: SigningMethod, like: SetKey) => Promise<SetKey>

export interface Changed {
  readonly keys: readonly SetKey[]
  /** The key that signs from now on, if it is another one than before. */
  readonly signs?: SetKey
  /** The key that signed until now, and verifies until its `until`. */
  readonly verifies?: SetKey
  readonly made?: SetKey
  readonly removed: readonly SetKey[]
}

/** The largest clock tolerance that an app can have, in seconds. */
const largestTolerance = 300

export interface Rotation {
  readonly alg?: SigningMethod | undefined
  /** Seconds: see `keys rotate --help`. */
  readonly life: number
  readonly lag: number
  readonly settle: number
}

/**
 * The `next` key becomes the `sign` key, that one verifies until the last token that it signs has expired, and a new
 * `next` key is made. Keys that are past their `until` are removed. A key set without a `next` key gets one, and nothing
 * else.
 * @throws CliError when it is too early, and when it is not clear which keys are meant
 */
export async function rotateKeySet(
  keys: readonly SetKey[],
  { alg, life, lag, settle }: Rotation,
  make: MakeNext,
): Promise<Changed> {
  const sign = signKey(keys, alg)
  const next = nextKey(keys, sign, alg)
  const removed = keys.filter(({ entry }) => isPast(entry))
  const left = keys.filter((key) => !removed.includes(key))
  const since = timeText(Date.now())
  if (next === undefined) {
    // The date is there because the key has to be known for a while before it signs.
    const made = withEntry(await make(alg ?? sign.entry.alg, sign), { since })
    return { keys: [...left, made], made, removed }
  }
  checkAge(sign, settle)
  checkAge(next, settle)
  const made = await make(alg ?? next.entry.alg, next)
  const signs = withEntry(next, { state: 'sign', since })
  // Rounded up to a whole second.
  const until = timeText(Date.now() + (lag + life + largestTolerance) * 1000 + 999)
  const verifies = withEntry(sign, { state: 'verify', since, until })
  const replaced = new Map([[sign, verifies]]).set(next, signs)
  const kept = left.map((key) => replaced.get(key) ?? key)
  return { keys: [...kept, made], signs, verifies, made, removed }
}

/**
 * Removes a key at once, with all its tokens. For a `sign` key the `next` key takes over; where there is none, a new one.
 * @throws CliError when there is no such key, and when it is the only key of the key set and signs nothing
 */
export async function revokeKey(
  keys: readonly SetKey[],
  kid: string,
  make: MakeNext,
): Promise<Changed> {
  const revoked = keys.find((key) => key.kid === kid)
  if (revoked === undefined) return fail('the key set has no such key.', 'See: keys list')
  const left = keys.filter((key) => key !== revoked)
  const { alg, state } = revoked.entry
  const removed = [revoked]
  const since = timeText(Date.now())
  if (state === 'sign') {
    const next = nextKey(left, revoked)
    const heir = next ?? (await make(alg, revoked))
    const signs = withEntry(heir, { state: 'sign', since })
    const made = await make(signs.entry.alg, heir)
    return { keys: [...left.filter((key) => key !== next), signs, made], signs, made, removed }
  }
  if (state === 'next' && left.every(({ entry }) => entry.state !== 'next')) {
    const made = withEntry(await make(alg, revoked), { since })
    return { keys: [...left, made], made, removed }
  }
  if (left.length === 0) fail('it is the only key, and a key set cannot be empty.')
  return { keys: left, removed }
}

function signKey(keys: readonly SetKey[], alg: SigningMethod | undefined): SetKey {
  const all = keys.filter(({ entry }) => entry.state === 'sign')
  // If only one key signs, --alg may name another algorithm: that is how an app moves to it.
  const found = all.length === 1 ? all[0] : all.find(({ entry }) => entry.alg === alg)
  if (found !== undefined) return found
  if (all.length === 0) return fail('the key set has no key that signs: nothing can be rotated.')
  const names = all.map(({ entry }) => entry.alg).join(', ')
  return misuse(`the key set signs with ${names}.`, 'Say which one to rotate: --alg …')
}

function nextKey(keys: readonly SetKey[], sign: SetKey, alg?: SigningMethod): SetKey | undefined {
  const able = keys.filter(({ entry }) => entry.state === 'next')
  const own = [alg, sign.entry.alg].flatMap((each) =>
    able.filter(({ entry }) => entry.alg === each),
  )
  // If several keys sign, the `next` key of another algorithm is to follow another key.
  const isOnly = keys.every((key) => key === sign || key.entry.state !== 'sign')
  return own[0] ?? (isOnly && able.length === 1 ? able[0] : undefined)
}

/** @throws CliError (1) while a key is so young that consumers may not know the one that would sign */
function checkAge({ entry }: SetKey, settle: number): void {
  const age = entry.since === undefined ? settle : (Date.now() - Date.parse(entry.since)) / 1000
  const left = Math.ceil(settle - age)
  // A `settle` of 0 never fails, even if the clock of another machine is ahead.
  if (settle === 0 || left <= 0) return
  fail(
    `too early: the ${entry.state} key is younger than ${settle} seconds (--settle); wait ${count(left, 'second')}. Nothing was changed.`,
    'Until then consumers may have cached the keys of before, and would reject tokens of the next key.',
  )
}

export function isPast({ until }: KeyFileEntry): boolean {
  return until !== undefined && Date.parse(until) <= Date.now()
}

function withEntry(key: SetKey, changes: Partial<KeyFileEntry>): SetKey {
  return { ...key, entry: { ...key.entry, ...changes } }
}
