import { createPrivateKey, createPublicKey } from 'node:crypto'
import { moreKeys } from './keys.js'
import { keys, privatePem, publicPem } from './tokens.js'
import type { KeyEntry } from '../../types/keys.js'

/** 256 random bits. */
export const keySetSecret = 'q7wT2mVx9KcR4nZs8LpYf3HbJ6dGuA5e'

/** Entries of key sets; `kid` is the name of the member. */
export const entries = {
  a: { alg: 'ES256', private: privatePem(keys.p256.privateKey), kid: 'a', state: 'sign' },
  b: { alg: 'ES256', private: privatePem(moreKeys.otherP256.privateKey), kid: 'b', state: 'next' },
  get rsa() {
    const pem = privatePem(keys.rsa.privateKey)
    return { alg: 'RS256', private: pem, kid: 'r', state: 'sign' } as const
  },
  edwards: {
    alg: 'EdDSA',
    private: privatePem(keys.ed25519.privateKey),
    kid: 'e',
    state: 'sign',
  },
  /** A secret whose tokens were issued before there was a key set. */
  old: { alg: 'HS256', secret: keySetSecret, kid: 'old', state: 'verify', legacy: true },
} as const satisfies Record<string, KeyEntry>

/** The same entry with only the public half of its key. */
export function publicHalf({ private: pem, ...entry }: KeyEntry): KeyEntry {
  const half = publicPem(createPublicKey(createPrivateKey(String(pem))))
  return { ...entry, public: half, state: 'verify' }
}

/** The header of a token, which is not verified. */
export function headerOf(token: string): Record<string, unknown> {
  const [header = ''] = token.split('.')
  return JSON.parse(Buffer.from(header, 'base64url').toString()) as Record<string, unknown>
}
