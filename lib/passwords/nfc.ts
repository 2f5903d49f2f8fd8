import { longestText } from './hashing.js'

/**
 * A password as it is hashed: in NFC (RFC 8265 §4.2, NIST SP 800-63B-4 §3.1.1.2), since systems differ in whether they
 * compose typed characters. A much longer one stays as it is: sorting its combining marks would take too long.
 */
export function nfcOf(password: string): string {
  return Buffer.byteLength(password) > 3 * longestText ? password : password.normalize('NFC')
}
