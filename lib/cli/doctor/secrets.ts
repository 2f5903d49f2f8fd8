import { isProduction } from '../../common/production.js'
import { weaknessOf } from '../../tokens/keys/known-secrets.js'
import { pairVariables } from '../environment.js'
import { bootWith, isSet } from './boot.js'
import { error, warning, type Finding, type Setting } from './finding.js'

/** Finds a secret that can be guessed. */
export function poorSecret({ env }: Setting): Finding[] {
  const { AUTH_JWT_SECRET: secret = '' } = env
  const remedy = 'Make one with: npx fastify-authn secret'
  // A secret that is too short is reported elsewhere, as an error.
  if (Buffer.byteLength(secret) < 32) return []
  const found = weaknessOf(Buffer.from(secret))
  if (found !== null) {
    // In production such a secret stops the boot.
    const judge = isProduction(env) ? error : warning
    return [judge('AUTH_JWT_SECRET', `is weak: it ${found}.`, remedy)]
  }
  if (/^[\da-f]{32,63}$/i.test(secret)) {
    return [
      warning(
        'AUTH_JWT_SECRET',
        `is hexadecimal: ${secret.length} digits hold ${secret.length * 4} random bits at most, expected 256.`,
        remedy,
      ),
    ]
  }
  return []
}

/** Finds a passphrase that belongs to a key that is not encrypted. */
export async function uselessPassphrase({ env }: Setting): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const pair of pairVariables) {
    const [key, passphrase] = [`${pair}_PRIVATE`, `${pair}_PASSPHRASE`] as const
    if (!isSet(env, key) || !isSet(env, passphrase)) continue
    const opensWithout = await bootWith({ [key]: env[key] }).then(
      () => true,
      () => false,
    )
    if (opensWithout) {
      const remedy = 'Encrypt the key (npx fastify-authn keys … --encrypt), or take this away.'
      findings.push(warning(passphrase, `is set, but the key of ${key} is not encrypted.`, remedy))
    }
  }
  return findings
}

/** Finds a short password of `configBasic`. */
export function shortPassword({ env }: Setting): Finding[] {
  const { AUTH_BASIC_PASSWORD: password = '' } = env
  if (password === '' || password.length >= 12) return []
  return [
    warning(
      'AUTH_BASIC_PASSWORD',
      'has fewer than 12 characters.',
      'Take a longer one: openssl rand -base64 24',
    ),
  ]
}
