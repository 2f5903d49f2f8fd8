import { Errors, ValueErrorType, type ValueError } from '@sinclair/typebox/errors'
import * as Type from '@sinclair/typebox/type'
import { firstError, stepsTo } from '../options/check.js'
import { isTooLong, isUsableName } from '../users/user.js'

/** @throws Error for the first problem of a body */
export function checkBody(schema: Type.TObject, body: unknown): void {
  const error = firstError(Errors(schema, body))
  if (error === undefined) return
  const steps = stepsTo(error)
  // Its name is what a client sent, and stays out of the log.
  if (error.type === ValueErrorType.ObjectAdditionalProperties)
    throw invalidBody(steps.slice(0, -1), 'NOT have other members')
  throw invalidBody(steps, problemOf(error))
}

function problemOf({ type: problem, message, schema }: ValueError): string {
  const { type, minLength, maxLength, description } = schema
  if (problem === ValueErrorType.StringMinLength)
    return `NOT have fewer than ${minLength} characters`
  if (problem === ValueErrorType.StringMaxLength)
    return `NOT have more than ${maxLength} characters`
  if (message === `Expected ${type}`) return `be ${type}`
  // Other keywords have many forms, and the value is not quoted: it may be a secret.
  return description === undefined ? `match its schema (${message})` : `be ${description}`
}

function invalidBody(path: readonly string[], problem: string): Error {
  const error = new Error(`${['body', ...path].join('/')} must ${problem}`)
  return Object.assign(error, { code: 'FST_ERR_VALIDATION', statusCode: 400 })
}

export const askedSchema = Type.Object(
  { secondFactor: Type.Object({ token: Type.String(), expiresIn: Type.Integer() }) },
  { description: 'The user has a second factor: a token for the route that takes the code.' },
)

/** Two non-empty strings, the first of which can be a username. Other fields are ignored. */
export function loginBody(usernameField: string, passwordField: string, example?: object) {
  const text = Type.String({ minLength: 1 })
  const fields = { [usernameField]: text, [passwordField]: text }
  const schema = Type.Object(fields, example && { example })
  return {
    schema,
    read(body: unknown) {
      checkBody(schema, body)
      const given = body as Record<string, string>
      const [username, password] = [String(given[usernameField]), String(given[passwordField])]
      // No user has a name that is too long: the credentials are wrong, which is a 401.
      if (isUsableName(username) || isTooLong(username)) return { username, password }
      throw invalidBody([usernameField], 'be a usable name')
    },
  }
}
