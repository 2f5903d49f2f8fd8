import { fail, misuse } from '../command.js'
import { count, didYouMean } from '../text.js'
import { timeText } from '../times.js'
import type { KeyFileEntry } from '../../../types/keys.js'
import type { SigningMethod } from '../../../types/jwt.js'

/** A key of a ring file, with its `kid`, which need not stand in the file. */
export interface RingKey {
  readonly entry: KeyFileEntry
  readonly kid: string
  /** Of an RSA key. */
  readonly bits?: number | undefined
}

/** Makes a `next` key, with the passphrase of another key, and with its size where both are of RSA. */
export type MakeNext = (alg: SigningMethod, like: RingKey) => Promise<RingKey>

/** What became of a ring. */
export interface Changed {
  readonly keys: readonly RingKey[]
  /** The key that signs from now on, if it is another one than before. */
  readonly signs: RingKey | null
  /** The key that signed until now and verifies for some time more. */
  readonly verifies: RingKey | null
  /** The `next` key that was made. */
  readonly made: RingKey | null
  readonly gone: readonly RingKey[]
  /** Whether the key that signs was made just now, so that no process and no consumer knows it. */
  readonly isUnknown?: boolean
}

const nothing = { signs: null, verifies: null, made: null }

/** The largest clock tolerance that an app can have, in seconds. */
const largestTolerance = 300

export interface Rotation {
  readonly alg: SigningMethod | undefined
  /** Milliseconds since 1970; the others are seconds. */
  readonly now: number
  readonly life: number
  readonly lag: number
  readonly settle: number
}

/**
 * The `next` key becomes the `sign` key, that one verifies until the last token that it signs is over, and a new
 * `next` key is made. What is past its `until` goes. A ring without a `next` key gets one, and nothing else.
 *
 * @throws CliError when it is too early, and when it is not clear which keys are meant
 */
export async function rotate(
  keys: readonly RingKey[],
  rotation: Rotation,
  make: MakeNext,
): Promise<Changed> {
  const { alg, now, life, lag, settle } = rotation
  const sign = signKey(keys, alg)
  const next = nextKey(keys, sign, alg)
  const gone = keys.filter(({ entry }) => isPast(entry, now))
  const left = keys.filter((key) => !gone.includes(key))
  const since = timeText(now, Math.floor)
  if (next === null) {
    const made = await make(alg ?? sign.entry.alg, sign)
    // It is younger than the `sign` key, and has to be known for a while before it signs.
    const dated = withEntry(made, { since })
    return { ...nothing, keys: [...left, dated], made: dated, gone }
  }
  checkAge(sign, now, settle)
  checkAge(next, now, settle)
  const made = await make(alg ?? next.entry.alg, next)
  const signs = withEntry(next, { state: 'sign', since })
  const until = timeText(now + (lag + life + largestTolerance) * 1000, Math.ceil)
  const verifies = withEntry(sign, { state: 'verify', since, until })
  const replaced = new Map([
    [sign, verifies],
    [next, signs],
  ])
  return {
    keys: [...left.map((key) => replaced.get(key) ?? key), made],
    signs,
    verifies,
    made,
    gone,
  }
}

/**
 * A key goes at once, with all its tokens. For a `sign` key the `next` key takes over; where there is none, a new one.
 *
 * @throws CliError when there is no such key, and when it is the only key of the ring and signs nothing
 */
export async function revoke(
  keys: readonly RingKey[],
  kid: string,
  now: number,
  make: MakeNext,
): Promise<Changed> {
  const revoked = keys.find((key) => key.kid === kid)
  if (revoked === undefined) {
    const near = didYouMean(
      kid,
      keys.map((key) => key.kid),
    )
    return fail(`the ring has no such key.${near}`, 'See: npx fastify-authn keys list --ring …')
  }
  const left = keys.filter((key) => key !== revoked)
  const { alg, state } = revoked.entry
  const since = timeText(now, Math.floor)
  if (state === 'verify') {
    if (left.length === 0) {
      fail(
        'it is the only key of the ring, and a ring cannot be empty. Nothing was changed.',
        'Make another ring with keys init, and stop the app until it has that one.',
      )
    }
    return { ...nothing, keys: left, gone: [revoked] }
  }
  if (state === 'next') {
    if (left.some(({ entry }) => entry.state === 'next')) {
      return { ...nothing, keys: left, gone: [revoked] }
    }
    const made = withEntry(await make(alg, revoked), { since })
    return { ...nothing, keys: [...left, made], made, gone: [revoked] }
  }
  const next = nextKey(left, revoked, undefined)
  const heir = next ?? (await make(alg, revoked))
  const signs = withEntry(heir, { state: 'sign', since })
  const made = await make(signs.entry.alg, heir)
  const others = left.filter((key) => key !== next)
  const isUnknown = next === null
  return { ...nothing, keys: [...others, signs, made], signs, made, gone: [revoked], isUnknown }
}

/** The key that is to be replaced. */
function signKey(keys: readonly RingKey[], alg: SigningMethod | undefined): RingKey {
  const all = keys.filter(({ entry }) => entry.state === 'sign')
  // With a single one, --alg may name another algorithm: that is how an app moves to it.
  const found = all.length === 1 ? all[0] : all.find(({ entry }) => entry.alg === alg)
  if (found !== undefined) return found
  const names = all.map(({ entry }) => entry.alg).join(', ')
  if (all.length > 1) misuse(`the ring signs with ${names}.`, 'Say which one to rotate: --alg …')
  return fail('the ring has no key that signs: there is nothing to rotate.')
}

/** The key that takes over; null where there is none that could. */
function nextKey(
  keys: readonly RingKey[],
  sign: RingKey,
  alg: SigningMethod | undefined,
): RingKey | null {
  const able = keys.filter(({ entry }) => entry.state === 'next')
  const of = (wanted: SigningMethod | undefined): RingKey | undefined =>
    able.find(({ entry }) => entry.alg === wanted)
  const own = of(alg) ?? of(sign.entry.alg)
  if (own !== undefined) return own
  // Where several keys sign, the `next` key of another algorithm is to follow another key.
  const isOnly = keys.every((key) => key === sign || key.entry.state !== 'sign')
  return isOnly && able.length === 1 ? (able[0] as RingKey) : null
}

/** @throws CliError (1) while a key is so young that consumers may not know the one that would sign */
function checkAge({ entry }: RingKey, now: number, settle: number): void {
  const age = entry.since === undefined ? settle : (now - Date.parse(entry.since)) / 1000
  const left = Math.ceil(settle - age)
  // With a `settle` of 0 it passes also where the clock of another machine is ahead.
  if (settle === 0 || left <= 0) return
  fail(
    `too early: the ${entry.state} key is ${count(Math.max(0, Math.floor(age)), 'second')} old, expected ${settle} (--settle). ${count(left, 'second')} ${left === 1 ? 'is' : 'are'} left. Nothing was changed.`,
    'Until then consumers may have cached the keys of before, and would refuse tokens of the next key.',
  )
}

export function isPast({ until }: KeyFileEntry, now: number): boolean {
  return until !== undefined && Date.parse(until) <= now
}

function withEntry(key: RingKey, changes: Partial<KeyFileEntry>): RingKey {
  return { ...key, entry: { ...key.entry, ...changes } }
}
