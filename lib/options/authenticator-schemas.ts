import * as Type from '@sinclair/typebox/type'
import {
  anyFunction,
  fieldName,
  flag,
  nonEmpty,
  oneOf,
  optional,
  options,
  text,
  userService,
} from './check.js'
import { signingMethod, verifyRules } from './jwt-schemas.js'

export const httpToken = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"

const securityScheme = Type.Union(
  [
    Type.Object({ type: Type.Literal('http'), scheme: nonEmpty }),
    Type.Object({
      type: Type.Literal('apiKey'),
      in: oneOf(['header', 'query', 'cookie']),
      name: nonEmpty,
    }),
    Type.Object({ type: Type.Literal('oauth2'), flows: Type.Object({}) }),
    Type.Object({ type: Type.Literal('openIdConnect'), openIdConnectUrl: nonEmpty }),
    Type.Object({ type: Type.Literal('mutualTLS') }),
  ],
  {
    whole: true,
    description:
      "a Security Scheme Object of OpenAPI, such as { type: 'apiKey', in: 'header', name: 'x-api-key' }",
  },
)

const securitySchemes = Type.Union(
  [securityScheme, Type.Object({}, { additionalProperties: securityScheme, minProperties: 1 })],
  { whole: true, description: String(securityScheme.description) },
)

/** The members of an authenticator; others are allowed. */
export const authenticatorSchema = Type.Object(
  {
    scheme: optional(text('a token (RFC 9110 §5.6.2)', { pattern: httpToken, quoted: true })),
    optional: optional(flag),
    openapi: optional(securitySchemes),
    init: optional(anyFunction('a function (app)')),
    authenticate: anyFunction('a function (request) that returns the user or null'),
    onUnauthorized: optional(anyFunction('a function (error, request, reply)')),
  },
  { description: 'an authenticator: an object with authenticate(request)' },
)

export const jwtAuthenticatorSchema = options(
  {
    userService,
    optional: flag,
    claimName: fieldName,
    signingMethod,
    trusted: anyFunction('a function (claims, request) that returns whether the token is accepted'),
    ...verifyRules,
  },
  'an object of options',
)

export const basicAuthenticatorSchema = options(
  { userService, passwordField: fieldName, optional: flag },
  'an object of options',
)
