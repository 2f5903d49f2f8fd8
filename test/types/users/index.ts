// A table of users: what it supplies may be left out of other options, and its rows are their users.
import Fastify from 'fastify'
import authn, { type AnyOwnUserOptions, type TableUser, type UserTableOptions } from 'fastify-authn'
import { memoryUsers, type StoredTableUser } from 'fastify-authn/users'
import { exactly } from '../exactly.js'

declare module 'fastify-authn' {
  interface AuthUser extends TableUser {
    readonly team: string | null
  }
}

const app = Fastify()
const users = { store: memoryUsers({ prefix: 'shop' }) }
const sendMail = (): void => {}
const accounts = { url: 'https://shop.example/account', sendMail }
const google = { issuer: 'https://accounts.google.com', clientId: 'shop' }
const passkeys = { origin: 'https://shop.example', name: 'Shop' }
const secondFactor = { key: 'key', issuer: 'Shop' }
const service = { findByUsername: () => null }

app.register(authn, {
  users: {
    ...users,
    newUser: ({ email, claims }, request) => ({ name: claims?.name ?? email, ip: request.ip }),
    admin: { auth: { role: 'admin', mfa: true } },
  },
  jwt: { secret: process.env['AUTH_JWT_SECRET'] },
  cookies: { apps: true },
  login: {
    claims(_request, user) {
      exactly<StoredTableUser>()(user)
      exactly<string>()(user.id)
      exactly<string | null>()(user.email)
      exactly<string | null>()(user.team)
      exactly<Date | null>()(user.disabledAt)
      exactly<unknown>()(user['plan'])
      return { scope: user.roles.join(' ') }
    },
  },
  accounts: { ...accounts, remove: true },
  mailLogin: {
    accept(user) {
      exactly<StoredTableUser>()(user)
      return !user.roles.includes('admin')
    },
  },
  loginWith: { google: { ...google, clientSecret: 'secret' } },
  secondFactor: { ...secondFactor, page: '/code' },
  passkeys,
})
app.get('/', { config: { auth: true } }, ({ user }) => {
  exactly<string>()(user.id)
  exactly<string | null>()(user.email)
  exactly<readonly string[]>()(user.roles)
  exactly<string | null>()(user.team)
})

// What the app supplies itself gets a row.

app.register(authn, {
  users,
  accounts: {
    ...accounts,
    create: ({ email }) => email !== '',
    update: (user, after) => user.id !== after.email,
    remove: (user) => user.id,
  },
  loginWith: { google: { ...google, username: ({ sub }) => sub, link: (_, { id }) => id !== '' } },
  secondFactor: { ...secondFactor, update: ({ id }, after) => id !== after },
  passkeys: { ...passkeys, list: ({ id }) => (id === '' ? [] : []) },
})

// In other places: a scope, an import, a call, options of elsewhere, beside a resource.

const login: UserTableOptions['login'] = { claims: (_request, { disabledAt }) => ({ disabledAt }) }
app.register(authn, () => ({
  users,
  prefix: '/v1',
  login: { claims: (_request, { team }) => ({ team }) },
}))
app.register(import('fastify-authn'), {
  users,
  login: { claims: (_request, { disabledAt }) => ({ disabledAt }) },
})
export const called: Promise<void> = authn(app, { users, login, accounts })
export const options: AnyOwnUserOptions = { users, login, accounts }
app.register(authn, options)
app.register(authn, { ...options, prefix: '/v2' })
const issuers = { corp: { issuer: 'https://id.example', user: () => null } }
app.register(authn, {
  resource: 'https://a.example',
  issuers,
  users,
  login: { claims: (_request, { disabledAt }) => ({ disabledAt }) },
})
// @ts-expect-error -- an audience without a resource
app.register(authn, { users, issuers })

// What the table replaces is not allowed beside it.

// @ts-expect-error
app.register(authn, { users, userService: service })
// @ts-expect-error
app.register(authn, { users, passwordField: 'password' })
// @ts-expect-error
app.register(authn, { users, login: { subject: () => 'alice' } })
// @ts-expect-error
app.register(authn, { users, accounts: { ...accounts, emailField: 'mail' } })
// @ts-expect-error
app.register(authn, { users, secondFactor: { ...secondFactor, field: 'factor' } })
// @ts-expect-error
app.register(authn, { users, apiKeys: { prefix: 'a', store: {} as never, user: () => null } })

// Without it, nothing is supplied.

// @ts-expect-error -- neither create nor update
app.register(authn, { userService: service, accounts })
const stored = { ...accounts, create: () => true, update: () => true }
// @ts-expect-error -- a function
app.register(authn, { accounts: { ...stored, remove: true } })
// @ts-expect-error -- no username
app.register(authn, { userService: service, loginWith: { google } })
// @ts-expect-error -- no update
app.register(authn, { userService: service, secondFactor })
// @ts-expect-error -- no list
app.register(authn, { userService: service, passkeys })

// Mistakes.

// @ts-expect-error -- no store
app.register(authn, { users: {} })
// @ts-expect-error -- no mark
app.register(authn, { users: { ...users, admin: {} } })
// @ts-expect-error -- a typo
app.register(authn, { users: { ...users, sinUp: false } })
// @ts-expect-error -- a typo
app.register(authn, { users, accounts: { ...accounts, minPaswordLength: 9 } })
// @ts-expect-error -- no sendMail
app.register(authn, { users, accounts: { url: 'https://shop.example' } })
