import { loginRepliesOf, type Reply } from './replies.js'
import type { LoginFacts } from '../login/schema.js'

/** A JSON Schema with an example. */
interface Content {
  readonly schema: object
  readonly example: object
}

/** How a document describes a login route. */
export interface LoginDescription {
  readonly body: Content
  /** Media types of the request body. */
  readonly consumes: readonly string[]
  readonly token: Content
  readonly replies: readonly Reply[]
}

export function describeLogin(
  { usernameField, passwordField, example, registration }: LoginFacts,
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
      example: example ?? {
        [usernameField]: 'alice',
        [passwordField]: 'correct horse battery staple',
      },
    },
    consumes,
    token: {
      schema: { type: 'object', required: ['token'], properties: { token: { type: 'string' } } },
      example: { token: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl' },
    },
    replies: loginRepliesOf(registration),
  }
}
