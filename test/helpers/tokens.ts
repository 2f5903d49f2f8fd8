import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { now } from '../../lib/testing/forge.js'

export { encode, hmacToken, now, signedToken } from '../../lib/testing/forge.js'

/** Key pairs made for the tests; none is in the repository. */
export const keys = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  p256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  p384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  p521: generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  ed25519: generateKeyPairSync('ed25519'),
}

export function privatePem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }) as string
}

export function publicPem(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }) as string
}

/** Claims that are valid for a minute. */
export const claims = (more: object = {}): object => ({ sub: 'alice', exp: now() + 60, ...more })
