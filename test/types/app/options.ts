// Options: what is unknown or wrong does not compile.
import fs from 'node:fs'
import Fastify from 'fastify'
import authn, {
  basicAuthenticator,
  configBasicAuthenticator,
  configFromEnv,
  jwtAuthenticator,
  JwtService,
  type AnyAuthnOptions,
  type AuthnOptions,
  type ErrorBody,
  type IssuerOptions,
  type JwtConfig,
  type LoginClaims,
  type LoginOptions,
  type StoredUser,
  type TokenFunc,
  type UserOfIssuer,
  type UserService,
} from 'fastify-authn'
import { exactly } from '../exactly.js'
import { rows, type Row } from './user.js'

const app = Fastify()

const userService: UserService = {
  findByUsername: (username, request) => {
    exactly<string | number>()(username)
    exactly<string>()(request.ip)
    return rows.find(({ name }) => name === username)
  },
}

app.register(authn, { userService, jwt: { secret: process.env['AUTH_JWT_SECRET'] } })
app.register(authn, { userService, ...configFromEnv() })
app.register(authn, () => ({ userService, prefix: '/v1' }))
app.register(authn)
app.register(authn, { userService, cookies: true })
app.register(authn, {
  userService,
  cookies: { name: process.env['NAME'], sameSite: 'strict', trustedOrigins: ['https://a.example'] },
})
// @ts-expect-error -- cookies that all sites send are none
app.register(authn, { userService, cookies: { sameSite: 'none' } })
// @ts-expect-error -- an array
app.register(authn, { userService, cookies: { trustedOrigins: 'https://a.example' } })
// @ts-expect-error -- they belong to one host
app.register(authn, { userService, cookies: { domain: 'a.example' } })

// An environment variable that may not be set can be handed over as it is.

const secret: string | undefined = process.env['AUTH_JWT_SECRET']
const pair = { private: process.env['A'], public: process.env['B'], passphrase: process.env['C'] }
app.register(authn, {
  userService,
  passwordField: 'password',
  maxPasswordBytes: false,
  authenticator: 'jwt',
  authenticators: { internal: configBasicAuthenticator() },
  auth: 'optional',
  jwt: {
    secret,
    expiry: 60,
    signingMethod: 'ES256',
    rsa: pair,
    ecdsa: pair,
    eddsa: pair,
    clockTolerance: 5,
    requireExp: false,
    issuer: process.env['ISSUER'],
    audience: ['a', 'b'] as const,
  },
  basic: { username: process.env['USER'], password: process.env['PASSWORD'] },
  realm: 'Notes',
  languages: { en: { 'auth.jwt-expired': 'Sign in again.' } },
  defaultLanguage: 'de',
  login: {
    path: '/session',
    usernameField: 'email',
    passwordField: 'secret',
    signingMethod: 'RS256',
    tokenFunc: (request, user, jwtService) => {
      exactly<JwtService>()(jwtService)
      exactly<string>()(request.method)
      exactly<StoredUser>()(user)
      exactly<boolean>()(user.vip)
      return jwtService.generateTokenWithClaims({ sub: user.name, vip: user.vip })
    },
    routeOptions: { config: { rateLimit: { max: 5 } }, bodyLimit: 1024 },
  },
})
app.register(authn, { login: false })
app.register(authn, {
  login: {
    subject(user, username) {
      exactly<string>()(username)
      return user.id
    },
  },
})
app.register(authn, { login: { subject: async (user) => user.name } })
// @ts-expect-error -- no name
app.register(authn, { login: { subject: () => null } })
app.register(authn, { authenticator: ['jwt', 'basic'] })
app.register(authn, { authenticator: jwtAuthenticator({ userService, claimName: 'userid' }) })
app.register(authn, { authenticator: basicAuthenticator({ passwordField: 'hash' }) })
app.register(authn, { jwtService: new JwtService({ rsa: pair }, { fs }) })
app.register(authn, {
  jwtService: new JwtService({ rsa: pair }, { fs: { readFile: async () => 'PEM' } }),
})
app.register(authn, { jwtService: app.jwtService })
// @ts-expect-error -- an object with some of its methods is no service
app.register(authn, { jwtService: { load: async () => {}, verifier: () => () => ({}) } })

// Typos and wrong values.

