import { Type, type TObject, type TSchema } from '@sinclair/typebox'
import { Value, ValueErrorType, type ValueError } from '@sinclair/typebox/value'
import { AuthnUsageError } from './errors.js'
import { isQuotable } from './http/challenge.js'
import { signingMethods } from './jwt/algorithms.js'
import type { JwtConfig } from '../types/jwt.js'
import type {
  AuthnOptions,
  BasicAuthenticatorOptions,
  BasicConfig,
  JwtAuthenticatorOptions,
} from '../types/options.js'

/**
 * `description` says what is expected, for the error; `shown` allows the error to quote what was
 * found: only where it cannot be a secret.
 */
interface Expectation {
  description: string
  shown?: boolean
}

const strict = { additionalProperties: false }
const text = (options: Expectation & { pattern?: string }) =>
  Type.String({ minLength: 1, ...options })
const anyFunction = (description: string) => Type.Function([], Type.Any(), { description })
const flag = Type.Boolean({ description: 'true or false' })
const optional = Type.Optional
const httpToken = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"

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

const keyValue = text({ description: 'PEM text, or the path of a PEM file' })
const keyPair = optional(
  Type.Object(
    {
      private: optional(keyValue),
      public: optional(keyValue),
      passphrase: optional(text({ description: 'a non-empty string' })),
    },
    { ...strict, description: 'an object with private, public, passphrase' },
  ),
)

