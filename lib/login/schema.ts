import * as Type from '@sinclair/typebox/type'
import { firstProblem } from '../common/schema.js'
import { isTooLong, isUsableName } from '../users/user.js'

/** How a route reads its body: a JSON Schema for API documents, and a strict check. */
export interface RouteBody<Content> {
  readonly schema: Type.TObject
  /** @returns the message of the error, like those of Fastify's own validation, or null */
  problem(body: unknown): string | null
  /** Reads a body that has no problem. */
  read(body: unknown): Content
}

/** The first problem of a body. Types are not converted. */
export function problemIn(schema: Type.TObject, body: unknown): string | null {
  const problem = firstProblem(schema, body)
  if (problem === null) return null
  const { path, value } = problem
  const { type, minLength, maxLength } = problem.schema
  const isString = type === 'string' && typeof value === 'string'
  const length = value === '' ? `fewer than ${minLength}` : `more than ${maxLength}`
  return `${['body', ...path].join('/')} must ${isString ? `NOT have ${length} characters` : `be ${type}`}`
}

export interface Credentials {
  readonly username: string
  readonly password: string
}

/**
 * A body with two non-empty strings, the first of which can be a username. Other fields are ignored.
 *
 * @param example - of a body, for API documents
 */
export function loginBody(
  usernameField: string,
  passwordField: string,
  example?: object,
): RouteBody<Credentials> {
  const text = Type.String({ minLength: 1 })
  const fields = { [usernameField]: text, [passwordField]: text }
  const schema = Type.Object(fields, example && { example })
  const read = (body: unknown): Credentials => {
    const given = body as Record<string, string>
    return { username: String(given[usernameField]), password: String(given[passwordField]) }
  }
  return {
    schema,
    read,
    problem(body) {
      const problem = problemIn(schema, body)
      if (problem !== null) return problem
      const { username } = read(body)
      // No user has a name that is too long: the credentials are wrong, which is a 401.
      if (isUsableName(username) || isTooLong(username)) return null
      return `body/${usernameField} must be a usable name`
    },
  }
}
