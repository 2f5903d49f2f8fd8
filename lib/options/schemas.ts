import * as Type from '@sinclair/typebox/type'
import { authenticatorSchema, httpToken } from './authenticator-schemas.js'
import { jwtSchema, signingMethod } from './jwt-schemas.js'
import {
  anyFunction,
  byName,
  fieldName,
  flag,
  nonEmpty,
  oneOf,
  optional,
  options,
  or,
  seconds,
  strict,
  text,
  userService,
  whole,
} from './check.js'

export const basicSchema = strict(
  {
    username: text('a non-empty string without colons and control characters (RFC 7617 §2)', {
      pattern: '^[^:\\u0000-\\u001f\\u007f]+$',
    }),
    password: text('a non-empty string without control characters (RFC 7617 §2)', {
      secret: true,
      pattern: '^[^\\u0000-\\u001f\\u007f]+$',
    }),
  },
  'an object with username and password',
)

const ownPath = text('a path that begins with /', { pattern: '^/', quoted: true })

const login = options({
  path: ownPath,
  refreshPath: ownPath,
  logoutPath: ownPath,
  usernameField: fieldName,
  passwordField: fieldName,
  signingMethod,
  tokenFunc: anyFunction('a function (request, user) that returns the token'),
  subject: anyFunction('a function (user, username) that returns the name of the user'),
  claims: anyFunction('a function (request, user) that returns an object of claims'),
  body: anyFunction('a function (tokens) that returns a plain object'),
  routeOptions: Type.Object({}, { description: 'an object of Fastify route options' }),
})

const hashing = options({
  cost: whole(4, 31),
  maxCost: whole(4, 31),
  concurrency: whole(1, 1024),
  maxQueue: whole(0, 1_000_000),
  maxWait: seconds(60),
})

const throttle = options({
  perUsername: whole(1, 1_000_000),
  perAddress: whole(1, 1_000_000),
  window: whole(1, 604_800),
  redis: Type.Object(
    { defineCommand: anyFunction('a function'), multi: anyFunction('a function') },
    { description: 'a client of ioredis' },
  ),
  keyPrefix: text('a non-empty string'),
})

const audit = strict(
  {
    mode: Type.Literal('explicit', { description: "'explicit'" }),
    except: optional(anyFunction('a function (route)')),
    middleware: optional(flag),
  },
  "an object with mode: 'explicit', except, middleware",
)

const access = options({
  scopesOf: anyFunction('a function (user, request) that returns the scopes'),
  rolesOf: anyFunction('a function (user, request) that returns the roles'),
})

const cookies = options({
  name: text('letters, digits, -, _ and ., 64 at most, with a letter or a digit first', {
    pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$',
    quoted: true,
  }),
  sameSite: oneOf(['lax', 'strict'], "'lax' or 'strict'"),
  // Each is checked by trustedOf in lib/cookies/csrf.ts.
  trustedOrigins: Type.Array(Type.String(), {
    description: 'an array of origins such as https://shop.example',
  }),
})

/** 400 days: browsers keep no cookie for longer. The maximum also catches milliseconds. */
const longestSession = 34_560_000

const registrationName = text('letters, digits, ".", "_" and "-", 64 at most', {
  pattern: '^[0-9A-Za-z._-]{1,64}$',
  quoted: true,
})

const storeFactory = (description: string) => {
  const open = anyFunction('a function (name) that returns the store of a registration')
  const store = Type.Object({ prefix: nonEmpty, isLocal: flag, open })
  // Only an error of a union can be reported as one of the whole value.
  return Type.Union([store, Type.Never()], { whole: true, description })
}

const sessions = options({
  store: storeFactory(
    "a store of fastify-authn/sessions, such as redisSessions(redis, { prefix: 'shop' }) or sqlSessions({ query: (text, params) => pool.query(text, params), prefix: 'shop' })",
  ),
  lifetime: seconds(longestSession),
  idle: seconds(longestSession),
  grace: Type.Number({ minimum: 0, maximum: 60, description: 'seconds, 0 to 60' }),
  maxPerUser: whole(1, 10_000),
  name: registrationName,
})

export const apiKeyPrefix = '^(?=.{2,20}$)[a-z][a-z0-9]*(?:_[a-z0-9]+)*$'

const apiKeys = strict(
  {
    prefix: text("2 to 20 characters: words of a-z and 0-9 joined by _, such as 'acme_live'", {
      pattern: apiKeyPrefix,
      quoted: true,
    }),
    store: storeFactory(
      "memoryApiKeys(), redisApiKeys(redis, { prefix: 'shop' }) or sqlApiKeys({ query: (text, params) => pool.query(text, params), prefix: 'shop' }) of fastify-authn/api-keys, or a store of the app",
    ),
    header: optional(text('a header name (RFC 9110 §5.6.2)', { pattern: httpToken, quoted: true })),
    cache: optional(or(false, options({ max: whole(1, 1_000_000), ttl: seconds(60) }))),
    maxPerOwner: optional(whole(1, 10_000)),
    user: optional(anyFunction('a function (owner, request) that returns a user or null')),
    name: optional(registrationName),
  },
  'an object with prefix, store, header, cache, maxPerOwner, user, name',
)

export const pluginSchema = options(
  {
    userService,
    passwordField: fieldName,
    maxPasswordBytes: Type.Union([Type.Literal(false), Type.Integer({ minimum: 1, maximum: 72 })], {
      description: 'false, or bytes from 1 to 72 (bcrypt ignores what comes after)',
    }),
    hashing,
    credentialCache: or(false, options({ max: whole(1, 1_000_000), ttl: seconds(3600) })),
    throttle: or(false, throttle),
    userServiceTimeout: seconds(300),
    access,
    authenticator: Type.Union([nonEmpty, Type.Array(nonEmpty, { minItems: 1 }), Type.Object({})], {
      description: 'an authenticator, the name of one, or an array of names',
    }),
    authenticators: byName(authenticatorSchema, 'an object of authenticators by name'),
    // Checked by parseMark in lib/marks/mark.ts, whose errors name the place of the mark.
    auth: Type.Any(),
    audit: or('explicit', audit),
    jwt: jwtSchema,
    // Each is checked by lib/options/resolve-issuers.ts, which only this option loads.
    issuers: byName(
      Type.Object({}, { description: 'an object with issuer, audience, user' }),
      'an object of issuers by name',
    ),
    jwtService: Type.Object({}, { description: 'an instance of JwtService' }),
    basic: basicSchema,
    login: or(false, login),
    cookies: or(true, cookies),
    apiKeys,
    sessions: Type.Union([Type.Boolean(), sessions], {
      description: `true, or ${sessions.description}`,
    }),
    errorBody: anyFunction('a function (error, request) that returns an object'),
    errorSchema: Type.Object({}, { description: 'a JSON Schema object' }),
    realm: text('a non-empty string of Latin-1 without control characters', {
      pattern: '^[\\t\\u0020-\\u007e\\u0080-\\u00ff]+$',
    }),
    languages: byName(
      byName(nonEmpty),
      'an object of catalogues by language tag, each an object of texts by message key',
    ),
    defaultLanguage: text('a language tag (BCP 47)', { quoted: true }),
  },
  'an object of options',
)
