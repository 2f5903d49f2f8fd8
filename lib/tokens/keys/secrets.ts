import { wrongOption } from '../../errors/errors.js'
import { checkWeakness } from './known-secrets.js'

const leastBytes = 32

/** The bytes of a secret from which keys are derived. @throws ERR_AUTH_OPTION, ERR_AUTH_KEY */
export function secretBytes(option: string, secret: string | Uint8Array): Buffer {
  const bytes = Buffer.from(secret as string)
  if (bytes.length < leastBytes) {
    wrongOption(
      `option "${option}": found a secret of ${bytes.length} bytes, expected at least ${leastBytes}. Make one with: npx fastify-authn secret`,
    )
  }
  checkWeakness(`option "${option}"`, bytes)
  return bytes
}
