import { generateKeyPair, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { JwtConfig, KeyPairConfig } from 'fastify-authn'
import type { Settings } from './config.js'

const generate = promisify(generateKeyPair)

/** How the keys of each family are made: RS256 takes RSA, ES256 takes the curve P-256. */
const makers = {
  rsa: () => generate('rsa', { modulusLength: 2048 }),
  ecdsa: () => generate('ec', { namedCurve: 'P-256' }),
}

/**
 * The keys of the tokens: those of the environment, and for a family that is not set there a PEM file,
 * which is generated at the first start. The public half is in the private key.
 */
export async function prepareKeys({ jwt, keysDir }: Settings): Promise<JwtConfig> {
  const rsa = jwt.rsa ?? (await keyFile(keysDir, 'rsa'))
  const ecdsa = jwt.ecdsa ?? (await keyFile(keysDir, 'ecdsa'))
  return { ...jwt, rsa, ecdsa }
}

async function keyFile(directory: string, family: keyof typeof makers): Promise<KeyPairConfig> {
  const path = join(directory, `${family}.pem`)
  if (existsSync(path)) return { private: path }
  const { privateKey } = await makers[family]()
  await keep(directory, path, String(privateKey.export({ type: 'pkcs8', format: 'pem' })))
  return { private: path }
}

/** The key of the option `secondFactor`: what it encrypts outlives the server, and so has the key to. */
export async function secondFactorKey({ keysDir }: Settings): Promise<string> {
  const path = join(keysDir, 'second-factor.key')
  if (!existsSync(path)) await keep(keysDir, path, randomBytes(32).toString('base64url'))
  return readFile(path, 'utf8')
}

async function keep(directory: string, path: string, text: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  try {
    // `wx` never replaces a file; only the user that runs the demo may read it.
    await writeFile(path, text, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
