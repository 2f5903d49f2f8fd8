// What apps and requests carry.
import Fastify from 'fastify'
import {
  EXTRA_JWT_CLAIMS,
  storedUser,
  userFromContext,
  type Authn,
  type AuthUser,
  type JwtClaims,
  type JwtServiceLike,
  type RequestExtra,
  type StoredUser,
} from 'fastify-authn'
import { exactly } from '../exactly.js'
import type { Row } from './user.js'

const app = Fastify()

exactly<JwtServiceLike>()(app.jwtService)
exactly<string>()(app.jwtService.generateToken('alice'))
exactly<string>()(app.jwtService.generateToken(1))
exactly<string>()(app.jwtService.generateTokenWithClaims({ sub: 'alice', roles: ['a'] }, 'ES512'))
exactly<JwtClaims>()(app.jwtService.verify('token', 'EdDSA', { requireExp: false }))
exactly<unknown>()(app.jwtService.verify('token').sub)
exactly<number | undefined>()(app.jwtService.verify('token').exp)
exactly<Promise<JwtServiceLike>>()(app.jwtService.reload())
exactly<boolean>()(app.jwtService.canSign('RS256'))
// @ts-expect-error -- an id is a string or a number
app.jwtService.generateToken(null)
// @ts-expect-error -- claims are an object
app.jwtService.generateTokenWithClaims('alice')
// @ts-expect-error -- no signing method
app.jwtService.verify('token', 'none')

exactly<Authn>()(app.authn)
exactly<readonly string[]>()(app.authn.authenticators)

app.get('/', { config: { auth: true } }, (request) => {
  exactly<RequestExtra>()(request.extra)
  exactly<JwtClaims | undefined>()(request.extra[EXTRA_JWT_CLAIMS])
  exactly<JwtClaims | undefined>()(request.extra.jwtClaims)
  exactly<string | undefined>()(request.extra.tenant)
  exactly<unknown>()(request.extra['another'])
  request.extra.tenant = 'acme'
  // @ts-expect-error -- the app says that it is a string
  request.extra.tenant = 1
  // @ts-expect-error -- keys are set, the object stays
  request.extra = {}

  exactly<string>()(request.lang)
  request.lang = 'de'
  exactly<string | null>()(request.bearerToken())

  exactly<StoredUser | null>()(storedUser(request))
  exactly<string | undefined>()(storedUser(request)?.password)
  exactly<Row | null>()(storedUser<Row>(request))
  // @ts-expect-error -- request.user has no password
  return request.user.password
})

exactly<AuthUser | null>()(userFromContext())
exactly<Row | null>()(userFromContext<Row>())
// @ts-expect-error -- outside of a request there is nobody
export const nobody = userFromContext().id
