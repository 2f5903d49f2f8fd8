// Scopes: whole groups are marked at run time, so that request.user is typed by the route's own mark.
import Fastify, { type FastifyPluginAsync } from 'fastify'
import authn, { type AuthUser } from 'fastify-authn'
import { exactly } from '../exactly.js'

const app = Fastify()

const admin: FastifyPluginAsync = async (scope) => {
  scope.get('/', (request) => {
    exactly<AuthUser | null>()(request.user)
    return request.user?.id
  })
  scope.get('/me', { config: { auth: true } }, (request) => request.user.id)
}
const files: FastifyPluginAsync<{ root: string }> = async (_scope, { root }) => {
  exactly<string>()(root)
}

app.register(admin, { prefix: '/admin', auth: true })
app.register(files, { root: '/', auth: 'optional', prefix: '/files' })
app.register(
  (scope, _options, done) => {
    scope.get('/', { config: { auth: true } }, (request) => request.user.id)
    done()
  },
  { prefix: '/callback', auth: false },
)
app.register(async function encapsulated(scope) {
  await scope.register(authn, { auth: true })
  scope.get('/', { config: { auth: true } }, (request) => request.user.id)
  // @ts-expect-error -- the mark of the scope is not seen by the types
  scope.get('/', (request) => request.user.id)
})

// What a user may do, for a whole group or scope.

app.register(admin, { prefix: '/editors', auth: { role: 'editor' } })
app.register(admin, { auth: { use: 'jwt', scope: { all: ['a', 'b'] } } })
app.register(authn, { auth: { scope: { any: ['a', 'b'] }, role: 'editor' } })
// Checked at startup: another plugin may have an option of this name.
app.register(admin, { auth: { scope: ['a'] } })
// @ts-expect-error -- both forms
app.register(authn, { auth: { scope: { all: ['a'], any: ['b'] } } })
// @ts-expect-error -- a bare array
app.register(authn, { auth: { role: ['editor'] } })
