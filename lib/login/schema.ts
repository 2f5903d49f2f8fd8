import * as Type from '@sinclair/typebox/type'
import { Errors } from '@sinclair/typebox/errors'
import { isUsableName } from '../users/find.js'
import type { Registration } from '../registration.js'

/**
 * The key under which a login route keeps what API documents need. A global symbol, since an app can load
 * two copies of the package, and one may document the route that the other declared.
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
  /** The example of a body that the app gives in its schema. */
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

/** How one of the plugin's own routes reads its body: a JSON Schema for API documents, and a strict check. */
export interface EntryBody<Content> {
  readonly schema: Type.TObject
  /** @returns what is wrong, in the words of Fastify's own validation, or null */
  problem(body: unknown): string | null
  /** @throws ValidationError, a 400 */
  read(body: unknown): Content
}

/** @param contentOf - reads a body that has no problem */
export function entryBody<Content>(
  schema: Type.TObject,
  problem: (body: unknown) => string | null,
  contentOf: (body: unknown) => Content,
): EntryBody<Content> {
  return {
    schema,
    problem,
    read(body) {
      // Checked again after the validator: some content types have bypassed validation before
      // (CVE-2026-25223 of Fastify), and a hook of the app can set attachValidation.
      const found = problem(body)
      if (found !== null) throw new ValidationError(found)
      return contentOf(body)
    },
  }
}

/**
 * The body is an object with two non-empty strings. Types are not converted: a number, or an array of one
 * string, is refused. Other fields are allowed and ignored.
 */
export function loginBody(usernameField: string, passwordField: string): EntryBody<Credentials> {
  const schema = Type.Object({
    [usernameField]: Type.String({ minLength: 1 }),
    [passwordField]: Type.String({ minLength: 1 }),
  })
  const fieldsOf = (body: unknown): Record<string, string> => body as Record<string, string>
  return entryBody(
    schema,
    (body) => {
      const error = Errors(schema, body).First()
      if (error !== undefined) {
        return `body${error.path} ${describe(error.schema.minLength, error.value)}`
      }
      const username = fieldsOf(body)[usernameField]
      return isUsableName(username) ? null : `body/${usernameField} must be a usable name`
    },
    (body) => ({
      username: fieldsOf(body)[usernameField] as string,
      password: fieldsOf(body)[passwordField] as string,
    }),
  )
}

function describe(minLength: unknown, value: unknown): string {
  if (minLength === undefined) return 'must be object'
  return typeof value === 'string' ? 'must NOT have fewer than 1 characters' : 'must be string'
}
