import { parseMark } from '../marks/mark.js'
import { wrongOption } from '../errors/errors.js'
import { anyFunction, flag, optional, strict, text } from '../options/check.js'
import * as Type from '@sinclair/typebox/type'
import { withDefaults } from '../options/defaults.js'
import { storeFactory } from '../stores/options.js'
import { waysLeft } from './rules.js'
import { userTableOf } from './table.js'
import type { UserRow, UsersOptions, WaysIn } from '../../types/users.js'

export const schema = strict(
  {
    store: storeFactory(
      "sqlUsers({ query: (text, params) => pool.query(text, params), prefix: 'shop' }) or memoryUsers() of fastify-authn/users, or a store of the app",
    ),
    newUser: optional(anyFunction('a function (account, request) that returns columns')),
    signUp: optional(flag),
    admin: optional(
      strict({
        // Checked by resolve(), whose errors are those of marks.
        auth: Type.Any({ description: "a mark with a role or a scope, such as { role: 'admin' }" }),
        path: optional(
          text('a path that begins with / and does not end with it, without ?, # and *', {
            pattern: String.raw`^/[^\s?#*:]*[^\s?#*:/]$`,
            quoted: true,
          }),
        ),
      }),
    ),
  },
  'an object with store, newUser, signUp, admin',
)

export type ResolvedUsers = ReturnType<typeof resolve>

/** @throws ERR_AUTH_OPTION, ERR_AUTH_MARK */
export function resolve(given: UsersOptions) {
  const { store, signUp = true, admin } = given
  if (admin !== undefined) {
    const { scope, role } = parseMark(admin.auth, 'option "users.admin.auth"')
    if (scope === null && role === null) {
      wrongOption(
        'option "users.admin.auth": found a mark without a role and a scope, which every user meets, expected one that admins alone meet, such as { role: \'admin\', mfa: true }.',
      )
    }
  }
  const table = userTableOf(store)
  const resolved = {
    // Called on the object of the app, which may be an instance of a class.
    given,
    signUp,
    admin: admin && withDefaults({ path: '/admin/users' }, admin),
    table,
    ways: { password: true, passkeys: true, issuers: [] } as WaysIn,
    /** Whether all users with an address can log in by an e-mail. */
    byMail: false,
    /** Whether a user has neither an identity nor a passkey with which to log in, nor an address that is enough. */
    async hasNoWayIn(user: object): Promise<boolean> {
      const { id } = user as UserRow
      const left = waysLeft(resolved.ways, resolved.byMail, user as UserRow)
      if (left === null) return false
      const { passkeys, issuers } = left
      const identities = await table.ask((store) => store.identities(id))
      if (identities.some(({ issuer }) => issuers.includes(issuer))) return false
      return !passkeys || (await table.ask((store) => store.passkeys(id))).length === 0
    },
  }
  return resolved
}

declare module '../feature.js' {
  interface ResolvedFeatures {
    users: ResolvedUsers
  }
}
