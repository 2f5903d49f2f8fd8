import { isIP } from 'node:net'
import { wrongOption } from '../errors/errors.js'
import { isOrigin } from '../http/origin.js'
import {
  anyFunction,
  fieldName,
  flag,
  oneOrMore,
  optional,
  routeOptions,
  strict,
  text,
  whole,
} from '../options/check.js'
import { withDefaults } from '../options/defaults.js'
import type { PasskeysOptions } from '../../types/passkeys.js'

export const schema = strict({
  origin: oneOrMore(text('an origin', { quoted: true }), 'an origin, or a list of origins', 100),
  name: text('the name of the app', { pattern: '\\S', quoted: true }),
  list: anyFunction('a function (user) that returns the passkeys of a user'),
  add: anyFunction('a function (user, passkey) that stores a new passkey'),
  update: anyFunction('a function (user, after, before) that stores a change'),
  remove: anyFunction('a function (user, id) that deletes a passkey'),
  rpId: optional(text('a domain without scheme and port', { quoted: true })),
  accountField: optional(fieldName),
  username: optional(anyFunction('a function (handle) that returns the name of a user, or null')),
  most: optional(whole(1, 100)),
  mfa: optional(flag),
  routeOptions,
})

const defaults = { accountField: 'email', most: 20, mfa: true, routeOptions: {} }

/** The origin of an Android app: the SHA-256 digest of its signing certificate, in base64url. */
const androidApp = /^android:apk-key-hash:[\w-]{43}$/

/** Browsers have WebAuthn on secure pages alone (Secure Contexts §3.1). */
const isAccepted = (origin: string): boolean =>
  androidApp.test(origin) || (isOrigin(origin) && /^https:|^http:\/\/localhost(?::|$)/.test(origin))

/** Browsers reject these for pages below. They know thousands, of which these are the most frequent. */
const publicSuffix = /^[^.]+$|^(?:ac|co|com|edu|gov|net|org)\.[a-z]{2}$/

/** Empty for an app. */
const hostOf = (origin: string): string => new URL(origin).hostname

/** As browsers spell it, in ASCII. Empty for what is no address. */
const partOf = (url: string, part: 'origin' | 'host'): string =>
  URL.canParse(url) ? new URL(url)[part] : ''

export type ResolvedPasskeys = ReturnType<typeof resolvePasskeys>

export function resolvePasskeys(given: PasskeysOptions<object>) {
  const origins = [given.origin].flat()
  const wrong = origins.find((origin) => !isAccepted(origin))
  if (wrong !== undefined) {
    const meant = partOf(wrong, 'origin')
    const hint = isAccepted(meant) ? ` Did you mean ${JSON.stringify(meant)}?` : ''
    wrongOption(
      `option "passkeys.origin": found ${JSON.stringify(wrong)}, expected an origin as browsers send it, such as https://shop.example, http://localhost:3000 or android:apk-key-hash:…, without a path.${hint}`,
    )
  }
  const rpId = given.rpId ?? hostOf(origins[0] as string)
  const hosts = origins.map(hostOf).filter((host) => host !== '')
  const domain = partOf(`https://${rpId}`, 'host')
  const isSite = !publicSuffix.test(rpId)
  const isOf = (host: string): boolean => host === rpId || (isSite && host.endsWith(`.${rpId}`))
  const isOurs = hosts.length === 0 ? isSite : hosts.some(isOf)
  if (rpId === '' || isIP(rpId) > 0 || domain !== rpId || !isOurs) {
    const isSpelling = ![rpId, ''].includes(domain) && !/[:/@]/.test(rpId)
    wrongOption(
      `option "passkeys.rpId": found ${rpId === '' ? 'nothing' : JSON.stringify(rpId)}, expected the domain of the passkeys, such as shop.example: that of an origin in "passkeys.origin", or one above it that can be registered (not com or co.uk), in lower case, without scheme and port.${isSpelling ? ` Did you mean ${JSON.stringify(domain)}?` : ''}`,
    )
  }
  const options = withDefaults(defaults, given)
  /** What a passkey proves (RFC 8176). */
  const amr = options.mfa ? ['pop', 'mfa'] : ['pop']
  // The functions are called on the object of the app, which may be an instance of a class.
  return { given, ...options, origins, rpId, amr }
}
