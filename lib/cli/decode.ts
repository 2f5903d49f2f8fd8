import { unverifiedPart } from '../tokens/unverified.js'
import { quoted } from './text.js'

type Part = Readonly<Record<string, unknown>>

/** The content of a token, valid or not; or `problem`: why the text is not a token. */
export type Decoded =
  | { readonly header: Part; readonly claims: Part; readonly problem: null }
  | { readonly header: Part | null; readonly claims: null; readonly problem: string }

/** Removes what is often pasted together with a token: spaces, quotes, the name of the header. */
export function cleaned(text: string): string {
  return text
    .trim()
    .replace(/^(["'`])(.*)\1$/s, '$2')
    .replace(/^authorization:\s*/i, '')
    .replace(/^bearer\s+/i, '')
    .trim()
}

/** Decodes the compact serialization (RFC 7515 §7.1), without verifying anything. */
export function decode(token: string): Decoded {
  const parts = token.split('.')
  if (parts.length !== 3) {
    const found = token === '' ? 'nothing' : String(parts.length)
    const hint =
      parts.length === 5 ? ' Five are an encrypted token (JWE), which is not supported.' : ''
    return unreadable(`expected three parts with dots between them, found ${found}.${hint}`)
  }
  const header = decodePart(token, 0)
  const claims = decodePart(token, 1)
  if (header === null) return unreadable('its first part is no base64url of a JSON object.')
  if (claims === null)
    return unreadable('its second part is no base64url of a JSON object.', header)
  return { header, claims, problem: null }
}

function unreadable(problem: string, header: Part | null = null): Decoded {
  return { header, claims: null, problem }
}

/** @returns null for what is no base64url, no JSON object, or nested too deeply to print */
function decodePart(token: string, part: 0 | 1): Part | null {
  if (!/^[\w-]+$/.test(token.split('.')[part] as string)) return null
  try {
    const decoded = unverifiedPart(token, part)
    quoted(decoded)
    return decoded
  } catch {
    return null
  }
}
