import { isUtf8 } from 'node:buffer'
import { isProduction } from '../../common/production.js'
import { published } from './published.js'
import { keyError } from './ring.js'
import { isInWords } from './words.js'

/** How many characters are examined: longer secrets are not worth the time. */
const most = 1024

/** What a made-up secret does, in words that follow "it", and how that is found out. */
const tests: readonly (readonly [string, (text: string) => boolean])[] = [
  ['stands in documentation that everybody can read', (text) => published.has(text)],
  ['repeats itself', repeatsItself],
  ['has hardly any different characters', hasFewCharacters],
  ['follows the alphabet, the digits or the keyboard', isInOrder],
  ['is made of words', isInWords],
]

/**
 * Whether a person made the secret up or copied it. Such a secret can be guessed, and who guesses it can sign tokens
 * for every user. Random secrets pass: in base64 and hexadecimal by a wide margin, and of those made of lower-case
 * letters only, all but a few in a million.
 *
 * @returns the reason, such as `repeats itself`; null for a secret that looks random, and for one of less than
 * 256 bits, which is refused anyway
 */
export function madeUp(secret: string | Uint8Array): string | null {
  const bytes = Buffer.from(secret as string)
  if (bytes.length < 32) return null
  const isText = isUtf8(bytes)
  const text = bytes.toString(isText ? 'utf8' : 'latin1').slice(0, most)
  const forms = [text, ...encodedText(text)].map((form) => form.trim())
  const found = tests.find(([, test]) => (isText || test !== isInWords) && forms.some(test))
  return found?.[0] ?? null
}

/** The texts that a secret decodes to, from hexadecimal or base64: encoding does not make it harder to guess. */
function encodedText(text: string): string[] {
  return (['hex', 'base64'] as const)
    .map((encoding) => Buffer.from(text.trim(), encoding).toString())
    .filter((inner) => /^[\x20-\x7e]{16,}$/.test(inner))
}

/** Whether at least 80 % of the characters equal the one that stands a fixed number of places before them. */
function repeatsItself(text: string): boolean {
  for (let way = 1; way <= text.length / 2; way++) {
    let same = 0
    for (let at = way; at < text.length; at++) if (text[at] === text[at - way]) same++
    if (same >= 0.8 * (text.length - way)) return true
  }
  return false
}

/** Whether the Shannon entropy of the characters, over the whole text, is below 48 bits. */
function hasFewCharacters(text: string): boolean {
  const counts = new Map<string, number>()
  for (const letter of text) counts.set(letter, (counts.get(letter) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits += count * Math.log2(text.length / count)
  return bits < 48
}

const keyboard = 'qwertyuiop asdfghjkl zxcvbnm'

/** Whether at least 75 % of the characters follow, in the alphabet or on a keyboard, the one 1 (or 2) places before. */
function isInOrder(text: string): boolean {
  const letters = text.toLowerCase()
  return [1, 2].some((way) => {
    let steps = 0
    for (let at = way; at < letters.length; at++) {
      if (areNeighbours(letters.charAt(at - way), letters.charAt(at))) steps++
    }
    return steps >= 0.75 * (letters.length - way)
  })
}

function areNeighbours(a: string, b: string): boolean {
  const byCode = Math.abs(a.charCodeAt(0) - b.charCodeAt(0)) <= 1
  return byCode || keyboard.includes(a + b) || keyboard.includes(b + a)
}

/** Secrets that were warned of already, so that a test suite with many apps prints one warning. */
const known = new Set<string>()

/**
 * Refuses a made-up secret in production. Elsewhere it emits a process warning, once for each secret.
 *
 * @param option - where it stands
 * @throws ERR_AUTH_KEY
 */
export function checkMadeUp(secret: string | Uint8Array, option = 'jwt.secret'): void {
  const found = madeUp(secret)
  if (found === null) return
  const problem = `it ${found}, expected a random secret: whoever guesses it can sign tokens.`
  const remedy = 'Make one with: npx fastify-authn secret'
  if (isProduction()) keyError(option, problem, remedy)
  const name = String(secret)
  if (known.has(name)) return
  known.add(name)
  process.emitWarning(
    `fastify-authn: option "${option}": ${problem} Where NODE_ENV is production, it stops the boot. ${remedy}`,
    { code: 'AUTHN_MADE_UP_SECRET' },
  )
}
