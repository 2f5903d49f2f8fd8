import * as Type from '@sinclair/typebox/type'
import { anyFunction, flag, options, whole } from '../options/check.js'
import { withDefaults } from '../options/defaults.js'
import { secretsSchema } from '../options/jwt-schemas.js'
import type { MailLoginOptions } from '../../types/mail-login.js'

const members = options(
  {
    accept: anyFunction('a function (user, request) that returns whether the user may'),
    signUp: flag,
    expiresIn: whole(120, 3000, ' (seconds)'),
    code: flag,
    key: secretsSchema,
    routeOptions: Type.Object({}, { description: 'an object of options of a route' }),
  },
  'true, or an object with accept, signUp, expiresIn, code, key, routeOptions',
)

export const schema = Type.Union([Type.Literal(true), members], {
  description: String(members.description),
})

const defaults = { expiresIn: 600, code: true, routeOptions: {} }

export type ResolvedMailLogin = ReturnType<typeof resolve>

export function resolve(option: true | MailLoginOptions<object>) {
  const given = option === true ? {} : option
  // Called on the object of the app, which may be an instance of a class.
  return { given, ...withDefaults(defaults, given) }
}
