import { busyWithPasswords } from '../authenticators/facts.js'
import { busyReply, crossSite, otherSite, refusal, type Reply } from './replies.js'
import type { EntryFacts, LoginFacts } from '../login/schema.js'
import type { Registration } from '../registration.js'

/** A JSON Schema with an example. */
interface Content {
  readonly schema: object
  readonly example: object
}

/** How a document describes what a route of the plugin answers with. */
export interface SuccessDescription {
  readonly status: '200' | '204'
  readonly description: string
  readonly headers: Reply['headers']
  /** Null for no body. */
  readonly content: Content | null
}

/** How a document describes a route of the plugin. */
export interface LoginDescription {
  readonly body: Content
  readonly isBodyNeeded: boolean
  /** Media types of the request body. */
  readonly consumes: readonly string[]
  readonly success: SuccessDescription
  /** When a body is refused with 400. */
  readonly badBody: string
  readonly replies: readonly Reply[]
}

/** What a route of the plugin takes and gives. */
export function describeEntry(facts: EntryFacts, consumes: readonly string[]): LoginDescription {
  const { registration } = facts
  if (facts.kind === 'login') {
    return {
      body: credentialsOf(facts),
      isBodyNeeded: true,
      consumes,
      success: describeTokens(registration),
      badBody: 'The body holds no username and password.',
      replies: repliesOf(facts, 'The username or the password is wrong.'),
    }
  }
  const isLogout = facts.kind === 'logout'
  const isBodyNeeded = !isLogout && registration.cookies === null
  return {
    body: isLogout ? leaving : isBodyNeeded ? refreshing : { ...refreshing, schema: optionalToken },
    isBodyNeeded,
    consumes,
    success: isLogout ? goneOf(registration) : describeTokens(registration),
    badBody: isLogout ? 'The body is malformed.' : 'The body holds no refresh token.',
    replies: repliesOf(facts, over),
  }
}

const over = 'The token is missing or not accepted, or its session is over.'
const text = { type: 'string', minLength: 1 }

function credentialsOf({ usernameField, passwordField, example }: LoginFacts): Content {
  return {
    schema: {
      type: 'object',
      required: [usernameField, passwordField],
      properties: { [usernameField]: text, [passwordField]: { ...text, format: 'password' } },
    },
    example: example ?? {
      [usernameField]: 'alice',
      [passwordField]: 'correct horse battery staple',
    },
  }
}

const examples: Readonly<Record<string, string | number>> = {
  token: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl',
  refreshToken: 'kW7cDqS1Vb9m2xJtR4uYfA0pQeZ8nLrT3gHsX5vCwB6dKjM1yNiUoEaGhFlS7kDqQ7dXbLm2TzOs',
  expiresIn: 300,
}

/** Tokens in the body, or as cookies; with sessions, that of the refresh too. */
export function describeTokens({
  cookies,
  sessions,
}: Pick<Registration, 'cookies' | 'sessions'>): SuccessDescription {
  const inBody = sessions === null ? ['token'] : ['token', 'refreshToken', 'expiresIn']
  const names = cookies === null ? inBody : ['expiresIn']
  const properties = names.map((name) => [name, { type: typeOf(name) }])
  return {
    status: '200',
    // Written as code: Markdown would take <token> for an HTML tag and not show it.
    description:
      cookies === null
        ? 'A token, for the header `Authorization: Bearer <token>`.'
        : `The token comes as the cookie \`${cookies.name}\`. The body says how many seconds it lives.`,
    headers: cookies === null ? {} : setCookie,
    content: {
      schema: { type: 'object', required: names, properties: Object.fromEntries(properties) },
      example: Object.fromEntries(names.map((name) => [name, examples[name]])),
    },
  }
}

const setCookie: Reply['headers'] = {
  'Set-Cookie': { description: 'The tokens (RFC 6265 §4.1).', type: 'string' },
}

function typeOf(name: string): 'integer' | 'string' {
  return typeof examples[name] === 'number' ? 'integer' : 'string'
}

const optionalToken = { type: 'object', properties: { refreshToken: text } }
const refreshing: Content = {
  schema: { ...optionalToken, required: ['refreshToken'] },
  example: { refreshToken: examples.refreshToken },
}
const leaving: Content = {
  schema: {
    type: 'object',
    properties: {
      refreshToken: {
        ...text,
        description: 'Needed only where the request has no access token that is valid.',
      },
      everywhere: { type: 'boolean', description: 'Whether all sessions of the user end.' },
    },
  },
  example: { refreshToken: examples.refreshToken },
}

function goneOf({ cookies }: Registration): SuccessDescription {
  const headers = cookies === null ? {} : setCookie
  return { status: '204', description: 'The session is ended.', headers, content: null }
}

/** The refusals of a route of the plugin. */
function repliesOf({ kind, registration }: EntryFacts, description: string): Reply[] {
  const key = kind === 'login' ? 'auth.invalid-credentials' : 'auth.refresh-invalid'
  return [
    refusal(description, key, true, registration),
    ...(registration.cookies === null ? [] : [crossSite(otherSite, registration)]),
    ...busyWithPasswords(registration.options).map((status) => busyReply(status, registration)),
  ]
}
