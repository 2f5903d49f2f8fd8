import * as Type from '@sinclair/typebox/type'
import { anyFunction, fieldName, flag, optional, options, text, userService } from './check.js'
import { signingMethod, verifyRules } from './jwt-schemas.js'

export const httpToken = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"

/** The members of an authenticator; others are allowed. */
export const authenticatorSchema = Type.Object(
  {
    scheme: optional(text('a token (RFC 9110 §5.6.2)', { pattern: httpToken, quoted: true })),
    optional: optional(flag),
    openapi: optional(
      Type.Object({}, { minProperties: 1, description: 'a Security Scheme Object of OpenAPI' }),
    ),
    init: optional(anyFunction('a function (app)')),
    authenticate: anyFunction('a function (request) that returns the user or null'),
    onUnauthorized: optional(anyFunction('a function (error, request, reply)')),
  },
  { description: 'an authenticator: an object with authenticate(request)' },
)

export const jwtAuthenticatorSchema = options(
  { userService, optional: flag, claimName: fieldName, signingMethod, ...verifyRules },
  'an object of options',
)

export const basicAuthenticatorSchema = options(
  { userService, passwordField: fieldName, optional: flag },
  'an object of options',
)
