// What the user service returns is what tokenFunc gets, without annotations.
import Fastify from 'fastify'
import authn, { basicAuthenticator, jwtAuthenticator, type Authenticator } from 'fastify-authn'
import { exactly } from '../exactly.js'
import { rows, type Row } from './user.js'

const app = Fastify()

interface Account extends Row {
  team: string
  hash: string | null
  pin: number
}
declare const accounts: Account[]

// Methods of every kind.

app.register(authn, {
  userService: {
    async findByUsername(username) {
      exactly<string | number>()(username)
      return accounts.find(({ name }) => name === username)
    },
  },
  passwordField: 'hash',
  login: {
    tokenFunc(request, user) {
      exactly<string>()(request.ip)
      exactly<Account>()(user)
      return user.team
    },
  },
})
app.register(authn, {
  userService: { findByUsername: (username) => accounts.find(({ name }) => name === username) },
  login: { tokenFunc: async (_request, user) => user.team },
})
app.register(authn, {
  userService: { findByUsername: async () => accounts[0] ?? null },
  login: { tokenFunc: (_request, user) => user.team },
})
app.register(authn, {
  login: { tokenFunc: (_request, user) => user.team },
  userService: { findByUsername: () => accounts[0] ?? null },
})
class Accounts {
  constructor(readonly list: Account[]) {}
  async findByUsername(username: string | number): Promise<Account | null> {
    return this.list.find(({ name }) => name === username) ?? null
  }
}
app.register(authn, {
  userService: new Accounts(accounts),
  passwordField: 'hash',
  login: { tokenFunc: (_request, user) => user.team },
})
app.register(authn, {
  userService: new Accounts(accounts),
  // @ts-expect-error -- no such field
  passwordField: 'hsah',
})
app.register(authn, {
  userService: new Accounts(accounts),
  // @ts-expect-error -- no text
  passwordField: 'pin',
})
app.register(authn, {
  userService: new Accounts(accounts),
  login: {
    tokenFunc(_request, user) {
      exactly<Account>()(user)
      // @ts-expect-error -- not in the schema
      return user.nope
    }
  },
})
app.register(authn, () => ({
  userService: new Accounts(accounts),
  prefix: '/v1',
  login: { tokenFunc: (_request, user) => user.team },
}))
app.register(import('fastify-authn'), {
  userService: new Accounts(accounts),
  login: { tokenFunc: (_request, user) => user.team },
})
export const jwt = jwtAuthenticator({ userService: { findByUsername: async () => accounts[0] ?? null } })
exactly<Authenticator<Account>>()(jwt)
