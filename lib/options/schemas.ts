import * as Type from '@sinclair/typebox/type'
import { authenticatorSchema } from './authenticator-schemas.js'
import { jwtSchema, signingMethod } from './jwt-schemas.js'
import {
  anyFunction,
  byName,
  fieldName,
  flag,
  nonEmpty,
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

const login = options({
  path: text('a path that begins with /', { pattern: '^/', quoted: true }),
  passwords: flag,
  usernameField: fieldName,
  passwordField: fieldName,
  signingMethod,
  tokenFunc: anyFunction('a function (request, user) that returns the token'),
  subject: anyFunction('a function (user, username) that returns the name of the user'),
  claims: anyFunction('a function (request, user) that returns an object of claims'),
  body: anyFunction('a function (tokens) that returns a plain object'),
  routeOptions: Type.Object({}, { description: 'an object of Fastify route options' }),
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

const requireMarks = options({ except: anyFunction('a function (route)'), middleware: flag })

const access = options({
  scopesOf: anyFunction('a function (user, request) that returns the scopes'),
  rolesOf: anyFunction('a function (user, request) that returns the roles'),
})

/** @param ofFeatures - options that are checked when their feature is loaded */
export const pluginSchema = (ofFeatures: readonly string[]) =>
  options(
    {
      userService,
      passwordField: fieldName,
      maxPasswordBytes: Type.Union(
        [Type.Literal(false), Type.Integer({ minimum: 1, maximum: 4096 })],
        { description: 'false, or bytes from 1 to 4096' },
      ),
      // Checked by resolveHashing in lib/passwords/hashing.ts, since each algorithm has its own limits.
      hashing: Type.Any(),
      credentialCache: or(false, options({ max: whole(1, 1_000_000), ttl: seconds(3600) })),
      throttle: or(false, throttle),
      userServiceTimeout: seconds(300),
      access,
      authenticator: Type.Union(
        [nonEmpty, Type.Array(nonEmpty, { minItems: 1 }), Type.Object({})],
        { description: 'an authenticator, the name of one, or an array of names' },
      ),
      authenticators: byName(authenticatorSchema, 'an object of authenticators by name'),
      // Checked by parseMark in lib/marks/mark.ts, whose errors name the place of the mark.
      auth: Type.Any(),
      requireMarks: or(true, requireMarks),
      jwt: jwtSchema,
      jwtService: Type.Object({}, { description: 'an instance of JwtService' }),
      basic: basicSchema,
      login: or(false, login),
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
      ...Object.fromEntries(ofFeatures.map((name) => [name, Type.Any()])),
    },
    'an object of options',
  )
