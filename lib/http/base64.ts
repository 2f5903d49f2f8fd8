const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/**
 * Whether the unused bits after the last byte are zero (RFC 4648 section 3.5). Node ignores them, so that
 * several texts would decode to one value.
 *
 * @param text - base64 or base64url; the letters in which both alphabets differ end no such text
 * @param length - without the padding
 */
export function isCanonical(text: string, length = text.length): boolean {
  const rest = length % 4
  if (rest === 0) return true
  const last = alphabet.indexOf(text.charAt(length - 1))
  return rest !== 1 && (last & (rest === 2 ? 0b1111 : 0b11)) === 0
}
