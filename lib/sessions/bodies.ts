import * as Type from '@sinclair/typebox/type'
import { Errors } from '@sinclair/typebox/errors'
import { ValidationError } from '../login/schema.js'

/** The body of a request to refresh or to log out. */
export interface SessionBody {
  readonly refreshToken?: string
  readonly everywhere?: boolean
}

/** How a route reads its body: a JSON Schema for API documents, and a strict check. */
export interface BodyReader {
  readonly schema: Type.TObject
  /** @returns what is wrong, in the words of Fastify's own validation, or null */
  problem(body: unknown): string | null
  /** @throws ValidationError, a 400 */
  read(body: unknown): SessionBody
}

const text = Type.String({ minLength: 1, maxLength: 512 })

/** @param isNeeded - whether the refresh token comes in the body or not at all */
export function refreshBody(isNeeded: boolean): BodyReader {
  const schema = Type.Object({ refreshToken: isNeeded ? text : Type.Optional(text) })
  return reader(schema, !isNeeded)
}

/** What logs out can come with an access token and no body at all. */
export function logoutBody(): BodyReader {
  const schema = Type.Object({
    refreshToken: Type.Optional(text),
    everywhere: Type.Optional(Type.Boolean()),
  })
  return reader(schema, true)
}

function reader(schema: Type.TObject, mayBeEmpty: boolean): BodyReader {
  function problem(body: unknown): string | null {
    if (mayBeEmpty && (body === undefined || body === null)) return null
    const error = Errors(schema, body).First()
    return error === undefined ? null : `body${error.path} ${expectation(error.schema)}`
  }
  return {
    schema,
    problem,
    read(body) {
      // Checked again after the validator, as the login route does it.
      const found = problem(body)
      if (found !== null) throw new ValidationError(found)
      const { refreshToken, everywhere } = (body ?? {}) as SessionBody
      return {
        ...(refreshToken !== undefined && { refreshToken }),
        ...(everywhere !== undefined && { everywhere }),
      }
    },
  }
}

function expectation({ type }: Type.TSchema): string {
  return type === 'string' ? 'must be a string of 1 to 512 characters' : `must be ${String(type)}`
}
