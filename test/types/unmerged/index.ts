// An app that does not say what its users look like.
import Fastify from 'fastify'
import authn, {
  basicAuthenticator,
  storedUser,
  type AuthUser,
  type UserService,
} from 'fastify-authn'
import { exactly } from '../exactly.js'

const app = Fastify()
app.register(authn, { userService: { findByUsername: () => ({ name: 'alice' }) } })
app.get('/', { config: { auth: true } }, (request) => {
  exactly<AuthUser>()(request.user)
  // @ts-expect-error -- no declaration says that users have a name
  return request.user.name
})
app.get('/typed', { config: { auth: true } }, (request) => {
  return storedUser<{ name: string }>(request)?.name
})

// Their types come from the user service all the same.

const users = [{ name: 'alice', hash: '', id: 1 }]
app.register(authn, {
  userService: { findByUsername: async (username) => users.find(({ name }) => name === username) },
  passwordField: 'hash',
  login: {
    tokenFunc(_request, user) {
      exactly<{ name: string; hash: string; id: number }>()(user)
      return user.name
    },
  },
})
app.register(authn, {
  userService: { findByUsername: () => users[0] },
  // @ts-expect-error -- a typo
  passwordField: 'hsah',
})
app.register(authn, {
  userService: { findByUsername: () => users[0] },
  // @ts-expect-error -- the users of the service are others
  login: { tokenFunc: (_request, user: { id: string }) => user.id },
})
// @ts-expect-error -- a user is an object
app.register(authn, { userService: { findByUsername: () => 'alice' } })

// Without a declaration of the user, any user fits.

declare const anyUsers: UserService
app.register(authn, { userService: anyUsers, passwordField: 'hash' })
app.register(authn, { passwordField: 'hash' })
basicAuthenticator({ userService: anyUsers, passwordField: 'hash' })
