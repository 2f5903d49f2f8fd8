import { declaredProperty, withDeclared, withoutUndefined } from '../common/objects.js'
import { providerOptions } from '../common/provider-options.js'
import { rejection, wrongOption } from '../errors/errors.js'
import { userTableOf, type UserTable } from './table.js'
import { hasMailLogin, toolsFor, waysFor, waysOf } from './tools.js'
import type { AccountsOptions } from '../../types/accounts.js'
import type { AccountValues } from '../../types/mail.js'
import type { LoginProviderOptions } from '../../types/login-with.js'
import type { AuthnOptions } from '../../types/options.js'
import type { PasskeysOptions } from '../../types/passkeys.js'
import type { UserRow, UsersOptions } from '../../types/users.js'

type Members = Readonly<Record<string, unknown>>

/** Options that `users` takes the place of. */
const replaced = [
  'userService',
  'passwordField',
  'login.subject',
  'accounts.emailField',
  'secondFactor.field',
  'apiKeys.user',
]

/** Members of options, which may be instances of a class. Functions are called on them. */
const methods = 'create update remove sendMail acceptPassword list add'.split(' ')

/** An option with more members. Those that the app has set take precedence. */
function completed(given: unknown, more: Members): unknown {
  if (typeof given !== 'object' || given === null) return given
  const isMissing = ([name]: [string, unknown]): boolean =>
    (name === 'remove' ? [undefined, true] : [undefined]).includes(
      declaredProperty(given, name) as undefined,
    )
  return {
    ...withDeclared(given, [...methods, ...providerOptions]),
    ...Object.fromEntries(Object.entries(more).filter(isMissing)),
  }
}

/** What the option `users` gives to others. @throws ERR_AUTH_OPTION */
export function supply(given: AuthnOptions): AuthnOptions {
  for (const option of replaced) {
    const [first, second] = option.split('.') as [keyof AuthnOptions, string?]
    const outer: unknown = given[first]
    const value = second === undefined ? outer : declaredProperty(Object(outer) as object, second)
    if (value === undefined) continue
    wrongOption(
      `options "users" and "${option}" are both set, but the table of "users" has its own. Leave "${option}" out, or for a table of the app, leave "users" out.`,
    )
  }
  const { users, login, accounts, loginWith, secondFactor, passkeys } = given
  const table = userTableOf((users as unknown as UsersOptions).store)
  // A function that makes whole tokens makes their `sub` too.
  const makesTokens = declaredProperty(Object(login) as object, 'tokenFunc') !== undefined
  const forLogin = {
    usernameField: 'email',
    ...(!makesTokens && { subject: (user: UserRow) => user.id }),
  }
  // Browsers withhold strict cookies at the callback of a link, which startup rejects.
  const mayLink = declaredProperty(Object(given.cookies) as object, 'sameSite') !== 'strict'
  const forFactors = {
    update: (user: UserRow, after: string | null, before: string | null) =>
      table.ask((store) => store.swap(user.id, { secondFactor: after }, { secondFactor: before })),
  }
  const supplied = {
    userService: table.service,
    login: login === false ? false : completed(login ?? {}, forLogin),
    accounts: completed(accounts, forAccounts(table, accounts?.remove)),
    loginWith: byName(loginWith, (provider) => forProvider(table, provider, mayLink)),
    secondFactor: completed(secondFactor, forFactors),
    passkeys: completed(passkeys, forPasskeys(table, given)),
  }
  return { ...given, ...withoutUndefined<object>(supplied) }
}

function byName(given: AuthnOptions['loginWith'], of: (name: string) => Members): unknown {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given
  return Object.fromEntries(
    Object.entries(given).map(([name, each]) => [name, completed(each, of(name))]),
  )
}

function forAccounts({ ask }: UserTable, remove: unknown): Members {
  const create: AccountsOptions['create'] = async (account, request) => {
    const tools = toolsFor(request)
    const { email, passwordHash: password, invitation, admin } = account
    // An invitation ends with the admin who has sent it.
    const { by, ...given } = admin ?? {}
    if (by !== undefined && (await tools.find(by))?.disabledAt !== null) return false
    const known = { email, ...withoutUndefined({ invitation, admin: admin && given }) }
    const columns = await tools.columnsOf(known, request)
    return (await tools.add({ email, password }, columns, null, request)) !== null
  }
  const update: AccountsOptions<UserRow>['update'] = ({ id }, after, before) =>
    ask((store) => store.swap(id, secretsOf(after), secretsOf(before)))
  const removed: AccountsOptions<UserRow>['remove'] = ({ id }, request) =>
    toolsFor(request).remove(id, request)
  return { create, update, ...(remove === true && { remove: removed }) }
}

const secretsOf = ({ email, passwordHash: password }: AccountValues) => ({ email, password })

function forProvider({ ask }: UserTable, provider: string, mayLink: boolean): Members {
  const username: LoginProviderOptions['username'] = (claims, request) =>
    toolsFor(request).ofProvider(provider, claims, request)
  const link: LoginProviderOptions<UserRow>['link'] = ({ iss: issuer, sub: subject }, { id }) =>
    ask((store) => store.link(id, { provider, issuer, subject }))
  return { username, ...(mayLink && { link }) }
}

function forPasskeys({ ask }: UserTable, given: AuthnOptions): Members {
  const [ways, byMail] = [waysOf(given), hasMailLogin(given)]
  const list: PasskeysOptions<UserRow>['list'] = ({ id }) => ask((store) => store.passkeys(id))
  const add: PasskeysOptions<UserRow>['add'] = ({ id }, passkey) =>
    ask((store) => store.addPasskey(id, passkey))
  const update: PasskeysOptions<UserRow>['update'] = ({ id }, after, before) =>
    ask((store) => store.swapPasskey(id, after, before))
  const remove: PasskeysOptions<UserRow>['remove'] = async (user, passkey, mayBeLast) => {
    const left = mayBeLast ? null : await waysFor(ways, byMail, user, ask)
    const removed = await ask((store) => store.removePasskey(user.id, passkey, left))
    if (removed === 'last') throw rejection('auth.passkey-last')
    return removed === 'removed'
  }
  return { list, add, update, remove }
}
