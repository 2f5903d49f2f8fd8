import { LRUCache } from 'lru-cache'
import type { VerifySignature } from './engine.js'

/** How much is remembered. */
export interface TokenMemoryOptions {
  /** How many tokens. */
  readonly max: number
  /** How long a token may be, in characters, which are bytes in a token. */
  readonly maxLength: number
}

/**
 * Remembers whose signature was good, and nothing else: the same text under the same key has the same
 * claims for ever, while times, issuer, audience and user are judged on every request. One for each key and
 * method. Tokens that were refused are not kept, so that a flood of them displaces nothing.
 *
 * The key is the text itself: a hash of it would take longer than to look it up.
 */
export function rememberTokens(
  verify: VerifySignature,
  { max, maxLength }: TokenMemoryOptions,
): VerifySignature {
  const known = new LRUCache<string, ReturnType<VerifySignature>>({ max })
  return (token) => {
    const remembered = known.get(token)
    if (remembered !== undefined) return remembered
    const claims = verify(token)
    // A copy: what was cut out of a header would keep all of the header.
    if (token.length <= maxLength) known.set(Buffer.from(token).toString(), claims)
    return claims
  }
}
