// An app that does not say what its users look like.
import Fastify from 'fastify'
import authn, { storedUser, type AuthUser } from 'fastify-authn'
import { exactly } from '../exactly.js'

const app = Fastify()
app.register(authn, { userService: { findByUsername: () => ({ name: 'alice' }) } })
app.get('/', { config: { auth: true } }, (request) => {
  exactly<AuthUser>()(request.user)
  // @ts-expect-error -- nobody has said that users have a name
  return request.user.name
})
app.get('/typed', { config: { auth: true } }, (request) => {
  return storedUser<{ name: string }>(request)?.name
})
