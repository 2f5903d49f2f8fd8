// Custom authenticators, and those that are made of others.
import Fastify from 'fastify'
import authn, {
  anyOf,
  AuthenticationError,
  basicAuthenticator,
  configBasicAuthenticator,
  jwtAuthenticator,
  type AuthenticationErrorLike,
  type Authenticator,
  type BasicUser,
  type UserService,
} from 'fastify-authn'
import { exactly } from '../exactly.js'
import { rows, type Row } from './user.js'

interface Machine {
  serial: string
}

const machines: Authenticator<Machine> = {
  init(app) {
    exactly<boolean>()(app.jwtService.canVerify())
  },
  authenticate(request) {
    const key = request.headers['x-api-key']
    if (key === undefined) return null
    if (key !== 'key') throw new AuthenticationError('This API key was revoked.')
    return { serial: '1' }
  },
  onUnauthorized(error, _request, reply) {
    exactly<AuthenticationErrorLike>()(error)
    return reply.code(error.statusCode).send({ code: error.code })
  },
}

const service: UserService<Row> = { findByUsername: async () => rows[0] }
const jwt = jwtAuthenticator({ userService: service })
const basic = basicAuthenticator({ userService: service, passwordField: 'password' })
const config = configBasicAuthenticator({ username: 'admin', password: 'secret' })
exactly<Authenticator<Row>>()(jwt)
exactly<Authenticator<Row>>()(basic)
exactly<Authenticator<BasicUser>>()(config)

const any = anyOf(jwt, machines)
exactly<Row | Machine | null | Promise<Row | Machine | null>>()(any.authenticate({} as never))
const wide: Authenticator = any
const wrapped: Authenticator<Row> = {
  ...jwt,
  scheme: 'Token',
  async authenticate(request) {
    const user = await jwt.authenticate(request)
    return user === null || user.vip ? user : null
  },
}

const app = Fastify()
app.register(authn, { authenticator: machines })
app.register(authn, { authenticator: any, authenticators: { machines, jwt, basic, config, wide } })
app.register(authn, { authenticators: { wrapped, both: anyOf(wrapped, config) } })
app.register(authn, { authenticator: { authenticate: async () => null } })

// @ts-expect-error -- an authenticator authenticates
app.register(authn, { authenticator: { scheme: 'Token' } })
// @ts-expect-error -- a user is an object
app.register(authn, { authenticator: { authenticate: () => 'alice' } })
// @ts-expect-error -- a user is an object
app.register(authn, { authenticator: { authenticate: () => true } })
// @ts-expect-error -- anonymous is null
export const undecided: Authenticator<Row> = { authenticate: async () => undefined }
// @ts-expect-error -- an authenticator is no function
app.register(authn, { authenticators: { machines: () => null } })
// @ts-expect-error -- no authenticator
anyOf(jwt, {})
// @ts-expect-error -- these users are not those
export const wrong: Authenticator<Machine> = jwt
