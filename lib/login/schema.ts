import * as Type from '@sinclair/typebox/type'
import { Errors } from '@sinclair/typebox/errors'
import { isUsableName } from '../users/find.js'
import type { Registration } from '../registration.js'

/**
 * The key under which a login route keeps what API documents need. A global symbol, since an app can load
 * the ESM and the CommonJS build, and one may document the route that the other declared.
 */
export const kLogin: unique symbol = Symbol.for('fastify-authn.login')

/** What API documents need to know of a route of the plugin: of the login route, or of one that stands beside it. */
export type EntryFacts = LoginFacts | SessionFacts

/** What API documents need to know of a login route. */
export interface LoginFacts {
  readonly kind: 'login'
  readonly registration: Registration
  readonly usernameField: string
  readonly passwordField: string
  /** Of the app's own, for the documents. */
  readonly example: object | undefined
}

/** What API documents need to know of a route that refreshes or ends sessions. */
export interface SessionFacts {
  readonly kind: 'refresh' | 'logout'
  readonly registration: Registration
}

/** A validation fault as Fastify reports its own. */
export class ValidationError extends Error {
  readonly code = 'FST_ERR_VALIDATION'
  readonly statusCode = 400
}

/** Username and password of a login request. */
export interface Credentials {
  readonly username: string
  readonly password: string
}

/** The body of a login request: a JSON Schema for API documents, and a strict check. */
export interface LoginBody {
  readonly schema: Type.TObject
  /** @returns what is wrong, in the words of Fastify's own validation, or null */
  problem(body: unknown): string | null
  /** Reads a body for which {@link problem} returned null. */
  read(body: unknown): Credentials
}

/**
 * The body is an object with two non-empty strings. Types are not converted: a number, or an array of one
 * string, is refused. Other fields are allowed and ignored.
 */
export function loginBody(usernameField: string, passwordField: string): LoginBody {
  const schema = Type.Object({
    [usernameField]: Type.String({ minLength: 1 }),
    [passwordField]: Type.String({ minLength: 1 }),
  })
  return {
    schema,
    problem(body) {
      const error = Errors(schema, body).First()
      if (error !== undefined)
        return `body${error.path} ${describe(error.schema.minLength, error.value)}`
      const { [usernameField]: username } = body as Record<string, string>
      return isUsableName(username) ? null : `body/${usernameField} must be a usable name`
    },
    read(body) {
      const { [usernameField]: username, [passwordField]: password } = body as Record<
        string,
        string
      >
      return { username: username as string, password: password as string }
    },
  }
}

function describe(minLength: unknown, value: unknown): string {
  if (minLength === undefined) return 'must be object'
  return typeof value === 'string' ? 'must NOT have fewer than 1 characters' : 'must be string'
}
