import { Type } from '@sinclair/typebox'
import { signingMethods } from '../jwt/algorithms.js'

/**
 * `description` says what is expected, for the error. A text that was found is quoted only where it is
 * `shown`, since it could be a secret; where a secret belongs (`secret`), a number is not quoted either.
 */
export interface Expectation {
  description: string
  shown?: boolean
  secret?: boolean
}

const strict = { additionalProperties: false }
const text = (options: Expectation & { pattern?: string }) =>
  Type.String({ minLength: 1, ...options })
const anyFunction = (description: string) => Type.Function([], Type.Any(), { description })
const flag = Type.Boolean({ description: 'true or false' })
const optional = Type.Optional
const httpToken = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"

const whole = (minimum: number, maximum: number) =>
  optional(
    Type.Integer({ minimum, maximum, description: `a whole number from ${minimum} to ${maximum}` }),
  )
const signingMethod = Type.Union(
  signingMethods.map((method) => Type.Literal(method)),
  { description: `one of ${signingMethods.join(', ')}`, shown: true },
)

const userService = Type.Object(
  { findByUsername: anyFunction('a function (username, request)') },
  { description: 'an object with findByUsername(username, request)' },
)

const tokenRules = {
  clockTolerance: optional(
    Type.Number({ minimum: 0, maximum: 300, description: 'seconds, 0 to 300' }),
  ),
  requireExp: optional(flag),
  issuer: optional(text({ description: 'a non-empty string' })),
  audience: optional(
    Type.Union(
      [Type.String({ minLength: 1 }), Type.Array(Type.String({ minLength: 1 }), { minItems: 1 })],
      {
        description: 'a non-empty string, or an array of them',
      },
    ),
  ),
}

const keyValue = text({ description: 'PEM text, or the path of a PEM file', secret: true })
const keyPair = optional(
  Type.Object(
    {
      private: optional(keyValue),
      public: optional(keyValue),
      passphrase: optional(text({ description: 'a non-empty string', secret: true })),
    },
    { ...strict, description: 'an object with private, public, passphrase' },
  ),
)

export const tokenRulesSchema = Type.Object(tokenRules, {
  ...strict,
  description: 'an object with clockTolerance, requireExp, issuer, audience',
})

export const jwtSchema = Type.Object(
  {
    secret: optional(
      Type.Union([Type.String(), Type.Uint8Array()], {
        description: 'a string or a Buffer',
        secret: true,
      }),
    ),
    expiry: optional(
      Type.Integer({
        minimum: 1,
        maximum: 2 ** 31 - 1,
        description: 'whole seconds, 1 or more',
      }),
    ),
    signingMethod: optional(signingMethod),
    rsa: keyPair,
    ecdsa: keyPair,
    eddsa: keyPair,
    rememberTokens: optional(
      Type.Union(
        [
          Type.Literal(false),
          Type.Object(
            { max: whole(1, 1_000_000), maxBytes: whole(1, 65_536) },
            { ...strict, description: 'false, or an object with max, maxBytes' },
          ),
        ],
        { description: 'false, or an object with max, maxBytes' },
      ),
    ),
    ...tokenRules,
  },
  { ...strict, description: 'an object with secret, rsa, ecdsa or eddsa' },
)

export const basicSchema = Type.Object(
  {
    username: text({
      description: 'a non-empty string without colons and control characters (RFC 7617 §2)',
      pattern: '^[^:\\u0000-\\u001f\\u007f]+$',
    }),
    password: text({
      secret: true,
      description: 'a non-empty string without control characters (RFC 7617 §2)',
      pattern: '^[^\\u0000-\\u001f\\u007f]+$',
    }),
  },
  { ...strict, description: 'an object with username and password' },
)

const fieldName = text({ description: 'a non-empty field name' })

const login = Type.Object(
  {
    path: optional(text({ description: 'a path that begins with /', pattern: '^/', shown: true })),
    usernameField: optional(fieldName),
    passwordField: optional(fieldName),
    signingMethod: optional(signingMethod),
    tokenFunc: optional(anyFunction('a function (request, user) that returns the token')),
    routeOptions: optional(Type.Object({}, { description: 'an object of Fastify route options' })),
  },
  { ...strict, description: 'false, or an object of login options' },
)

