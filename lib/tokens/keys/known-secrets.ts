import { isProduction } from '../../common/production.js'
import { keyError } from './key.js'

/** Secrets of 256 bits or more from documentation and popular examples. */
const knownSecrets: readonly string[] = [
  // Documentation of this package.
  'replace me by 32 or more random bytes',
  'a-secret-of-at-least-32-bytes-here',
  'a secret of 256 bits for the docs',
  // RFC 7515 appendix A.1, RFC 7520 section 3.5.
  'AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow',
  'hJtXIZ2uSN5kbQfbtTNWbpdmhkV8FJG-Onbc6mxCcYg',
  // jwt.io.
  'a-string-secret-at-least-256-bits-long',
  'a-valid-string-secret-that-is-at-least-512-bits-long-which-is-very-long',
  'your-256-bit-secret-your-256-bit-secret',
  // Tutorials of FastAPI and of Spring Boot.
  '09d25e094faa6ca2556c818166b7a9563b93f7099f6f0f4caa6cf63b88e8d3e7',
  '404E635266556A586E3272357538782F413F4428472B4B6250645367566B5970',
  '413F4428472B4B6250655368566D5970337336763979244226452948404D6351',
]
const lowerCase: ReadonlySet<string> = new Set(knownSecrets.map((secret) => secret.toLowerCase()))

/** The forms of a secret: the same text, and what it is in, or was before, base64, base64url and hexadecimal. */
function formsOf(secret: Buffer): string[] {
  const text = secret.toString().trim()
  const decoded = (['base64', 'hex'] as const).map((each) => Buffer.from(text, each).toString())
  const encoded = (['base64', 'base64url', 'hex'] as const).map((each) => secret.toString(each))
  return [text, ...decoded.map((each) => each.trim()), ...encoded]
}

/** Says why a secret can be guessed, in words that follow "it"; null for one that is not known to be weak. */
function weaknessOf(secret: Uint8Array): string | null {
  if (new Set(secret).size < 8) return 'has fewer than 8 different bytes'
  const isKnown = formsOf(Buffer.from(secret)).some((form) => lowerCase.has(form.toLowerCase()))
  return isKnown ? 'is published in documentation' : null
}

/** Options that had a warning, so that a test suite with many apps prints it once. */
const warned = new Set<string>()

/** @throws ERR_AUTH_KEY in production, for a secret that everybody can guess; elsewhere that is a process warning */
export function checkWeakness(name: string, secret: Uint8Array): void {
  const found = weaknessOf(secret)
  if (found === null) return
  const problem = `it ${found}, expected a random secret.`
  const remedy = 'Make one with: npx fastify-authn secret'
  if (isProduction()) keyError(name, problem, remedy)
  if (warned.has(name)) return
  warned.add(name)
  process.emitWarning(
    `fastify-authn: ${name}: ${problem} With NODE_ENV=production, startup fails. ${remedy}`,
    { code: 'AUTHN_WEAK_SECRET' },
  )
}
