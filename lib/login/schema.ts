import * as Type from '@sinclair/typebox/type'
import { Errors } from '@sinclair/typebox/errors'
import { isUsableName } from '../users/find.js'
import type { Registration } from '../registration.js'
import type { Authenticator } from '../../types/authenticator.js'

/** The key under which the options of one of the plugin's own routes keep what is known of it. */
export const kOwnRoute: unique symbol = Symbol('fastify-authn.own-route')

/** One of the plugin's own routes. */
export interface OwnRoute {
  readonly kind: 'login' | 'refresh' | 'logout'
  readonly registration: Registration
  readonly notes: RouteNotes
}

/** Responses of a route by status: a description, or the schema of a body, with a description. */
export type Responses = Readonly<Record<number, string | Type.TSchema>>

/** What API documents say of one of the plugin's own routes, besides its body and what all of these routes answer. */
export interface RouteNotes {
  readonly responses: Responses
  /** The authenticators of the credentials that the route reads itself; a request needs none. */
  readonly accepts?: readonly Authenticator[]
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
 *
 * @param example - of a body, for API documents
 */
export function loginBody(
  usernameField: string,
  passwordField: string,
  example?: object,
): EntryBody<Credentials> {
  const text = Type.String({ minLength: 1 })
  const fields = { [usernameField]: text, [passwordField]: text }
  const schema = Type.Object(fields, example && { example })
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
