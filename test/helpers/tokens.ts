import {
  constants,
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
  type KeyObject,
  type KeyPairKeyObjectResult,
} from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { encode, epochSeconds } from '../../lib/testing/forge.js'
import { isCompiled, tree } from './project.js'

export { encode, epochSeconds }

/** An HMAC token whose header and payload may be anything. */
export function hmacToken(
  header: unknown,
  payload: unknown,
  key: string | Buffer | KeyObject,
  hash = 'sha256',
): string {
  const input = `${encode(header)}.${encode(payload)}`
  return `${input}.${createHmac(hash, key).update(input).digest('base64url')}`
}

/** A token signed with a private key. `hash` is null for EdDSA. */
export function signedToken(
  header: unknown,
  payload: unknown,
  key: KeyObject,
  hash: string | null = 'sha256',
  pss = false,
): string {
  const input = `${encode(header)}.${encode(payload)}`
  const padding = {
    padding: constants.RSA_PKCS1_PSS_PADDING,
    saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
  }
  const how = { key, dsaEncoding: 'ieee-p1363' as const, ...(pss && padding) }
  return `${input}.${sign(hash, Buffer.from(input), how).toString('base64url')}`
}

/** A pair of RSA takes 0.2 s of CPU: the compiled tests of a run share those that the first of them has made. */
export function rsaPair(name: string, type: 'rsa' | 'rsa-pss' = 'rsa'): KeyPairKeyObjectResult {
  const file = path.join(tree, `${name}.pem`)
  if (isCompiled && existsSync(file)) {
    const privateKey = createPrivateKey(readFileSync(file))
    return { privateKey, publicKey: createPublicKey(privateKey) }
  }
  const pair = generateKeyPairSync(type as 'rsa', { modulusLength: 2048 })
  if (isCompiled) {
    writeFileSync(`${file}.${process.pid}`, privatePem(pair.privateKey))
    renameSync(`${file}.${process.pid}`, file)
  }
  return pair
}

/** Pairs that are made when they are first read. */
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
  rsa: () => rsaPair('rsa'),
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

/** Claims that outlive a slow run of the tests. */
export const claims = (more: object = {}): object => ({
  sub: 'alice',
  exp: epochSeconds() + 900,
  ...more,
})
