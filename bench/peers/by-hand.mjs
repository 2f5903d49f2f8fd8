// The least that a check of tokens has to do, written by hand for one algorithm; with `remember` it looks at
// the signature of a token once, as we do.
import { createHmac, createPublicKey, createSecretKey, timingSafeEqual, verify } from 'node:crypto'
import { findUser, settings } from './serve.mjs'

const known = new Map()
const parse = (text) => JSON.parse(Buffer.from(text, 'base64url').toString())
const { algorithm, secret, public: publicKey } = settings.key
const isGood = algorithm === 'HS256' ? hmac() : signature()

function hmac() {
  const key = createSecretKey(Buffer.from(secret))
  return (input, given) => {
    const right = createHmac('sha256', key).update(input).digest()
    return given.length === right.length && timingSafeEqual(given, right)
  }
}

function signature() {
  const key = { key: createPublicKey(publicKey), dsaEncoding: 'ieee-p1363' }
  return (input, given) => verify('sha256', Buffer.from(input), key, given)
}

/** @returns the claims of a token whose signature is good, or null */
function verifyToken(token) {
  const [header, payload, signature, ...rest] = token.split('.')
  if (signature === undefined || rest.length > 0) return null
  if (!isGood(`${header}.${payload}`, Buffer.from(signature, 'base64url'))) return null
  return parse(header).alg === algorithm ? parse(payload) : null
}

function claimsOf(token) {
  const remembered = known.get(token)
  if (remembered !== undefined) return remembered
  const claims = verifyToken(token)
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
