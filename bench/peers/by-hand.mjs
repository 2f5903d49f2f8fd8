// The least that a check of tokens has to do, written by hand for one algorithm; with `remember` it looks at
// the signature of a token once, as we do.
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { findUser, settings } from './serve.mjs'

const key = createSecretKey(Buffer.from(settings.key.secret))
const known = new Map()
const parse = (text) => JSON.parse(Buffer.from(text, 'base64url').toString())

/** @returns the claims of a token whose signature is good, or null */
function verify(token) {
  const [header, payload, signature, ...rest] = token.split('.')
  if (signature === undefined || rest.length > 0) return null
  const given = Buffer.from(signature, 'base64url')
  const right = createHmac('sha256', key).update(`${header}.${payload}`).digest()
  if (given.length !== right.length || !timingSafeEqual(given, right)) return null
  return parse(header).alg === 'HS256' ? parse(payload) : null
}

function claimsOf(token) {
  const remembered = known.get(token)
  if (remembered !== undefined) return remembered
  const claims = verify(token)
  if (settings.remember && claims !== null && known.size < 1000) known.set(token, claims)
  return claims
}

/** @returns a promise of the user of a header, or undefined where nobody is */
export function userOf(authorization) {
  if (!authorization?.startsWith('Bearer ')) return undefined
  const claims = claimsOf(authorization.slice(7))
  if (claims === null || !(claims.exp > Date.now() / 1000)) return undefined
  return findUser(claims.sub)
}
