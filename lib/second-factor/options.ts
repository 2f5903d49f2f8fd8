import {
  anyFunction,
  fieldName,
  optional,
  routeOptions,
  strict,
  text,
  whole,
} from '../options/check.js'
import { withDefaults } from '../options/defaults.js'
import { secretsSchema } from '../options/jwt-schemas.js'
import { openBox } from './box.js'
import type { SecondFactorOptions } from '../../types/second-factor.js'

export const schema = strict({
  key: secretsSchema,
  issuer: text('a name without a colon, which authenticator apps show', {
    pattern: '^[^:]*[^:\\s][^:]*$',
    quoted: true,
  }),
  update: anyFunction('a function (user, after, before) that stores a change'),
  field: optional(fieldName),
  accountField: optional(fieldName),
  page: optional(text('a path', { quoted: true })),
  remember: optional(whole(3600, 7_776_000, ' (seconds)')),
  routeOptions,
})

const defaults = { field: 'secondFactor', accountField: 'email', routeOptions: {} }

export type ResolvedSecondFactor = ReturnType<typeof resolve>

export function resolve(given: SecondFactorOptions<object>) {
  return {
    // Called on the object of the app, which may be an instance of a class.
    given,
    ...withDefaults(defaults, given),
    box: openBox(Array.isArray(given.key) ? given.key : [given.key as string]),
  }
}
