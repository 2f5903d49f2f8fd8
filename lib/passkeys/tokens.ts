import { randomBytes } from 'node:crypto'
import { stepTokens, type StepKeys } from '../tokens/step.js'

let last = { now: 0, at: 0 }

/** Microseconds since 1970. Two challenges of a millisecond differ, or a passkey could answer only one of them. */
function clock(): number {
  const now = Date.now()
  last = { now, at: now === last.now ? last.at + 1 : now * 1000 }
  return last.at
}

export type CeremonyTokens = ReturnType<typeof ceremonyTokens>

/** A challenge is the digest of such a token, which comes back with the response, so that nothing is stored. */
export function ceremonyTokens(keys: StepKeys) {
  const foreign = 'its token is of another user or registration'
  const tokensOf = (typ: string) =>
    stepTokens<ReturnType<typeof newCeremony>>(keys, { option: 'passkeys', typ, foreign })
  return { login: tokensOf('passkey+jwt'), add: tokensOf('passkey-add+jwt') }
}

/** What a token holds. @param sub - the user of a new passkey */
export const newCeremony = (sub?: string | number) => ({
  at: clock(),
  jti: randomBytes(16).toString('base64url'),
  sub,
})
