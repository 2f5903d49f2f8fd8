import { asSwagger2 } from './schemes.js'
import type { LoginDescription, SuccessDescription } from './login.js'
import type { Header, Reply } from './replies.js'
import type { SecurityScheme } from '../../types/openapi.js'

/** A part of a document. */
export type Node = Record<string, unknown>

/** The differences between OpenAPI 3.1 (and later), OpenAPI 3.0 and Swagger 2.0. */
export interface Dialect {
  /** The object with the security schemes of a document; new ones are added to it. */
  schemes(document: Node): Node
  /** The object with the schemas of a document, and the start of references to them; new ones are added to it. */
  schemas(document: Node): Node
  readonly schemaPath: string
  /** Writes a security scheme; null for one that the format cannot express. */
  scheme(scheme: SecurityScheme): object | null
  /** @param $ref - the schema of the body */
  reply(reply: Reply, $ref: string): Node
  /** The response of a route of the plugin, with tokens or without. */
  success(success: SuccessDescription): Node
  /** Adds the request body of a login to an operation. */
  addLoginBody(operation: Node, login: LoginDescription): void
  /** Whether a security requirement may list scopes for a scheme of the document. */
  listsScopes(scheme: Node): boolean
}

const openapi3: Dialect = {
  schemes: (document) => copied(copied(document, 'components'), 'securitySchemes'),
  schemas: (document) => copied(copied(document, 'components'), 'schemas'),
  schemaPath: '#/components/schemas/',
  scheme: (scheme) => scheme,
  reply: ({ description, headers, text }, $ref) => ({
    description,
    ...headersOf(headers, ({ description, type }) => ({ description, schema: { type } })),
    ...(text !== null && { content: json({ schema: { $ref }, example: { error: text } }) }),
  }),
  success: ({ description, headers, content }) => ({
    description,
    ...headersOf(headers, ({ description, type }) => ({ description, schema: { type } })),
    ...(content !== null && { content: json(content) }),
  }),
  addLoginBody(operation, { body, consumes, isBodyNeeded }) {
    // Each media type gets a copy, because YAML writes an object that occurs twice as an alias.
    const content = Object.fromEntries(consumes.map((type) => [type, structuredClone(body)]))
    operation.requestBody = { required: isBodyNeeded, content }
  },
  listsScopes: () => true,
}

/** OpenAPI 3.0 section 4.7.30: for other schemes than these the list must be empty. */
const openapi30: Dialect = {
  ...openapi3,
  listsScopes: ({ type }) => type === 'oauth2' || type === 'openIdConnect',
}

const swagger2: Dialect = {
  schemes: (document) => copied(document, 'securityDefinitions'),
  schemas: (document) => copied(document, 'definitions'),
  schemaPath: '#/definitions/',
  scheme: asSwagger2,
  reply: ({ description, headers, text }, $ref) => ({
    description,
    ...headersOf(headers, (header) => ({ ...header })),
    ...(text !== null && { schema: { $ref }, examples: json({ error: text }) }),
  }),
  success: ({ description, headers, content }) => ({
    description,
    ...headersOf(headers, (header) => ({ ...header })),
    ...(content !== null && { schema: content.schema, examples: json(content.example) }),
  }),
  addLoginBody(operation, { body, isBodyNeeded }) {
    const schema = { ...body.schema, example: body.example }
    const others = (operation.parameters ?? []) as object[]
    operation.parameters = [...others, { in: 'body', name: 'body', required: isBodyNeeded, schema }]
  },
  listsScopes: ({ type }) => type === 'oauth2',
}

/** The dialect that a document is written in. */
export function dialectOf({ swagger, openapi }: Node): Dialect {
  if (swagger !== undefined) return swagger2
  return String(openapi).startsWith('3.0') ? openapi30 : openapi3
}

function json(content: object): Node {
  return { 'application/json': content }
}

function headersOf(headers: Reply['headers'], show: (header: Header) => object): Node {
  const shown = Object.entries(headers).map(([name, header]) => [name, show(header)] as const)
  return shown.length === 0 ? {} : { headers: Object.fromEntries(shown) }
}

/** Replaces an inner object by a copy and returns the copy, so that the app's own object is not changed. */
function copied(owner: Node, key: string): Node {
  const copy = { ...(owner[key] as Node | undefined) }
  owner[key] = copy
  return copy
}

/** A name that nothing has yet: the one that is wanted, or that with a number. */
export function freeName(taken: Node, name: string): string {
  let free = name
  for (let number = 2; Object.hasOwn(taken, free); number++) free = `${name}${number}`
  return free
}
