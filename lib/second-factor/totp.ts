import { createHmac, timingSafeEqual } from 'node:crypto'

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

/** Decimal digits of a script are in a run of ten, from 0 to 9 (Unicode 4.6). */
function valueOf(digit: string): string {
  const at = Number(digit.codePointAt(0))
  let first = at
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first -= 1
  return String((at - first) % 10)
}

/** A code as the app shows it, of one as it was typed: in another script or width, with spaces, hyphens, invisible marks. */
export function plainCode(typed: string): string {
  const digits = typed.normalize('NFKC').replace(/\p{Nd}/gu, valueOf)
  // Some letters are invisible, and Japanese keyboards have a letter in place of the hyphen.
  return digits.replace(/[^\p{L}\p{N}]|\p{DI}|\u30fc/gu, '').toLowerCase()
}

/** Whether a {@link plainCode} looks like one of an authenticator app. */
export const isOfApp = (code: string): boolean => /^\d{6}$/.test(code)

/**
 * The step of a code of six digits: of now, or of one before or after, since clocks differ (RFC 6238 §6).
 * @param secret - in base64url
 * @param last - the last step that was used: none up to it is accepted (§5.2)
 * @returns null for a wrong code, `used` for one of such a step
 */
export function stepOf(secret: string, code: string, last: number): number | 'used' | null {
  if (!isOfApp(code)) return null
  const [now, bytes] = [stepAt(Date.now()), Buffer.from(secret, 'base64url')]
  const isRight = (step: number): boolean =>
    timingSafeEqual(Buffer.from(codeAt(bytes, step)), Buffer.from(code))
  const steps = [now, now - 1, now + 1].filter(isRight)
  return steps.find((step) => step > last) ?? (steps.length > 0 ? 'used' : null)
}
