import { generateKeyPairSync, type KeyObject, type KeyPairKeyObjectResult } from 'node:crypto'
import { now } from '../../lib/testing/forge.js'

export { encode, hmacToken, now, signedToken } from '../../lib/testing/forge.js'

/** Pairs that are made when they are first read: one of RSA takes 0.2 s of CPU. */
export function pairs<Name extends string>(
  makers: Readonly<Record<Name, () => KeyPairKeyObjectResult>>,
): Readonly<Record<Name, KeyPairKeyObjectResult>> {
  const made: Partial<Record<Name, KeyPairKeyObjectResult>> = {}
  return Object.defineProperties(
    {} as Record<Name, KeyPairKeyObjectResult>,
    Object.fromEntries(
      (Object.keys(makers) as Name[]).map((name) => [
        name,
        { enumerable: true, get: () => (made[name] ??= makers[name]()) },
      ]),
    ),
  )
}

/** Key pairs made for the tests; none is in the repository. */
export const keys = pairs({
  rsa: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  p256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  p384: () => generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  p521: () => generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  ed25519: () => generateKeyPairSync('ed25519'),
})

export function privatePem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }) as string
}

export function publicPem(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }) as string
}

/** Claims that are valid for a minute. */
export const claims = (more: object = {}): object => ({ sub: 'alice', exp: now() + 60, ...more })
