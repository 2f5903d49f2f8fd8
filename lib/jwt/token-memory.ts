import type { VerifySignature } from './engine.js'

/** How much is remembered. */
export interface TokenMemoryOptions {
  /** How many tokens. */
  readonly max: number
  /** How long a token may be, in characters, which are bytes in a token. */
  readonly maxLength: number
}

interface Remembered {
  readonly token: string
  readonly claims: ReturnType<VerifySignature>
  /** Whether it was asked for since the hand went by. */
  isUsed: boolean
}

/**
 * Characters of a signature that a token is found by: 72 bits, as good as random. So few that V8 makes a text of
 * its own of them, and not a window on the header.
 */
const keyLength = 12

/**
 * Remembers whose signature was good, and nothing else: the same text under the same key has the same
 * claims for ever, while times, issuer, audience and user are judged on every request. One for each key and
 * method. Tokens that were refused are not kept, so that a flood of them displaces nothing.
 *
 * It is found by its end, which is the end of its signature: V8 has to hash what is looked up in a Map, and the
 * whole text would take it longer than all the rest. Then the whole text is compared. Which one has to go is
 * found with the clock algorithm: a hand goes around, takes from each token that was used the mark of it, and
 * stops at one without. That is as good as "least recently used", but a hit only has to set a mark. And once
 * it is full, a token is remembered when it comes for the second time, so that those that come only once
 * push nothing out, and cost nothing but their verification.
 */
export function rememberTokens(
  verify: VerifySignature,
  { max, maxLength }: TokenMemoryOptions,
): VerifySignature {
  const known = new Map<string, Remembered>()
  // A Map's iterator goes on with what was added meanwhile.
  let hand = known.entries()

  function makeRoom(): void {
    for (;;) {
      const { done, value } = hand.next()
      if (done) hand = known.entries()
      else if (value[1].isUsed) value[1].isUsed = false
      else return void known.delete(value[0])
    }
  }

  const hasComeBefore = createPreview(2 * max)

  return (token) => {
    const end = token.slice(-keyLength)
    const remembered = known.get(end)
    if (remembered !== undefined && remembered.token === token) {
      remembered.isUsed = true
      return remembered.claims
    }
    const claims = verify(token)
    if (token.length > maxLength) return claims
    if (remembered === undefined && known.size >= max) {
      if (!hasComeBefore(token)) return claims
      makeRoom()
    }
    // A copy: what was cut out of a header would keep all of the header.
    known.set(end, { token: Buffer.from(token).toString(), claims, isUsed: false })
    return claims
  }
}

/**
 * Knows roughly which tokens have come before, in 4 bytes each: fingerprints of signatures, a later one in the
 * place of an earlier one. When it errs, a token is remembered early or late, and that is all.
 */
function createPreview(size: number): (token: string) => boolean {
  const bits = Math.ceil(Math.log2(size))
  let prints: Int32Array | undefined
  return (token) => {
    prints ??= new Int32Array(2 ** bits)
    const print = fingerprintOf(token)
    const place = print >>> (32 - bits)
    if (prints[place] === print) return true
    prints[place] = print
    return false
  }
}

/** 32 bits of the end of a token: the characters of a signature are as good as random. */
function fingerprintOf(token: string): number {
  let print = 0
  for (let at = Math.max(0, token.length - 8); at < token.length; at += 1) {
    print = Math.imul(print, 31) + token.charCodeAt(at)
  }
  // The high bits, which are those that count, depend on all of them.
  return Math.imul(print, 0x9e37_79b1)
}