const jwt = Type.Object(
  {
    secret: optional(
      Type.Union([Type.String(), Type.Uint8Array()], { description: 'a string or a Buffer' }),
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
    ...tokenRules,
  },
  { ...strict, description: 'an object with secret, rsa, ecdsa or eddsa' },
)

const basic = Type.Object(
  {
    username: text({
      description: 'a non-empty string without colons and control characters (RFC 7617 §2)',
      pattern: '^[^:\\u0000-\\u001f\\u007f]+$',
    }),
    password: text({
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

const whole = (minimum: number, maximum: number) =>
  optional(
    Type.Integer({ minimum, maximum, description: `a whole number from ${minimum} to ${maximum}` }),
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
const authenticator = Type.Object(
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

const plugin = Type.Object(
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
      Type.Record(Type.String(), authenticator, {
        description: 'an object of authenticators by name',
      }),
    ),
    // Marks are judged where they are read: see marks.ts.
    auth: optional(Type.Any()),
    jwt: optional(jwt),
    jwtService: optional(
      Type.Object(
        { load: anyFunction('a function'), verifier: anyFunction('a function') },
        { description: 'a JwtService' },
      ),
    ),
    basic: optional(basic),
    login: optional(
      Type.Union([Type.Literal(false), login], {
        description: 'false, or an object of login options',
      }),
    ),
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

const jwtAuthenticator = Type.Object(
  {
    userService: optional(userService),
    optional: optional(flag),
    claimName: optional(fieldName),
    signingMethod: optional(signingMethod),
    ...tokenRules,
  },
  { ...strict, description: 'an object of options' },
)

const basicAuthenticator = Type.Object(
  {
    userService: optional(userService),
    passwordField: optional(fieldName),
    optional: optional(flag),
  },
  { ...strict, description: 'an object of options' },
)

/**
 * Checks options once, where they are given.
 *
 * @param where - prefix of the option's name in the error, such as `jwt`
 * @throws ERR_AUTH_OPTION that names the option, what was found, and what was expected
 */
function check<T>(schema: TSchema, value: unknown, where = ''): T {
  if (Value.Check(schema, value)) return value as T
  throw new AuthnUsageError('ERR_AUTH_OPTION', explain(schema, deepest(schema, value), where))
}

/** The first error; inside a union of `false` and an object, the first one of the object. */
function deepest(schema: TSchema, value: unknown): ValueError {
  let error = Value.Errors(schema, value).First() as ValueError
  while (error.type === ValueErrorType.Union && error.value instanceof Object) {
    const inner = error.errors
      .map((branch) => branch.First())
      .find((e) => e && e.path !== error.path)
    if (inner === undefined) break
    error = inner
  }
  return error
}

function explain(schema: TSchema, error: ValueError, where: string): string {
  const steps = error.path.split('/').slice(1)
  const name = [where, ...steps].filter((step) => step !== '').join('.') || 'options'
  if (error.type === ValueErrorType.ObjectAdditionalProperties) {
    const known = knownProperties(schema, steps)
    return `unknown option "${name}". Known here: ${known.join(', ')}.`
  }
  const { description, shown } = error.schema as Partial<Expectation>
  const found = describe(error.value, shown === true)
  return `option "${name}": found ${found}, expected ${description ?? error.message}.`
}

/** Names of the options beside an unknown one. */
function knownProperties(schema: TSchema, steps: readonly string[]): string[] {
  const branches = [schema, ...((schema.anyOf as TSchema[] | undefined) ?? [])]
  const object = branches.find(({ properties }) => properties !== undefined) as TObject
  const [step, ...rest] = steps
  const inner = step === undefined ? undefined : object.properties[step]
  return inner && rest.length > 0 ? knownProperties(inner, rest) : Object.keys(object.properties)
}

/** What was found, without quoting what could be a secret. */
function describe(value: unknown, shown: boolean): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') {
    if (value === '') return 'an empty string'
    return shown ? JSON.stringify(value) : 'a string that does not fit'
  }
  return typeof value === 'object' ? 'an object that does not fit' : `a ${typeof value}`
}

/** @throws ERR_AUTH_OPTION */
export function checkJwtConfig(config: unknown): JwtConfig {
  const checked = check<JwtConfig>(jwt, config, 'jwt')
  const { secret, rsa, ecdsa, eddsa } = checked
  if (!(secret !== undefined || rsa || ecdsa || eddsa)) {
    throw new AuthnUsageError(
      'ERR_AUTH_OPTION',
      'option "jwt": no key is set. Set jwt.secret (is the environment variable that it comes from set?), jwt.rsa, jwt.ecdsa or jwt.eddsa, or leave "jwt" out.',
    )
  }
  return checked
}

/** @throws ERR_AUTH_OPTION */
export function checkBasicConfig(config: unknown): Required<BasicConfig> {
  return check(basic, config, 'basic')
}

/** @throws ERR_AUTH_OPTION */
export function checkJwtAuthenticatorOptions(options: unknown): JwtAuthenticatorOptions {
  return check(jwtAuthenticator, options, 'jwtAuthenticator')
}

/** @throws ERR_AUTH_OPTION */
export function checkBasicAuthenticatorOptions(options: unknown): BasicAuthenticatorOptions {
  return check(basicAuthenticator, options, 'basicAuthenticator')
}

/** @throws ERR_AUTH_OPTION */
export function checkAuthenticator(value: unknown, where: string): void {
  check(authenticator, value, where)
}

/** Options of the plugin with every default in place: what the rest of the code sees. */
export interface ResolvedOptions extends AuthnOptions {
  passwordField: string
  maxPasswordBytes: number | false
  realm: string
  defaultLanguage: string
}

/**
 * Checks the options of the plugin and puts the defaults in.
 *
 * @throws ERR_AUTH_OPTION for the first option that is wrong or unknown
 */
export function resolveOptions(options: unknown): ResolvedOptions {
  const checked = check<AuthnOptions>(plugin, options)
  if (checked.jwt !== undefined && checked.jwtService !== undefined) {
    throw new AuthnUsageError(
      'ERR_AUTH_OPTION',
      'options "jwt" and "jwtService" are both set. The service has its own configuration: leave "jwt" out.',
    )
  }
  const { realm = 'Authorization required' } = checked
  if (!isQuotable(realm)) {
    throw new AuthnUsageError(
      'ERR_AUTH_OPTION',
      'option "realm": found characters that cannot stand in a header, expected Latin-1 without control characters.',
    )
  }
  return {
    ...checked,
    realm,
    passwordField: checked.passwordField ?? 'password',
    maxPasswordBytes: checked.maxPasswordBytes ?? 72,
    defaultLanguage: checked.defaultLanguage ?? 'en',
  }
}
