import { openapi3, swagger2, type Dialect, type Node } from './dialects.js'
import { isSameScheme, type NamedScheme } from './schemes.js'
import type { LoginDescription } from './login.js'
import type { Reply } from './replies.js'
import type { SecurityScheme } from '../../types/openapi.js'

/** What there is to say of a route besides what the app says of it. */
export interface Facts {
  readonly replies: readonly Reply[]
  readonly login: LoginDescription | null
  /** Whether the app has described success itself. */
  readonly hasOwnSuccess: boolean
}

/**
 * Facts travel in the schema of their route through the builder of the document, which copies extensions
 * into operations. They are taken out before anybody sees the document.
 */
export const marker = 'x-fastify-authn'

/** A security requirement (OpenAPI 3.1 §4.8.30). */
type Requirement = Record<string, string[]>

/** The body of all refusals. */
const errorSchema = {
  type: 'object',
  description: 'Why the request was refused, in the language of the client.',
  required: ['error'],
  properties: { error: { type: 'string' } },
}

/** One document while it is built: what was added to it, and under which names. */
export class DocumentWriter {
  readonly #document: Node
  readonly #dialect: Dialect
  /** The security schemes that are ours, by name, as they are in OpenAPI 3. */
  readonly #added = new Map<string, SecurityScheme>()
  #schemes: Node | null = null
  #errorRef: string | null = null

  constructor(document: Node) {
    this.#document = document
    this.#dialect = 'swagger' in document ? swagger2 : openapi3
  }

  /** Whether the document asks for credentials wherever an operation says nothing of them. */
  get hasSecurity(): boolean {
    return this.#document.security !== undefined
  }

  /**
   * The alternatives of an operation. A scheme of the app counts as the one that is meant when it has its
   * name, or asks for the same credentials under another one.
   *
   * @param isOptional - adds the empty alternative
   * @returns undefined when there is no scheme to name
   */
  requirements(schemes: readonly NamedScheme[], isOptional: boolean): Requirement[] | undefined {
    const names = schemes.flatMap((named) => this.#nameOf(named) ?? [])
    if (names.length === 0) return undefined
    const alternatives = [...new Set(names)].map((name): Requirement => ({ [name]: [] }))
    return isOptional ? [...alternatives, {}] : alternatives
  }

  /** Takes the facts out of all operations, and writes down what they say. */
  finish(): void {
    const operations = operationsOf(this.#document)
    for (const operation of operations) {
      const facts = operation[marker] as Facts | undefined
      // Methods of one route can share an operation, which then is finished already.
      delete operation[marker]
      if (facts !== undefined) this.#write(operation, facts)
    }
    this.#dropUnused(operations)
  }

  #nameOf({ name, scheme }: NamedScheme): string | null {
    const shown = this.#dialect.scheme(scheme)
    if (shown === null) return null
    this.#schemes ??= this.#dialect.schemes(this.#document)
    const schemes = this.#schemes
    if (Object.hasOwn(schemes, name) && !this.#added.has(name)) return name
    // In Swagger 2.0, different schemes look alike.
    const same = Object.keys(schemes).find((other) => {
      const own = this.#added.get(other)
      return own === undefined ? isSameScheme(schemes[other], shown) : isSameScheme(own, scheme)
    })
    if (same !== undefined) return same
    const free = freeName(schemes, name)
    schemes[free] = shown
    this.#added.set(free, scheme)
    return free
  }

  #write(operation: Node, { replies, login, hasOwnSuccess }: Facts): void {
    const responses = operation.responses as Node
    if (login !== null) {
      this.#dialect.addLoginBody(operation, login)
      if (!hasOwnSuccess) responses['200'] = this.#dialect.token(login)
      responses['400'] ??= { description: 'The body holds no username and password.' }
    }
    for (const reply of replies) {
      // Of a range such as 4XX the app says less than we know: both stand there.
      responses[reply.status] ??= this.#dialect.reply(reply, this.#errorSchema(reply))
    }
  }

  /** A reference to the schema of the body of a refusal, which is added when the first one needs it. */
  #errorSchema({ text }: Reply): string {
    if (text === null) return ''
    if (this.#errorRef === null) {
      const schemas = this.#dialect.schemas(this.#document)
      const name = freeName(schemas, 'AuthnError')
      schemas[name] = structuredClone(errorSchema)
      this.#errorRef = `${this.#dialect.schemaPath}${name}`
    }
    return this.#errorRef
  }

  /** Schemes of routes that are not shown, or that name others. */
  #dropUnused(operations: readonly Node[]): void {
    const stated = [this.#document, ...operations].map(({ security }) => security ?? [])
    const used = new Set((stated as object[][]).flat().flatMap((names) => Object.keys(names)))
    for (const name of this.#added.keys()) {
      if (!used.has(name)) delete this.#schemes?.[name]
    }
  }
}

function freeName(taken: Node, name: string): string {
  let free = name
  for (let number = 2; Object.hasOwn(taken, free); number++) free = `${name}${number}`
  return free
}

/** All operations, also those of methods that have no field of their own (OpenAPI 3.2). */
function operationsOf({ paths }: Node): Node[] {
  const items = Object.values(paths as Record<string, Node>)
  return items.flatMap(({ additionalOperations, ...fields }) =>
    [...Object.values(fields), ...Object.values(additionalOperations ?? {})].filter(
      (value): value is Node => typeof value === 'object' && value !== null && 'responses' in value,
    ),
  )
}
