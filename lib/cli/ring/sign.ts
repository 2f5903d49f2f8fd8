import path from 'node:path'
import { parseKeySetFile } from '../../tokens/keys/entries.js'
import { pemMarker } from '../../tokens/keys/files.js'
import { JwtService } from '../../tokens/service.js'
import { configFromEnv, type Environment } from '../../options/environment.js'
import { readRing } from './change.js'
import { thisMachine } from './files.js'
import type { KeyEntry, KeyFileEntry } from '../../../types/keys.js'
import type { SigningMethod } from '../../../types/jwt.js'

/**
 * The service that a server makes of a ring file, to sign with. It does not read the ring again.
 *
 * @param alg - which key signs, where several do
 * @throws CliError when the ring cannot be read; for a bad one, the error of the boot
 */
export async function openSigner(
  ring: string,
  env: Environment,
  alg: SigningMethod | undefined,
): Promise<{ service: JwtService; method: SigningMethod | undefined }> {
  const { text } = await readRing(thisMachine, ring)
  const keys = parseKeySetFile(text, ring).map((entry) => asOption(entry, ring, env))
  const { expiry } = configFromEnv(env).jwt ?? {}
  const service = await new JwtService({ keys, expiry, signingMethod: alg }).load()
  return { service, method: service.signingMethod }
}

/** An entry of a ring file as one of the option: with the passphrase, and with the path from the current folder. */
function asOption(entry: KeyFileEntry, ring: string, env: Environment): KeyEntry {
  const { passphraseEnv, private: own, public: half, ...rest } = entry
  const passphrase = passphraseEnv === undefined ? undefined : env[passphraseEnv] || undefined
  const placed = (value: string): string =>
    pemMarker.test(value) ? value : path.resolve(path.dirname(ring), value)
  return {
    ...rest,
    ...(own !== undefined && { private: placed(own) }),
    ...(half !== undefined && { public: placed(half) }),
    ...(passphrase !== undefined && { passphrase }),
  }
}