/** The bounds are also there for those who think in milliseconds. */
const seconds = (maximum: number) =>
  optional(
    Type.Number({
      exclusiveMinimum: 0,
      maximum,
      description: `seconds, above 0, ${maximum} at most`,
    }),
  )

const hashing = Type.Object(
  {
    cost: whole(4, 31),
    concurrency: whole(1, 1024),
    maxQueue: whole(0, 1_000_000),
    maxWait: seconds(60),
  },
  { ...strict, description: 'an object with cost, concurrency, maxQueue, maxWait' },
)

const remember = Type.Object(
  { max: whole(1, 1_000_000), ttl: seconds(3600) },
  { ...strict, description: 'false, or an object with max, ttl' },
)

const throttle = Type.Object(
  {
    perUsername: whole(1, 1_000_000),
    perAddress: whole(1, 1_000_000),
    window: whole(1, 604_800),
    redis: optional(
      Type.Object(
        { defineCommand: anyFunction('a function'), multi: anyFunction('a function') },
        { description: 'a client of ioredis' },
      ),
    ),
    keyPrefix: optional(text({ description: 'a non-empty string' })),
  },
  { ...strict, description: 'false, or an object with perUsername, perAddress, window, redis' },
)

/** What every authenticator has to look like; it may have more. */
export const authenticatorSchema = Type.Object(
  {
    scheme: optional(
      text({ description: 'a token (RFC 9110 §5.6.2)', pattern: httpToken, shown: true }),
    ),
    optional: optional(flag),
    init: optional(anyFunction('a function (app)')),
    authenticate: anyFunction('a function (request) that returns the user or null'),
    onUnauthorized: optional(anyFunction('a function (error, request, reply)')),
  },
  { description: 'an authenticator: an object with authenticate(request)' },
)

const names = Type.Union([
  Type.String({ minLength: 1 }),
  Type.Array(Type.String({ minLength: 1 }), { minItems: 1 }),
])

export const pluginSchema = Type.Object(
  {
    userService: optional(userService),
    passwordField: optional(fieldName),
    maxPasswordBytes: optional(
      Type.Union([Type.Literal(false), Type.Integer({ minimum: 1, maximum: 72 })], {
        description: 'false, or bytes from 1 to 72 (bcrypt ignores what comes after)',
      }),
    ),
    hashing: optional(hashing),
    rememberCredentials: optional(
      Type.Union([Type.Literal(false), remember], {
        description: 'false, or an object with max, ttl',
      }),
    ),
    throttle: optional(
      Type.Union([Type.Literal(false), throttle], {
        description: 'false, or an object with perUsername, perAddress, window, redis',
      }),
    ),
    userServiceTimeout: seconds(300),
    authenticator: optional(
      Type.Union([names, Type.Object({})], {
        description: 'an authenticator, the name of one, or an array of names',
      }),
    ),
    authenticators: optional(
      Type.Record(Type.String(), authenticatorSchema, {
        description: 'an object of authenticators by name',
      }),
    ),
    // Marks are judged where they are read: see marks.ts.
    auth: optional(Type.Any()),
    jwt: optional(jwtSchema),
    jwtService: optional(
      Type.Object(
        { load: anyFunction('a function'), verifier: anyFunction('a function') },
        { description: 'a JwtService' },
      ),
    ),
    basic: optional(basicSchema),
    login: optional(
      Type.Union([Type.Literal(false), login], {
        description: 'false, or an object of login options',
      }),
    ),
    asyncContext: optional(flag),
    realm: optional(
      text({ description: 'a non-empty string of Latin-1 without control characters' }),
    ),
    languages: optional(
      Type.Record(Type.String(), Type.Record(Type.String(), Type.String({ minLength: 1 })), {
        description:
          'an object of catalogues by language tag, each an object of texts by message key',
      }),
    ),
    defaultLanguage: optional(text({ description: 'a language tag (BCP 47)', shown: true })),
  },
  { ...strict, description: 'an object of options' },
)

export const jwtAuthenticatorSchema = Type.Object(
  {
    userService: optional(userService),
    optional: optional(flag),
    claimName: optional(fieldName),
    signingMethod: optional(signingMethod),
    ...tokenRules,
  },
  { ...strict, description: 'an object of options' },
)

export const basicAuthenticatorSchema = Type.Object(
  {
    userService: optional(userService),
    passwordField: optional(fieldName),
    optional: optional(flag),
  },
  { ...strict, description: 'an object of options' },
)
