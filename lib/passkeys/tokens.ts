import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { loginExpired, stepTime, type StepKeys } from '../tokens/step.js'

/** The time with which the ids of challenges begin, in microseconds since 1970. @param seconds - from now */
export const timeIn = (seconds: number): string => String((Date.now() + seconds * 1000) * 1000)

export type CeremonyTokens = ReturnType<typeof ceremonyTokens>

/**
 * A challenge is the digest of such a token, which comes back with the response, so that nothing is stored. Anyone may ask for
 * one, and a signature of a private key would take a hundred times as long as a MAC.
 */
export function ceremonyTokens({ service, method, path }: StepKeys) {
  service.require(method, 'sign', 'the option "passkeys"')
  const tokensOf = (id: string, sub: string | number): string[] =>
    service.secretsFor('fastify-authn passkey challenge', method).map((secret) => {
      const mac = createHmac('sha256', secret).update(JSON.stringify([path, String(sub), id]))
      return `${id}.${mac.digest('base64url')}`
    })
  return {
    /** @param sub - the user of a new passkey; empty for a log-in */
    make: (sub: string | number = ''): string =>
      tokensOf(`${timeIn(0)}.${randomBytes(6).toString('base64url')}`, sub)[0] as string,
    /** @returns the id of the challenge @throws ERR_AUTH_LOGIN_EXPIRED */
    read(token: string, sub: string | number = ''): string {
      const id = token.slice(0, token.lastIndexOf('.'))
      const given = Buffer.from(token)
      const isGiven = (each: string): boolean =>
        each.length === given.length && timingSafeEqual(Buffer.from(each), given)
      const isOurs = tokensOf(id, sub).some(isGiven)
      // The clock of the process that has made it may be fast.
      if (isOurs && id > timeIn(-stepTime) && id < timeIn(stepTime)) return id
      throw loginExpired(`its token is ${isOurs ? 'too old' : 'of another user or registration'}`)
    },
  }
}
