import * as Type from '@sinclair/typebox/type'
import { cookiesSchema } from './cookie-schemas.js'
import { jwtSchema } from './jwt-schemas.js'
import { authenticatorSchema } from './authenticator-schemas.js'
import { sessionsSchema } from './session-schemas.js'
import {
  strict,
  text,
  anyFunction,
  fieldName,
  flag,
  optional,
  whole,
  signingMethod,
  userService,
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

const login = Type.Object(
  {
    path: optional(text({ description: 'a path that begins with /', pattern: '^/', shown: true })),
    usernameField: optional(fieldName),
    passwordField: optional(fieldName),
    signingMethod: optional(signingMethod),
    tokenFunc: optional(anyFunction('a function (request, user) that returns the token')),
    claims: optional(anyFunction('a function (request, user) that returns an object of claims')),
    routeOptions: optional(Type.Object({}, { description: 'an object of Fastify route options' })),
  },
  { ...strict, description: 'false, or an object of login options' },
)

const hashing = Type.Object(
  {
    cost: whole(4, 31),
    maxCost: whole(4, 31),
    concurrency: whole(1, 1024),
    maxQueue: whole(0, 1_000_000),
    maxWait: seconds(60),
  },
  { ...strict, description: 'an object with cost, maxCost, concurrency, maxQueue, maxWait' },
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
    middleware: optional(flag),
  },
  { ...strict, description: "an object with mode: 'explicit', except, middleware" },
)

const access = Type.Object(
  {
    scopesOf: optional(anyFunction('a function (user, request) that returns the scopes')),
    rolesOf: optional(anyFunction('a function (user, request) that returns the roles')),
  },
  { ...strict, description: 'an object with scopesOf, rolesOf' },
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
    access: optional(access),
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
    // Checked by parseMark in lib/marks/parse.ts, whose errors name the place of the mark.
    auth: optional(Type.Any()),
    audit: optional(
      Type.Union([Type.Literal('explicit'), audit], {
        description: "'explicit', or an object with mode: 'explicit', except, middleware",
        shown: true,
      }),
    ),
    jwt: optional(jwtSchema),
    // Each is checked by lib/options/resolve-issuers.ts, which is loaded only where there are some.
    issuers: optional(
      Type.Record(
        Type.String(),
        Type.Object({}, { description: 'an object with issuer, audience' }),
        { description: 'an object of issuers by name' },
      ),
    ),
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
    cookies: optional(cookiesSchema),
    sessions: optional(sessionsSchema),
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