// @ts-expect-error -- unknown option of login
app.register(authn, { login: { url: '/login' } })
// @ts-expect-error -- false or options
app.register(authn, { login: true })
// @ts-expect-error -- no signing method
app.register(authn, { jwt: { secret: 'secret', signingMethod: 'none' } })
// @ts-expect-error -- a typo in a mark
app.register(authn, { auth: 'ture' })
// @ts-expect-error -- no message key
app.register(authn, { languages: { en: { 'auth.expired': 'Expired' } } })
// @ts-expect-error -- a user service finds users
app.register(authn, { userService: {} })
// @ts-expect-error -- a user is an object
app.register(authn, { userService: { findByUsername: () => 'alice' } })
// @ts-expect-error -- these users lack what the app says that its users have
app.register(authn, { userService: { findByUsername: () => ({ name: 'alice' }) } })
// @ts-expect-error -- a token is a string
app.register(authn, { login: { tokenFunc: () => ({ token: 'token' }) } })
// @ts-expect-error -- login validates its body itself
app.register(authn, { login: { routeOptions: { validatorCompiler: () => () => true } } })
// @ts-expect-error -- unknown option
jwtAuthenticator({ claim: 'userid' })
// @ts-expect-error -- unknown option
basicAuthenticator({ field: 'hash' })
// @ts-expect-error -- the username is a string
configBasicAuthenticator({ username: 5, password: 'secret' })
// @ts-expect-error -- a service has a configuration
export const unconfigured = new JwtService()

// The types of the parts, for apps that put their options together elsewhere.

const config: JwtConfig = { secret: 'secret' }
const tokenFunc: TokenFunc = (_request, user) => `${user.id}`
const login: LoginOptions = { tokenFunc }
const errorBody: AuthnOptions['errorBody'] = ({ message }): ErrorBody => ({ message })
const user: IssuerOptions['user'] = ({ sub }): UserOfIssuer => rows.find(({ name }) => name === sub)
export const returning: AuthnOptions = {
  userService,
  errorBody,
  login: { claims: (): LoginClaims => ({ scope: 'a' }) },
  issuers: { corp: { issuer: 'https://id.example', audience: 'api', user } },
}
export const options: AuthnOptions = { userService, jwt: config, login }
app.register(authn, options)
app.register(authn, { ...options, prefix: '/v2', auth: undefined })
const own: UserService<Row> = { findByUsername: async () => rows[0] ?? null }
export const ownOptions: AuthnOptions<Row> = {
  userService: own,
  login: { tokenFunc: async (_request, user) => user.password },
}

// Beside a resource, whose identifier is the default, an issuer may leave its audience out.

const issuer = { issuer: 'https://id.example', user: () => null }
const resource = 'https://a.example'
app.register(authn, { resource, issuers: { corp: issuer } })
app.register(authn, { resource: { identifier: resource }, issuers: { corp: issuer } })
app.register(authn, { resource, issuers: { corp: { ...issuer, audience: 'api' } } })
export const ofResource: AnyAuthnOptions = { resource, issuers: { corp: issuer } }
app.register(authn, { ...ofResource, prefix: '/v3' })
app.register(authn, {
  resource,
  userService: own,
  login: {
    tokenFunc(_request, stored) {
      exactly<Row>()(stored)
      return stored.password
    },
  },
  issuers: {
    corp: {
      issuer: 'https://id.example',
      user: ({ sub }) => rows.find(({ name }) => name === sub),
    },
  },
})
// @ts-expect-error -- without a resource
app.register(authn, { issuers: { corp: issuer } })
// @ts-expect-error -- nor beside one that is undefined
app.register(authn, { resource: undefined, issuers: { corp: issuer } })
// @ts-expect-error -- a typo
app.register(authn, { resource: { identifier: resource, nam: 'Notes' } })
exactly<string | undefined>()(app.authn.resource?.metadata().resource)

// Each error stands at its own option.

app.register(authn, {
  userService,
  passwordField: 'password',
  jwt: {
    secret: 'secret',
    // @ts-expect-error -- seconds
    expiry: '15m',
  },
})

// Required marks: a predicate that forgets to answer, or answers later, does not compile.

app.register(authn, { requireMarks: true })
app.register(authn, {
  requireMarks: {
    except: ({ methods, url, prefix, isHidden, isAutomaticHead, config, constraints }) => {
      exactly<readonly string[]>()(methods)
      exactly<string>()(url)
      exactly<string>()(prefix)
      exactly<boolean>()(isHidden)
      exactly<boolean>()(isAutomaticHead)
      return config['isPublic'] === true || 'host' in constraints
    },
  },
})
// @ts-expect-error -- the option is left out instead
app.register(authn, { requireMarks: false })
// @ts-expect-error -- a promise is always something
app.register(authn, { requireMarks: { except: async () => true } })
// @ts-expect-error -- nothing is returned
app.register(authn, { requireMarks: { except: () => {} } })
const [route] = app.authn.routes()
exactly<boolean | 'optional' | 'try' | undefined>()(route?.mode)
exactly<'route' | 'scope' | 'plugin' | 'none' | undefined>()(route?.source)
exactly<string>()(app.authn.printRoutes())
