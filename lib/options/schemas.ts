import * as Type from '@sinclair/typebox/type'
import { jwtSchema } from './jwt-schemas.js'
import {
  strict,
  text,
  anyFunction,
  flag,
  optional,
  httpToken,
  whole,
  signingMethod,
  userService,
  tokenRules,
  seconds,
} from './parts.js'

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

const audit = Type.Object(
  {
    mode: Type.Literal('explicit', { description: "'explicit'" }),
    except: optional(anyFunction('a function (route)')),
  },
  { ...strict, description: "an object with mode: 'explicit', except" },
)

const filled = Type.String({ minLength: 1 })

/** A Security Scheme Object: what no document could be valid without. */
const securityScheme = Type.Union(
  [
    Type.Object({ type: Type.Literal('http'), scheme: filled }),
    Type.Object({
      type: Type.Literal('apiKey'),
      in: Type.Union([Type.Literal('header'), Type.Literal('query'), Type.Literal('cookie')]),
      name: filled,
    }),
    Type.Object({ type: Type.Literal('oauth2'), flows: Type.Object({}) }),
    Type.Object({ type: Type.Literal('openIdConnect'), openIdConnectUrl: filled }),
    Type.Object({ type: Type.Literal('mutualTLS') }),
  ],
  {
    whole: true,
    description:
      "a Security Scheme Object of OpenAPI, such as { type: 'apiKey', in: 'header', name: 'x-api-key' }",
  },
)

/** What every authenticator has to look like; it may have more. */
export const authenticatorSchema = Type.Object(
  {
    scheme: optional(
      text({ description: 'a token (RFC 9110 §5.6.2)', pattern: httpToken, shown: true }),
    ),
    optional: optional(flag),
    openapi: optional(securityScheme),
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
    audit: optional(
      Type.Union([Type.Literal('explicit'), audit], {
        description: "'explicit', or an object with mode: 'explicit', except",
        shown: true,
      }),
    ),
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
