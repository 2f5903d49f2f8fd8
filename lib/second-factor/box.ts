import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { faultOf } from '../errors/errors.js'
import { secretBytes } from '../tokens/keys/secrets.js'

const algorithm = 'aes-256-gcm'
const [ivBytes, tagBytes] = [12, 16]

export const fault = (problem: string, cause?: unknown): Error =>
  faultOf('ERR_AUTH_SECOND_FACTOR', new Error(`fastify-authn: ${problem}`, { cause }))

/** An AES key of a secret, and its name, which tells nothing about it. @throws ERR_AUTH_OPTION, ERR_AUTH_KEY */
function keyOf(secret: string | Uint8Array): readonly [name: string, key: Buffer] {
  const bytes = secretBytes('secondFactor.key', secret)
  const derived = Buffer.from(hkdfSync('sha256', bytes, '', 'fastify-authn second factor', 38))
  return [derived.subarray(32).toString('base64url'), derived.subarray(0, 32)]
}

/**
 * Encrypts texts with the first key, and decrypts them with the one that they name. `about`, which is not in the text, has
 * to be the same at both: so a text of one user is of no use for another.
 */
export function openBox(secrets: readonly (string | Uint8Array)[]) {
  const keys = new Map(secrets.map(keyOf))
  const [[name, key]] = keys as unknown as [[string, Buffer]]
  return {
    seal(content: object, about: string): string {
      const iv = randomBytes(ivBytes)
      const cipher = createCipheriv(algorithm, key, iv).setAAD(Buffer.from(about))
      const sealed = Buffer.concat([cipher.update(JSON.stringify(content)), cipher.final()])
      const bytes = Buffer.concat([iv, cipher.getAuthTag(), sealed])
      return `${name}.${bytes.toString('base64url')}`
    },
    /** @throws ERR_AUTH_SECOND_FACTOR */
    open(text: string, about: string): object {
      const [named = '', encoded = ''] = text.split('.')
      const key = keys.get(named)
      if (key === undefined) throw fault('no secret in the option "secondFactor.key" opens a text')
      const bytes = Buffer.from(encoded, 'base64url')
      const iv = bytes.subarray(0, ivBytes)
      try {
        const decipher = createDecipheriv(algorithm, key, iv)
        decipher.setAAD(Buffer.from(about))
        decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes))
        const sealed = bytes.subarray(ivBytes + tagBytes)
        const opened = Buffer.concat([decipher.update(sealed), decipher.final()])
        return JSON.parse(opened.toString()) as object
      } catch (error) {
        throw fault('a stored second factor was changed, or is that of another user', error)
      }
    },
  }
}
