import type { FastifyRequest } from 'fastify'
import { ownClaims } from '../login/claims.js'
import { writeData } from './data.js'
import { digestOf, newRefreshToken } from './refresh-token.js'
import { tokensOf } from './tokens.js'
import { randomName, type SessionTools } from './tools.js'
import type { GivenTokens } from '../registration.js'

/** Characters of a user agent, and of an address, that are kept. */
const longestAgent = 256
const longestAddress = 64

/**
 * Begins a session for a user who has logged in.
 *
 * @throws (rejects) ERR_AUTH_STORE_UNAVAILABLE; AuthenticationFault
 */
export async function beginSession(
  tools: SessionTools,
  username: string,
  request: FastifyRequest,
  user: object,
): Promise<GivenTokens> {
  const { lifetime, idle } = tools.settings
  const claims = await ownClaims(tools.claims, username, request, user)
  const sid = randomName()
  const refreshToken = newRefreshToken()
  const now = Date.now() / 1000
  const { validAfter } = tools
  const remaining = Math.min(lifetime, idle)
  // Signed before the session is stored, so that claims that cannot be signed leave no session behind.
  const tokens = tokensOf(tools, { sid, claims, user, refreshToken, now, remaining })
  const session = {
    sid,
    sub: String(claims.sub),
    handle: digestOf(refreshToken.handle),
    current: digestOf(refreshToken.text),
    lifetime,
    idle,
    // Behind a proxy it is that of the client only with Fastify's `trustProxy`.
    address: shortened(request.ip, longestAddress),
    userAgent: shortened(request.headers['user-agent'], longestAgent),
    data: writeData({ begun: Math.max(now, validAfter?.of(user) ?? 0), sub: claims.sub }),
  }
  await tools.access.ask((store) => store.create(session))
  tools.counts.begun += 1
  return tokens
}

/** Cuts a text, and drops what databases refuse: control characters, and half of a surrogate pair at the cut. */
function shortened(text: string | undefined, most: number): string {
  return (text ?? '')
    .replace(/\p{Cc}/gu, '')
    .slice(0, most)
    .toWellFormed()
}
