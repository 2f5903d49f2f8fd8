import { generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto'

export const algorithms = ['HS256', 'RS256', 'ES256', 'EdDSA'] as const
export type Algorithm = (typeof algorithms)[number]

/** A key as the peers get it: a secret, or a pair as PEM. */
export interface Key {
  readonly algorithm: Algorithm
  readonly secret?: string
  readonly private?: string
  readonly public?: string
}

/** New keys of every run, of the sizes that are usual. */
export const keys: Readonly<Record<Algorithm, Key>> = {
  HS256: { algorithm: 'HS256', secret: randomBytes(16).toString('hex') },
  RS256: pair('RS256', generateKeyPairSync('rsa', { modulusLength: 2048 })),
  ES256: pair('ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' })),
  EdDSA: pair('EdDSA', generateKeyPairSync('ed25519')),
}

function pair(
  algorithm: Algorithm,
  { privateKey, publicKey }: { privateKey: KeyObject; publicKey: KeyObject },
): Key {
  return {
    algorithm,
    private: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    public: publicKey.export({ type: 'spki', format: 'pem' }) as string,
  }
}
