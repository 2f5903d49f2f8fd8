import { alphabet, codeAt, stepAt } from '../second-factor/totp.js'
import { testingError } from './error.js'

/**
 * The code that an authenticator app shows (RFC 6238), for tests of the option `secondFactor`.
 * @param secret - in Base32, as `POST /second-factor/setup` returns it
 * @param options - `at`: when, in milliseconds since 1970; default: now. Each code works once, and so do those of the
 * 30 seconds before and after: with `at: Date.now() + 30_000`, a test has a second one
 * @throws ERR_AUTH_TESTING for a secret of less than 16 bytes
 */
export function totpCode(secret: string, { at = Date.now() }: { at?: number } = {}): string {
  const values = Array.from(String(secret).toUpperCase(), (letter) => alphabet.indexOf(letter))
  const known = values.filter((value) => value >= 0)
  const bits = known.map((value) => value.toString(2).padStart(5, '0')).join('')
  const bytes = Buffer.from(Array.from(bits.match(/.{8}/g) ?? [], (each) => parseInt(each, 2)))
  if (bytes.length < 16) testingError('totpCode: expected a secret in Base32, of 16 bytes or more.')
  return codeAt(bytes, stepAt(at))
}
