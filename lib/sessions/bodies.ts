import * as Type from '@sinclair/typebox/type'
import { Errors } from '@sinclair/typebox/errors'
import { entryBody, type EntryBody } from '../login/schema.js'

/** The body of a request to refresh or to log out. */
export interface SessionBody {
  readonly refreshToken?: string
  readonly everywhere?: boolean
}

const text = Type.String({ minLength: 1, maxLength: 512 })

/** @param isNeeded - whether the refresh token comes in the body or not at all */
export function refreshBody(isNeeded: boolean): EntryBody<SessionBody> {
  const schema = Type.Object({ refreshToken: isNeeded ? text : Type.Optional(text) })
  return sessionBody(schema, !isNeeded)
}

/** A logout needs no body: its access token says which session ends. */
export function logoutBody(): EntryBody<SessionBody> {
  const schema = Type.Object({
    refreshToken: Type.Optional(text),
    // The default is for API documents: their pages would propose `true`.
    everywhere: Type.Optional(Type.Boolean({ default: false })),
  })
  return sessionBody(schema, true)
}

function sessionBody(schema: Type.TObject, mayBeEmpty: boolean): EntryBody<SessionBody> {
  return entryBody(
    schema,
    (body) => {
      if (mayBeEmpty && (body === undefined || body === null)) return null
      const error = Errors(schema, body).First()
      return error === undefined ? null : `body${error.path} ${expectation(error.schema)}`
    },
    (body) => (body ?? {}) as SessionBody,
  )
}

function expectation({ type }: Type.TSchema): string {
  return type === 'string' ? 'must be a string of 1 to 512 characters' : `must be ${String(type)}`
}
