import { domainToASCII } from 'node:url'
import * as Type from '@sinclair/typebox/type'

/** The longest address, in characters (RFC 5321 §4.5.3.1.3, without the angle brackets). */
const longestEmail = 254

export const emailSchema = Type.String({ minLength: 1, maxLength: longestEmail })

/** The characters of a host. In other strings, `domainToASCII` drops line breaks and what follows a slash, and decodes `%61`. */
const host = /^[a-z0-9.\u0080-\u{10ffff}-]+$/iu

/** The part before the @, as browsers accept it (HTML, "valid e-mail address"). Letters of other scripts could fold to ASCII ones. */
const local = /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}$/i

/** No IPv4 address, as which browsers also read numbers. */
const domain =
  /^(?=.{1,253}$)(?![\d.]+$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/

/** An e-mail address as it is stored and compared: trimmed, in lower case, the domain as browsers send it (IDNA). */
export function emailOf(text: string): string | null {
  // IDNA takes the square of the characters.
  if (text.length > longestEmail) return null
  const [name, given = '', ...more] = text.trim().split('@') as [string, ...string[]]
  if (more.length > 0 || !local.test(name) || !host.test(given)) return null
  const ascii = domainToASCII(given)
  const email = `${name.toLowerCase()}@${ascii}`
  return domain.test(ascii) && email.length <= longestEmail ? email : null
}
