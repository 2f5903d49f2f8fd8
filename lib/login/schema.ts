import * as Type from '@sinclair/typebox/type'
import { Errors } from '@sinclair/typebox/errors'
import { isUsableName } from '../users.js'

/** Username and password of a login request. */
export interface Credentials {
  readonly username: string
  readonly password: string
}

/** The body of a login request: JSON Schema for documentation, and a strict check of it. */
export interface LoginBody {
  readonly schema: Type.TObject
  /** @returns what is wrong, in the words of Fastify's own validation, or null */
  problem(body: unknown): string | null
  /** Reads a body in which there is no problem. */
  read(body: unknown): Credentials
}

/**
 * Two non-empty strings (specification, "Login request"). Nothing is coerced: a number, or an array of
 * one string, is no string. Other fields are left alone.
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
