import { quoted } from './text.js'

type Part = Readonly<Record<string, unknown>>

/** What is in a token, whether it is valid or not; `problem`: why it is no token. */
export type Decoded =
  | { readonly header: Part; readonly claims: Part; readonly problem: null }
  | { readonly header: Part | null; readonly claims: null; readonly problem: string }

/** A token as it was pasted, without what often comes with it: spaces, quotes, the name of the header. */
export function cleaned(text: string): string {
  return text
    .trim()
    .replace(/^(["'`])(.*)\1$/s, '$2')
    .replace(/^authorization:\s*/i, '')
    .replace(/^bearer\s+/i, '')
    .trim()
}

/** Reads the compact serialization (RFC 7515 §7.1), without judging it. */
export function decode(token: string): Decoded {
  const parts = token.split('.')
  if (parts.length !== 3) {
    const found = token === '' ? 'nothing' : String(parts.length)
    const hint =
      parts.length === 5 ? ' Five are an encrypted token (JWE), which is not supported.' : ''
    return unreadable(`expected three parts with dots between them, found ${found}.${hint}`)
  }
  const [header, claims] = parts.slice(0, 2).map(decodePart)
  if (!header) return unreadable('its first part is no base64url of a JSON object.')
  if (!claims) return unreadable('its second part is no base64url of a JSON object.', header)
  return { header, claims, problem: null }
}

function unreadable(problem: string, header: Part | null = null): Decoded {
  return { header, claims: null, problem }
}

function decodePart(part: string): Part | null {
  if (!/^[\w-]+$/.test(part)) return null
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString())
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
    // Nested deeper than can be printed: nobody's token.
    quoted(value)
    return value as Part
  } catch {
    return null
  }
}
