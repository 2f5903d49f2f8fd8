import type { VerifySignature } from './engine.js'

/** How much is remembered. */
export interface TokenMemoryOptions {
  /** How many tokens. */
  readonly max: number
  /** How long a token may be, in characters, which are bytes in a token. */
  readonly maxLength: number
}

interface Remembered {
  readonly claims: ReturnType<VerifySignature>
  /** Whether it was asked for since the hand went by. */
  isUsed: boolean
}

/**
 * Remembers whose signature was good, and nothing else: the same text under the same key has the same
 * claims for ever, while times, issuer, audience and user are judged on every request. One for each key and
 * method. Tokens that were refused are not kept, so that a flood of them displaces nothing.
 *
 * The key is the text itself: a hash of it would take longer than to look it up. Which one has to go is
 * found with the clock algorithm: a hand goes around, takes from each token that was used the mark of it, and
 * stops at one without. That is as good as "least recently used", but a hit only has to set a mark, and
 * tokens that come once cannot push out those that come often.
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

  return (token) => {
    const remembered = known.get(token)
    if (remembered !== undefined) {
      remembered.isUsed = true
      return remembered.claims
    }
    const claims = verify(token)
    if (token.length > maxLength) return claims
    if (known.size >= max) makeRoom()
    // A copy: what was cut out of a header would keep all of the header.
    known.set(Buffer.from(token).toString(), { claims, isUsed: false })
    return claims
  }
}
