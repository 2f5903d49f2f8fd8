import type { KeyObject } from 'node:crypto'
import { createRequire } from 'node:module'
import { pemOf } from '../common/pem.js'
import { textOf } from './entry.js'

/** Loading it takes longer than all else here, and Apple alone needs it. */
const crypto = () => createRequire(process.execPath)('node:crypto') as typeof import('node:crypto')

const hour = 3600

/** The errors of `createPrivateKey()` could quote the key. @returns null for what is no P-256 key as PKCS #8 PEM */
export function keyOf(given: unknown): KeyObject | null {
  const pem = typeof given === 'string' ? pemOf(given) : ''
  if (!pem.includes('\n-----BEGIN PRIVATE KEY-----\n')) return null
  try {
    const key = crypto().createPrivateKey(pem)
    return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : null
  } catch {
    return null
  }
}

/** Makes client secrets, each for an hour: a JWT (RFC 7519) that Apple accepts for half a year at most. */
export function secretMaker(key: KeyObject, kid: string, claims: object): () => string {
  let [secret, madeAt] = ['', -Infinity]
  return () => {
    const now = Math.floor(Date.now() / 1000)
    if (Math.abs(now - madeAt) < hour) return secret
    const payload = { ...claims, iat: now, exp: now + 2 * hour }
    const content = [{ alg: 'ES256', kid }, payload]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    const signing = { key, dsaEncoding: 'ieee-p1363' } as const
    const signature = crypto().sign('sha256', Buffer.from(content), signing)
    secret = `${content}.${signature.toString('base64url')}`
    madeAt = now
    return secret
  }
}

/** The name in the field `user` of the form, which is JSON: `{ name: { firstName, lastName } }`. Anybody can write it. */
export function nameOf(user: string | null): string | undefined {
  try {
    const { name } = JSON.parse(user ?? '{}') as { name?: Record<string, unknown> }
    const parts = [textOf(name?.firstName), textOf(name?.lastName)]
    const text = parts.filter((part) => part !== undefined).join(' ')
    const isGood = text.length <= 200 && text.isWellFormed() && !/\p{Cc}/u.test(text)
    return isGood ? text || undefined : undefined
  } catch {
    return undefined
  }
}
