/** Decimal digits of a script are in a run of ten, from 0 to 9 (Unicode 4.6). */
function valueOf(digit: string): string {
  const at = Number(digit.codePointAt(0))
  let first = at
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first -= 1
  return String((at - first) % 10)
}

/** A code as it was shown, of one as it was typed: in another script or width, with spaces, hyphens, invisible marks. */
export function plainCode(typed: string): string {
  const digits = typed.normalize('NFKC').replace(/\p{Nd}/gu, valueOf)
  // Some letters are invisible, and Japanese keyboards have a letter in place of the hyphen.
  return digits.replace(/[^\p{L}\p{N}]|\p{DI}|\u30fc/gu, '').toLowerCase()
}

/** Whether a {@link plainCode} has six digits, as authenticator apps and e-mails show them. */
export const isSixDigits = (code: string): boolean => /^\d{6}$/.test(code)
