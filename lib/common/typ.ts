import { ownProperty } from './objects.js'

/**
 * The purpose of a token as it is compared: a media type without regard to the case of ASCII letters, and
 * without `application/`, which may be left out where no other slash follows (RFC 7515 §4.1.9).
 */
export function comparable(typ: string): string {
  // Nearly every token has this one: no text has to be made for it.
  if (typ === 'JWT') return 'jwt'
  const folded = typ.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
  return folded.replace(/^application\/(?=[^/]*$)/, '')
}

/**
 * The purpose that a token's header names, to be compared with those that are accepted.
 *
 * @returns undefined where there is none; null for a value that is no text, which no set of accepted ones has
 */
export function typOf(header: object): string | null | undefined {
  const typ = ownProperty(header, 'typ')
  if (typ === undefined) return undefined
  return typeof typ === 'string' ? comparable(typ) : null
}
