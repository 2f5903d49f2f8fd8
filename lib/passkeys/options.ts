import { isIP } from 'node:net'
import { wrongOption } from '../errors/errors.js'
import { isOrigin } from '../http/origin.js'
import {
  anyFunction,
  fieldName,
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
  most: optional(whole(1, 100)),
  routeOptions,
})

const defaults = { accountField: 'email', most: 20, routeOptions: {} }

/** The origin of an Android app: the SHA-256 digest of its signing certificate, in base64url. */
const androidApp = /^android:apk-key-hash:[\w-]{43}$/

/** Browsers have WebAuthn on secure pages alone (Secure Contexts §3.1). */
const isAccepted = (origin: string): boolean =>
  androidApp.test(origin) || (isOrigin(origin) && /^https:|^http:\/\/localhost(?::|$)/.test(origin))

export type ResolvedPasskeys = ReturnType<typeof resolvePasskeys>

export function resolvePasskeys(given: PasskeysOptions<object>) {
  const origins = [given.origin].flat()
  const wrong = origins.find((origin) => !isAccepted(origin))
  if (wrong !== undefined) {
    wrongOption(
      `option "passkeys.origin": found ${JSON.stringify(wrong)}, expected an origin as browsers send it, such as https://shop.example, http://localhost:3000 or android:apk-key-hash:…, without a path.`,
    )
  }
  const rpId = given.rpId ?? hostOf(origins[0] as string)
  const hosts = origins.map(hostOf).filter((host) => host !== '')
  const isDomain = URL.canParse(`https://${rpId}`) && new URL(`https://${rpId}`).host === rpId
  const isOurs = hosts.length === 0 || hosts.some((host) => `.${host}`.endsWith(`.${rpId}`))
  if (rpId === '' || isIP(rpId) > 0 || !isDomain || !isOurs) {
    wrongOption(
      `option "passkeys.rpId": found ${rpId === '' ? 'nothing' : JSON.stringify(rpId)}, expected the domain of the passkeys, such as shop.example: that of an origin in "passkeys.origin", or one above it, in lower case, without scheme and port.`,
    )
  }
  // The functions are called on the object of the app, which may be an instance of a class.
  return { given, ...withDefaults(defaults, given), origins, rpId }
}

/** Empty for an app. */
function hostOf(origin: string): string {
  return androidApp.test(origin) ? '' : new URL(origin).hostname
}
