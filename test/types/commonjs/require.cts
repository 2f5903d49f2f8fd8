// What `require` gives is the plugin itself, with everything else on it.
import fastify = require('fastify')
import authn = require('fastify-authn')
import context = require('fastify-authn/context')
import apiKeys = require('fastify-authn/api-keys')

const app = fastify()

app.register(authn, { jwt: { secret: 'secret' } })
app.register(authn.default, { auth: true })
app.register(authn, {
  resource: 'https://api.example',
  issuers: { corp: { issuer: 'https://id.example', user: () => null } },
})
app.register(authn.authn, { jwtService: new authn.JwtService({ secret: 'secret' }) })
// @ts-expect-error -- unknown option
app.register(authn, { secret: 'secret' })

app.register(authn, {
  apiKeys: { prefix: 'acme', store: apiKeys.memoryApiKeys({ prefix: 'shop' }) },
})
// @ts-expect-error -- no store
app.register(authn, { apiKeys: { prefix: 'acme' } })

const options: authn.AuthnOptions = { authenticator: authn.anyOf(authn.jwtAuthenticator()) }
app.register(authn, options)
app.get('/', { config: { auth: true } }, (request) => request.user.id)
// @ts-expect-error -- the request may be anonymous
app.get('/', { config: { auth: 'try' } }, (request) => request.user.id)
export const user: authn.AuthUser | null = context.userFromContext()

const users = [{ id: 1, name: 'alice', password: '', vip: true, team: 'a' }]
app.register(authn, {
  userService: { findByUsername: async (username) => users.find(({ name }) => name === username) },
  passwordField: 'password',
  login: { tokenFunc: (_request, user) => user.team },
})
// @ts-expect-error -- a typo
app.register(authn, { userService: { findByUsername: () => users[0] }, passwordField: 'pasword' })
export const plugin: authn.AuthnPlugin = authn
export const role: 'admin' | 'member' | undefined = app.jwtService.verify('token').role
export const room: string | undefined = app.jwtService.verify<{ room: string }>('token').room
