import * as Type from '@sinclair/typebox/type'
import { misfitOf } from '../options/check.js'
import { isUsableName } from '../users/find.js'

/** How a route reads its body: a JSON Schema for API documents, and a strict check. */
export interface RouteBody<Content> {
  readonly schema: Type.TObject
  /** @returns what is wrong, in the words of Fastify's own validation, or null */
  problem(body: unknown): string | null
  /** Reads a body that has no problem. */
  read(body: unknown): Content
}

/** The first problem of a body whose strings must not be empty. Types are not converted. */
export function problemIn(schema: Type.TObject, body: unknown): string | null {
  const misfit = misfitOf(schema, body)
  if (misfit === null) return null
  const { type, minLength, maxLength } = misfit.schema
  const isText = type === 'string' && typeof misfit.value === 'string'
  const length = misfit.value === '' ? `fewer than ${minLength}` : `more than ${maxLength}`
  const place = ['body', ...misfit.path].join('/')
  return `${place} must ${isText ? `NOT have ${length} characters` : `be ${type}`}`
}

export interface Credentials {
  readonly username: string
  readonly password: string
}

/**
 * An object with two non-empty strings, of which the first can be a username. Other fields are ignored.
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
    const { [usernameField]: username, [passwordField]: password } = body as Record<string, string>
    return { username: username as string, password: password as string }
  }
  return {
    schema,
    read,
    problem(body) {
      const problem = problemIn(schema, body)
      if (problem !== null || isUsableName(read(body).username)) return problem
      return `body/${usernameField} must be a usable name`
    },
  }
}
