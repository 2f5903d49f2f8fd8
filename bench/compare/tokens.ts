import { createHmac, createPrivateKey, sign } from 'node:crypto'
import { keys, type Algorithm } from './keys.js'

type Sign = (input: string) => Buffer
type Claims = Readonly<Record<string, unknown>>

const privateKey = (algorithm: Algorithm): ReturnType<typeof createPrivateKey> =>
  createPrivateKey(keys[algorithm].private ?? '')

/** How each algorithm signs, with `node:crypto` alone, so that no peer signs for another. */
const signers: Readonly<Record<Algorithm, () => Sign>> = {
  HS256: () => (input) =>
    createHmac('sha256', keys.HS256.secret ?? '')
      .update(input)
      .digest(),
  RS256: () => {
    const key = privateKey('RS256')
    return (input) => sign('sha256', Buffer.from(input), key)
  },
  ES256: () => {
    const key = { key: privateKey('ES256'), dsaEncoding: 'ieee-p1363' as const }
    return (input) => sign('sha256', Buffer.from(input), key)
  },
  EdDSA: () => {
    const key = privateKey('EdDSA')
    return (input) => sign(null, Buffer.from(input), key)
  },
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const now = (): number => Math.floor(Date.now() / 1000)
const day = 86_400

/**
 * Makes tokens of `user0` that are good for a day, unless the claims say otherwise.
 *
 * @param kid - the name of the key in a key set
 */
export function tokensOf(algorithm: Algorithm, kid?: string): (claims?: Claims) => string {
  const signInput = signers[algorithm]()
  const header = encode({ alg: algorithm, typ: 'JWT', kid })
  return (claims) => {
    const input = `${header}.${encode({ sub: 'user0', nbf: now(), exp: now() + day, ...claims })}`
    return `${input}.${signInput(input).toString('base64url')}`
  }
}

/** Tokens that all differ. */
export function distinctTokens(algorithm: Algorithm, count: number): string[] {
  const make = tokensOf(algorithm)
  return Array.from({ length: count }, (_, index) => make({ jti: String(index) }))
}

/** Tokens that no server may accept. */
export function badTokens(algorithm: Algorithm): Readonly<Record<string, string>> {
  const make = tokensOf(algorithm)
  const [header, payload, signature] = make().split('.') as [string, string, string]
  const middle = signature.length >> 1
  const other = signature[middle] === 'A' ? 'B' : 'A'
  const forged = signature.slice(0, middle) + other + signature.slice(middle + 1)
  return {
    'with a forged signature': `${header}.${payload}.${forged}`,
    'with other claims': `${header}.${encode({ sub: 'user0', exp: now() + 2 * day })}.${signature}`,
    'that has expired': make({ exp: now() - 1 }),
    'without a signature': `${encode({ alg: 'none' })}.${payload}.`,
    'of an unknown user': make({ sub: 'nobody' }),
  }
}

/** What a server of better-auth has to know of a session of `user0`, and the cookies of that session. */
export function betterAuthSession(cookieCache: boolean): { settings: object; cookies: string } {
  const { secret = '' } = keys.HS256
  const hmac = (text: string, encoding: 'base64' | 'base64url'): string =>
    createHmac('sha256', secret).update(text).digest(encoding)
  const [createdAt, expiresAt] = [Date.now(), Date.now() + 7 * day * 1000]
  const times = { createdAt: new Date(createdAt), updatedAt: new Date(createdAt) }
  const user = { id: '1', name: 'user0', email: 'user0@example.com', emailVerified: true, ...times }
  const token = 'WcY1GZyAFm7nGQXhqRx4oQeQxm2hP0tJ'
  const session = { id: '2', token, userId: '1', expiresAt: new Date(expiresAt), ...times }
  const cached = { session, user, updatedAt: createdAt, version: '1' }
  const signature = hmac(JSON.stringify({ ...cached, expiresAt }), 'base64url')
  const data = encode({ session: cached, expiresAt, signature })
  const signed = encodeURIComponent(`${token}.${hmac(token, 'base64')}`)
  return {
    settings: { user, session, cookieCache },
    cookies: `${cookieCache ? `better-auth.session_data=${data}; ` : ''}better-auth.session_token=${signed}`,
  }
}
