import { scopeLists } from './access.js'
import { freeName, dialectOf, type Dialect, type Node } from './dialects.js'
import { isSameScheme, type NamedScheme } from './schemes.js'
import type { LoginDescription } from './login.js'
import type { Reply } from './replies.js'
import type { NeededNames } from '../../types/marks.js'
import type { SecurityScheme } from '../../types/openapi.js'

/** What we add to the description of a route. */
export interface Facts {
  readonly replies: readonly Reply[]
  readonly login: LoginDescription | null
  /** Whether the app describes the success response itself. */
  readonly hasOwnSuccess: boolean
}

/**
 * The key under which facts are put into the schema of a route. @fastify/swagger copies such extensions into the
 * operation, where they are read and removed before the document is returned.
 */
export const marker = 'x-fastify-authn'

/** A security requirement (OpenAPI 3.1 §4.8.30). */
export type Requirement = Readonly<Record<string, readonly string[]>>

/** The schema of the body of all refusals. */
const errorSchema = {
  type: 'object',
  description: 'Why the request was refused, in the language of the client.',
  required: ['error'],
  properties: { error: { type: 'string' } },
}

/** Completes one document, and keeps track of what was added to it under which name. */
export class DocumentWriter {
  readonly #document: Node
  readonly #dialect: Dialect
  /** The security schemes that we added, by name, in the form of OpenAPI 3. */
  readonly #added = new Map<string, SecurityScheme>()
  /** What each scheme is for, by name: see {@link NamedScheme.tokens}. */
  readonly #tokens = new Map<string, readonly unknown[]>()
  #schemes: Node | null = null
  #errorRef: string | null = null

  constructor(document: Node) {
    this.#document = document
    this.#dialect = dialectOf(document)
  }

  /** Whether the document has security requirements for all operations that have none of their own. */
  get hasSecurity(): boolean {
    return this.#document.security !== undefined
  }

  /**
   * The security requirements of an operation, any of which is enough. A scheme of the app is used in place of ours when
   * it has the same name, or asks for the same credentials under another name.
   *
   * @param isOptional - adds the empty requirement, which means: no credentials
   * @param scope - the scopes that are needed; they are listed for the schemes that may list some
   * @returns undefined when there is no scheme
   */
  requirements(
    schemes: readonly NamedScheme[],
    isOptional: boolean,
    scope: NeededNames | null = null,
  ): Requirement[] | undefined {
    const names = [...new Set(schemes.flatMap((named) => this.#nameOf(named) ?? []))]
    if (names.length === 0) return undefined
    const alternatives = names.flatMap((name): Requirement[] =>
      scopeLists(this.#listsScopes(name) ? scope : null).map((list) => ({ [name]: list })),
    )
    return isOptional ? [...alternatives, {}] : alternatives
  }

  /** Whether scopes can be listed for every scheme in security requirements. */
  listScopes(requirements: readonly Requirement[]): boolean {
    return requirements.flatMap(Object.keys).every((name) => this.#listsScopes(name))
  }

  /** Removes the facts from all operations, and adds to each what its facts say. */
  finish(): void {
    const operations = operationsOf(this.#document)
    for (const operation of operations) {
      const facts = operation[marker] as Facts | undefined
      // Several methods of a route can share one operation object, which may be finished already.
      delete operation[marker]
      if (facts !== undefined) this.#write(operation, facts)
    }
    this.#dropUnused(operations)
  }

  #listsScopes(name: string): boolean {
    return this.#dialect.listsScopes((this.#schemes?.[name] ?? {}) as Node)
  }

  #nameOf(named: NamedScheme): string | null {
    const name = this.#find(named)
    if (name === null) return null
    // Also the name that a scheme of the app stands in for: it means no other tokens.
    for (const each of [name, named.name])
      if (!this.#tokens.has(each)) this.#tokens.set(each, named.tokens)
    return name
  }

  #find({ name: first, otherName, scheme, tokens }: NamedScheme): string | null {
    const shown = this.#dialect.scheme(scheme)
    if (shown === null) return null
    this.#schemes ??= this.#dialect.schemes(this.#document)
    const schemes = this.#schemes
    const isTaken = (name: string): boolean => isOther(this.#tokens.get(name) ?? tokens, tokens)
    const name = isTaken(first) ? otherName : first
    if (Object.hasOwn(schemes, name) && !this.#added.has(name) && !isTaken(name)) return name
    // Compared in the form of OpenAPI 3, because different schemes can look the same in Swagger 2.0.
    const same = Object.keys(schemes).find((other) => {
      if (isTaken(other)) return false
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
      const { success, badBody } = login
      if (!hasOwnSuccess) {
        // What @fastify/swagger writes where a route says nothing of its replies.
        delete responses['200']
        responses[success.status] = this.#dialect.success(success)
      }
      responses['400'] ??= { description: badBody }
    }
    for (const reply of replies) {
      // A range of the app, such as 4XX, stays beside our exact status.
      responses[reply.status] ??= this.#dialect.reply(reply, this.#errorSchema(reply))
    }
  }

  /** A reference to the schema of a refusal's body. The schema is added when it is needed for the first time. */
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

  /** Removes schemes that no operation uses: those of hidden routes, and of routes that name other schemes. */
  #dropUnused(operations: readonly Node[]): void {
    const stated = [this.#document, ...operations].map(({ security }) => security ?? [])
    const used = new Set((stated as object[][]).flat().flatMap((names) => Object.keys(names)))
    for (const name of this.#added.keys()) {
      if (!used.has(name)) delete this.#schemes?.[name]
    }
  }
}

function isOther(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length !== other.length || one.some((each, index) => each !== other[index])
}

/** All operations, also those under `additionalOperations` (OpenAPI 3.2). */
function operationsOf({ paths }: Node): Node[] {
  const items = Object.values(paths as Record<string, Node>)
  return items.flatMap(({ additionalOperations, ...fields }) =>
    [...Object.values(fields), ...Object.values(additionalOperations ?? {})].filter(
      (value): value is Node => typeof value === 'object' && value !== null && 'responses' in value,
    ),
  )
}
