import { loginRepliesOf, type Reply } from './replies.js'
import type { LoginFacts } from '../login/schema.js'
import type { Registration } from '../registration.js'

/** A JSON Schema with an example. */
interface Content {
  readonly schema: object
  readonly example: object
}

/** How a document describes what a login answers with. */
interface TokenDescription extends Content {
  readonly description: string
  readonly headers: Reply['headers']
}

/** How a document describes a login route. */
export interface LoginDescription {
  readonly body: Content
  /** Media types of the request body. */
  readonly consumes: readonly string[]
  readonly token: TokenDescription
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
    token: describeTokens(registration),
    replies: loginRepliesOf(registration),
  }
}

const examples: Readonly<Record<string, string | number>> = {
  token: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl',
  refreshToken: 'kW7cDqS1Vb9m2xJtR4uYfA.0pQeZ8nLrT3gHsX5vCwB6dKjM1yNiUoEaGhFlS7kDqQ',
  expiresIn: 300,
}

/** Tokens in the body, or as cookies; with sessions, that of the refresh too. */
export function describeTokens({
  cookies,
  sessions,
}: Pick<Registration, 'cookies' | 'sessions'>): TokenDescription {
  const inBody = sessions === null ? ['token'] : ['token', 'refreshToken', 'expiresIn']
  const names = cookies === null ? inBody : ['expiresIn']
  const properties = names.map((name) => [name, { type: typeOf(name) }])
  return {
    // Written as code: Markdown would take <token> for an HTML tag and not show it.
    description:
      cookies === null
        ? 'A token, for the header `Authorization: Bearer <token>`.'
        : `The token comes as the cookie \`${cookies.name}\`. The body says how many seconds it lives.`,
    headers: cookies === null ? {} : setCookie,
    schema: { type: 'object', required: names, properties: Object.fromEntries(properties) },
    example: Object.fromEntries(names.map((name) => [name, examples[name]])),
  }
}

const setCookie: Reply['headers'] = {
  'Set-Cookie': { description: 'The tokens (RFC 6265 §4.1).', type: 'string' },
}

function typeOf(name: string): 'integer' | 'string' {
  return typeof examples[name] === 'number' ? 'integer' : 'string'
}
