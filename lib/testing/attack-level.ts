import { stateOf } from '../request/state.js'
import { epochSeconds } from './forge.js'
import { resign } from './material.js'
import type { AttackCase, Target } from './attack-cases.js'

/** Claims that say `mfa` neither where nor how RFC 8176 has it. */
const notMfa = [undefined, 'mfa', ['pwd'], ['MFA'], ['mfa', 1], { mfa: true }, true]

/** Tokens of the user that differ from the good one only in how, or when, the user was authenticated. */
export function levelCases({ watched, material, good, leftOut }: Target): AttackCase[] {
  if (watched === null || (!watched.mfa && watched.fresh === null)) return []
  if (material.key === undefined || good.authorization?.endsWith(` ${material.token}`) !== true) {
    leftOut.push('tokens of another level (the key that signs the good token is not known)')
    return []
  }
  const isOwnWay = stateOf(watched.request)?.level?.isMfa !== undefined
  if (watched.mfa && isOwnWay) leftOut.push('tokens without mfa (the issuer has its own claim)')
  const levels = watched.mfa && !isOwnWay ? notMfa.map((amr) => ({ amr })) : []
  const times = watched.fresh === null ? [] : staleTimes(watched.fresh)
  return [...levels, ...times.map((auth_time) => ({ auth_time }))].map((claims) => {
    const headers = { ...good, authorization: `Bearer ${resign(material, claims)}` }
    return { name: `level of the token: ${nameOf(claims)}`, request: { headers } }
  })
}

/** Missing, too old for any tolerance, as text, in milliseconds, and in the future. */
function staleTimes(fresh: number): unknown[] {
  const now = epochSeconds()
  return [undefined, now - fresh - 3600, String(now), [now], now * 1000, now + 3600, 0]
}

const nameOf = (claims: object): string =>
  Object.entries(claims)
    .map(([name, value]) => `${name} ${JSON.stringify(value) ?? 'missing'}`)
    .join()
