// What apps and requests carry.
import Fastify from 'fastify'
import {
  EXTRA_JWT_CLAIMS,
  storedUser,
  type Authn,
  type AuthnFeature,
  type AuthUser,
  type JwtClaims,
  type JwtService,
  type RequestExtra,
  type StoredUser,
} from 'fastify-authn'
import { runAs, userFromContext } from 'fastify-authn/context'
import { exactly } from '../exactly.js'
import type { Row } from './user.js'

const app = Fastify()

exactly<JwtService>()(app.jwtService)
const tokens = app.jwtService
exactly<string>()(tokens.generateToken('alice'))
exactly<string>()(tokens.generateToken(1))
exactly<string>()(tokens.generateTokenWithClaims({ sub: 'alice', roles: ['a'] }, 'ES512'))
exactly<JwtClaims>()(tokens.verify('token', 'EdDSA', { requireExp: false }))
exactly<unknown>()(tokens.verify('token').sub)
exactly<number | undefined>()(tokens.verify('token').exp)
exactly<Promise<JwtService>>()(tokens.reload())
exactly<boolean>()(tokens.canSign('RS256'))
// @ts-expect-error -- an id is a string or a number
tokens.generateToken(null)
// @ts-expect-error -- claims are an object
tokens.generateTokenWithClaims('alice')
// @ts-expect-error -- no signing method
tokens.verify('token', 'none')

exactly<Authn>()(app.authn)
exactly<readonly string[]>()(app.authn.authenticators)
exactly<readonly AuthnFeature[]>()(app.authn.features)
exactly<boolean>()(app.authn.features.includes('sessions'))
// @ts-expect-error -- a typo
app.authn.features.includes('session')

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
exactly<number>()(runAs({ id: 1, name: 'alice' }, () => 7))
exactly<Promise<string>>()(runAs(null, async () => 'done'))
// @ts-expect-error -- the result of a look-up may be null, which has to be said
runAs(undefined, () => 7)
// @ts-expect-error -- outside of a request there is no user
export const anonymous = userFromContext().id
