import { wrongOption } from '../../errors.js'
import { keyError } from '../keys/ring.js'
import { RingKeySet } from './key-set.js'
import { loadRing, type RingKey } from './load.js'
import { RingVerifier } from './verifier.js'
import type { ResolvedJwtConfig } from '../../options/resolve-jwt.js'
import type { TokenCounts } from '../remembered.js'
import type { KeyEntry, KeyFileSystem, KeyLog } from '../../../types/keys.js'

/**
 * Opens the ring of a service.
 *
 * @returns a function that reads it, and reads it again; the first time it also checks what need not hold later on, so
 * that a key that was taken out is out whatever is left
 */
export function openRing(
  config: ResolvedJwtConfig,
  fs: KeyFileSystem,
  counts: TokenCounts,
  log: KeyLog,
): () => Promise<RingKeySet> {
  const verifier = new RingVerifier(config.rememberTokens, counts)
  let isFirst = true
  return async () => {
    const ring = await loadRing(config.keys as string | readonly KeyEntry[], fs)
    const keys = new RingKeySet(ring, config.signingMethod, verifier)
    if (isFirst) checkFirst(ring, config, log)
    isFirst = false
    return keys
  }
}

function checkFirst(
  ring: readonly RingKey[],
  { signingMethod, publish }: ResolvedJwtConfig,
  log: KeyLog,
): void {
  const signed = ring.filter(({ state }) => state === 'sign').map(({ alg }) => alg)
  if (signingMethod !== undefined && signed.length > 0 && !signed.includes(signingMethod)) {
    wrongOption(
      `option "jwt.signingMethod": found ${signingMethod}, but the keys with the state sign are for ${signed.join(' and ')}. Leave it out, or name one of these.`,
    )
  }
  if (publish !== undefined && ring.every(({ jwk }) => jwk === null)) {
    const remedy = 'Leave "publish" out, or add a pair of keys to the ring.'
    keyError('jwt.publish', 'all keys of the ring are secrets, and none may be shown.', remedy)
  }
  const now = Date.now()
  for (const { kid, alg, until } of ring.filter((key) => key.until <= now)) {
    log.warn(
      `fastify-authn: option "jwt.keys": the key ${JSON.stringify(kid)} for ${alg} verifies nothing any more: its "until" was ${new Date(until).toISOString()}. Take it out of the ring.`,
    )
  }
}
