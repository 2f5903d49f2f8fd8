import { ownProperty } from './objects.js'

/**
 * The `typ` of a token in the form in which it is compared: in lower case, and without `application/` where no other
 * slash follows (RFC 7515 §4.1.9).
 */
export function comparable(typ: string): string {
  // Nearly every token has this one, and no new string has to be made for it.
  if (typ === 'JWT') return 'jwt'
  const folded = typ.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
  return folded.replace(/^application\/(?=[^/]*$)/, '')
}

/** The {@link comparable} `typ` of a header. @returns undefined if there is none; null if it is no string, which is rejected */
export function typOf(header: object): string | null | undefined {
  const typ = ownProperty(header, 'typ')
  if (typ === undefined) return undefined
  return typeof typ === 'string' ? comparable(typ) : null
}
