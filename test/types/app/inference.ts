// What the user service returns is what everything else of the options has to do with.
import Fastify, { type FastifyPluginAsync } from 'fastify'
import authn, {
  anyOf,
  basicAuthenticator,
  jwtAuthenticator,
  type Authenticator,
  type AuthnOptions,
  type AuthnPlugin,
  type IdTokenClaims,
  type PasswordFieldOf,
  type ProviderTokens,
  type StoredUser,
  type UserService,
} from 'fastify-authn'
import { github } from 'fastify-authn/providers'
import { exactly } from '../exactly.js'
import type { Row } from './user.js'

interface Account extends Row {
  team: string
  hash: string | null
  pin: number
  hint?: string
  rename(name: string): void
}

declare const accounts: readonly Account[]
const find = (name: string | number): Account | undefined =>
  accounts.find((account) => account.name === name)

class Accounts {
  readonly #cache = new Map<string, Account>()
  async findByUsername(username: string): Promise<Account | null> {
    return this.#cache.get(username) ?? null
  }
}
const byClass = new Accounts()

const app = Fastify()

// The user of tokenFunc, without an annotation: async and not, null and undefined, classes.

app.register(authn, {
  userService: {
    async findByUsername(username, request) {
      exactly<string | number>()(username)
      exactly<string>()(request.ip)
      return find(username)
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
  userService: { findByUsername: (username) => find(username) ?? null },
  passwordField: 'hint',
  login: { tokenFunc: async (_request, user) => user.team },
})
app.register(authn, {
  userService: byClass,
  login: {
    tokenFunc(_request, user) {
      exactly<Account>()(user)
      // @ts-expect-error -- these users have no such field
      return user.nickname
    },
  },
})
app.register(authn, {
  userService: {
    findByUsername: () => accounts[0],
    updatePasswordHash: (user, hash, previous) => {
      exactly<Account>()(user)
      exactly<string>()(hash)
      exactly<string>()(previous)
    },
  },
})
app.register(authn, () => ({
  userService: byClass,
  prefix: '/v1',
  login: { tokenFunc: (_request, user) => user.team },
}))
app.register(import('fastify-authn'), {
  userService: byClass,
  login: { tokenFunc: (_request, user) => user.team },
})
const corp = { issuer: 'https://id.example', clientId: 'shop', username: () => 'alice' }
app.register(authn, {
  userService: byClass,
  loginWith: {
    corp: {
      ...corp,
      link({ iss, sub }, user, request, { accessToken }) {
        exactly<Account>()(user)
        return [iss, sub, user.team, request.ip, accessToken]
      },
    },
    narrower: { ...corp, link: (_, user: Account & { serial: number }) => user.serial },
    // @ts-expect-error -- no users of the service
    other: { ...corp, link: (_, user: string) => user },
  },
})
const keys = { clientId: 'shop', clientSecret: () => 'secret' }
app.register(authn, {
  userService: byClass,
  loginWith: {
    github: github({
      ...keys,
      username({ iss, sub, email_verified: isVerified, aud }, request, tokens) {
        exactly<string>()(iss)
        exactly<string | readonly string[] | undefined>()(aud)
        exactly<boolean | undefined>()(isVerified)
        exactly<ProviderTokens>()(tokens)
        return `${sub} ${request.ip}`
      },
      // An entry takes the users that the app has declared, or those that the parameter names.
      link: ({ sub }, user: Account) => [sub, user.team],
    }),
    acme: {
      issuer: 'https://acme.example',
      ...keys,
      oauth2: {
        authorizationEndpoint: 'https://acme.example/authorize',
        tokenEndpoint: 'https://acme.example/token',
        profile: (get) => get('https://acme.example/me'),
      },
      username: (claims, _request, tokens) => {
        exactly<IdTokenClaims>()(claims)
        exactly<ProviderTokens>()(tokens)
        return claims.sub
      },
      link: (_, user) => [user.team],
    },
    corp: {
      ...corp,
      claims: (claims, { user }) => ({ ...claims, name: claims.name ?? user }),
      username: (claims, _request, tokens) => {
        exactly<IdTokenClaims>()(claims)
        exactly<ProviderTokens>()(tokens)
        return claims.sub
      },
    },
  },
})
const options = { userService: byClass, passwordField: 'hash' } satisfies AuthnOptions<Account>
app.register(authn, { ...options, login: { tokenFunc: (_request, user) => user.team } })
app.register(authn, {
  login: {
    tokenFunc(_request, user) {
      const stored: StoredUser = user
      return stored.name
    },
  },
})

app.register(authn, {
  userService: byClass,
  // @ts-expect-error -- the users of the service are others
  login: { tokenFunc: (_request, user: { serial: number }) => `${user.serial}` },
})
app.register(authn, {
  userService: byClass,
  // @ts-expect-error -- unknown option, beside known ones
  passwordFeild: 'hash',
})

// The field of the password hash.

app.register(authn, { userService: { findByUsername: find }, passwordField: 'hash' })
// @ts-expect-error -- a typo
app.register(authn, { userService: byClass, passwordField: 'hsah' })
// @ts-expect-error -- a number
app.register(authn, { userService: byClass, passwordField: 'pin' })
// @ts-expect-error -- a method
app.register(authn, { userService: byClass, passwordField: 'rename' })
declare const anyField: string
// @ts-expect-error -- which one it is, is not known here
app.register(authn, { userService: byClass, passwordField: anyField })
// @ts-expect-error -- also in the options of another place
export const elsewhere: AuthnOptions<Account> = { passwordField: 'hsah' }

exactly<Authenticator<Account>>()(
  basicAuthenticator({ userService: byClass, passwordField: 'hash' }),
)
exactly<Authenticator<Account>>()(
  jwtAuthenticator({ userService: { findByUsername: (username) => find(username) ?? null } }),
)
// @ts-expect-error -- a typo
basicAuthenticator({ userService: byClass, passwordField: 'hsah' })
basicAuthenticator({ passwordField: 'whatever the plugin finds' })

exactly<'name' | 'password' | 'team' | 'hash' | 'hint'>()({} as PasswordFieldOf<Account>)
exactly<'name' | 'password'>()({} as PasswordFieldOf<StoredUser>)
exactly<string>()({} as PasswordFieldOf<object>)
exactly<string>()({} as PasswordFieldOf<Record<string, unknown>>)
exactly<string>()({} as PasswordFieldOf<Account & Record<string, unknown>>)
// oxlint-disable-next-line typescript/no-explicit-any -- as a database without types returns it
declare const untyped: UserService<any>
app.register(authn, { userService: untyped, passwordField: 'whatever' })

// Where types have been named before, and beside other plugins.

export const sameAsEver: FastifyPluginAsync<AuthnOptions> = authn
export const named: AuthnPlugin = authn
export const called: Promise<void> = authn(app, { userService: byClass, passwordField: 'hash' })
export const both = anyOf(jwtAuthenticator({ userService: byClass }), basicAuthenticator())
const other: FastifyPluginAsync<{ userService: string }> = async (_app, { userService }) => {
  exactly<string>()(userService)
}
app.register(other, { userService: 'theirs' })
// @ts-expect-error -- the options of another plugin are its own
app.register(other, { userService: byClass })
app.register((scope, opts, done) => {
  exactly<boolean>()(scope.jwtService.canSign())
  exactly<Record<string, unknown>>()(opts as Record<string, unknown>)
  done()
})
