import { limitsOf, limitsSchema } from '../mail/limits.js'
import { checkAddress } from '../options/address.js'
import {
  anyFunction,
  fieldName,
  flag,
  optional,
  routeOptions,
  strict,
  text,
  whole,
} from '../options/check.js'
import { withDefaults } from '../options/defaults.js'
import type { AccountsOptions } from '../../types/accounts.js'

export const schema = strict({
  url: text('the address of the pages of the app', { quoted: true }),
  create: anyFunction('a function (account, request) that stores a new account'),
  update: anyFunction('a function (user, after, before) that stores a change'),
  sendMail: anyFunction('a function ({ kind, to, link }) that sends an e-mail'),
  remove: optional(anyFunction('a function (user, request) that deletes an account')),
  acceptPassword: optional(anyFunction('a function (password, email, request)')),
  signUp: optional(flag),
  minPasswordLength: optional(whole(8, 64)),
  emailField: optional(fieldName),
  linkExpiry: optional(whole(300, 86_400)),
  limits: limitsSchema,
  routeOptions,
})

const defaults = {
  signUp: true,
  minPasswordLength: 15,
  emailField: 'email',
  linkExpiry: 3600,
  routeOptions: {},
}

export type ResolvedAccounts = ReturnType<typeof resolve>

export function resolve(given: AccountsOptions<object>) {
  checkAddress('accounts.url', given.url, true)
  return {
    // Called on the object of the app, which may be an instance of a class.
    given,
    ...withDefaults(defaults, given),
    url: given.url.replace(/\/+$/, ''),
    limits: limitsOf(given.limits),
  }
}

declare module '../feature.js' {
  interface ResolvedFeatures {
    accounts: ResolvedAccounts
  }
}
