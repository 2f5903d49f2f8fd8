import { loginRepliesOf, type Reply } from './replies.js'
import type { Registration } from '../registration.js'

/** What a login route tells the documents of itself. */
export interface LoginFacts {
  readonly registration: Registration
  readonly usernameField: string
  readonly passwordField: string
}

/** A JSON Schema, and an example of what it describes. */
interface Content {
  readonly schema: object
  readonly example: object
}

/** A login route as documents show it. */
export interface LoginDescription {
  readonly body: Content
  /** Media types of the body. */
  readonly consumes: readonly string[]
  readonly token: Content
  readonly replies: readonly Reply[]
}

export function describeLogin(
  { usernameField, passwordField, registration }: LoginFacts,
  consumes: readonly string[],
): LoginDescription {
  const text = { type: 'string', minLength: 1 }
  return {
    body: {
      schema: {
        type: 'object',
        required: [usernameField, passwordField],
        properties: { [usernameField]: text, [passwordField]: { ...text, format: 'password' } },
      },
      example: { [usernameField]: 'alice', [passwordField]: 'correct horse battery staple' },
    },
    consumes,
    token: {
      schema: { type: 'object', required: ['token'], properties: { token: { type: 'string' } } },
      example: { token: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl' },
    },
    replies: loginRepliesOf(registration),
  }
}
