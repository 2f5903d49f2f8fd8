import * as Type from '@sinclair/typebox/type'
import type { CookieSettings } from '../http/cookie-names.js'
import { flag, oneOf, options, or, text } from '../options/check.js'
import { withDefaults } from '../options/defaults.js'
import type { CookieOptions } from '../../types/cookies.js'

export const schema = or(
  true,
  options({
    name: text('letters, digits, -, _ and ., 64 at most, with a letter or a digit first', {
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$',
      quoted: true,
    }),
    sameSite: oneOf(['lax', 'strict'], "'lax' or 'strict'"),
    apps: flag,
    // Each is checked by trustedOf in lib/cookies/csrf.ts.
    trustedOrigins: Type.Array(Type.String(), {
      description: 'an array of origins such as https://shop.example',
    }),
  }),
)

const defaults: CookieSettings = { name: '', sameSite: 'lax', apps: false, trustedOrigins: [] }

export function resolve(given: CookieOptions | true): CookieSettings {
  return withDefaults(defaults, given === true ? {} : given)
}

declare module '../feature.js' {
  interface ResolvedFeatures {
    cookies: CookieSettings
  }
}
