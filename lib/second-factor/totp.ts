import { createHmac, timingSafeEqual } from 'node:crypto'
import { isSixDigits } from '../common/code.js'

export const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Base32 without padding (RFC 4648 §6), for lengths that are multiples of five bytes. */
export function base32Of(bytes: Uint8Array): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('')
  return bits.replace(/.{5}/g, (five) => alphabet.charAt(parseInt(five, 2)))
}

/** The number of a period of 30 seconds (RFC 6238 §4.2). @param at - milliseconds since 1970 */
export const stepAt = (at: number): number => Math.floor(at / 30_000)

/** The six digits of a step, by SHA-1 (RFC 4226 §5.3): what every authenticator app reads. */
export function codeAt(secret: Uint8Array, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', secret).update(counter).digest()
  const offset = mac.readUInt8(19) & 15
  const number = mac.readUInt32BE(offset) & 0x7f_ff_ff_ff
  return String(number % 1_000_000).padStart(6, '0')
}

/**
 * The step of a code of six digits: of now, or of one before or after, since clocks differ (RFC 6238 §6).
 * @param secret - in base64url
 * @param last - the last step that was used: none up to it is accepted (§5.2)
 * @returns null for a wrong code, `used` for one of such a step
 */
export function stepOf(secret: string, code: string, last: number): number | 'used' | null {
  if (!isSixDigits(code)) return null
  const [now, bytes] = [stepAt(Date.now()), Buffer.from(secret, 'base64url')]
  const isRight = (step: number): boolean =>
    timingSafeEqual(Buffer.from(codeAt(bytes, step)), Buffer.from(code))
  const steps = [now, now - 1, now + 1].filter(isRight)
  return steps.find((step) => step > last) ?? (steps.length > 0 ? 'used' : null)
}
