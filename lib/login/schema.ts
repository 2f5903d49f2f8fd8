import * as Type from '@sinclair/typebox/type'
import { Errors } from '@sinclair/typebox/errors'
import { isUsableName } from '../users/find.js'
import type { Registration } from '../registration.js'

/**
 * The key under which a login route keeps what API documents need. A global symbol, since an app can load
 * two copies of the package, and one may document the route that the other declared.
 */
export const kLogin: unique symbol = Symbol.for('fastify-authn.login')

/** What API documents need to know of a route of the plugin. */
export type EntryFacts = LoginFacts | SessionFacts

export interface LoginFacts {
  readonly kind: 'login'
  readonly registration: Registration
  readonly usernameField: string
  readonly passwordField: string
  /** The example of a body that the app gives in its schema. */
  readonly example: object | undefined
}

export interface SessionFacts {
  readonly kind: 'refresh' | 'logout'
  readonly registration: Registration
}

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
  const error = Errors(schema, body).First()
  if (error === undefined) return null
  const { type, minLength, maxLength } = error.schema
  const isText = type === 'string' && typeof error.value === 'string'
  const length = error.value === '' ? `fewer than ${minLength}` : `more than ${maxLength}`
  return `body${error.path} must ${isText ? `NOT have ${length} characters` : `be ${type}`}`
}

export interface Credentials {
  readonly username: string
  readonly password: string
}

/** An object with two non-empty strings, of which the first can be a username. Other fields are ignored. */
export function loginBody(usernameField: string, passwordField: string): RouteBody<Credentials> {
  const schema = Type.Object({
    [usernameField]: Type.String({ minLength: 1 }),
    [passwordField]: Type.String({ minLength: 1 }),
  })
  const read = (body: unknown): Credentials => {
    const fields = body as Record<string, string>
    return {
      username: fields[usernameField] as string,
      password: fields[passwordField] as string,
    }
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
