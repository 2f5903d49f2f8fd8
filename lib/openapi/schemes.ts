import { membersOf } from '../authenticators/any-of.js'
import { readsLocalTokens } from '../authenticators/jwt.js'
import type { Registration } from '../feature.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { NeededNames } from '../../types/marks.js'
import type { SecurityScheme } from '../../types/openapi.js'

/** A document of @fastify/swagger, in Swagger 2.0 or OpenAPI 3. */
export interface OpenApiDocument {
  readonly swagger?: string
  readonly openapi?: string
  readonly security?: unknown
  readonly components?: { securitySchemes?: Schemes }
  securityDefinitions?: Schemes
}

type Schemes = Record<string, { readonly type?: string }>

/** A security requirement: scopes by the name of a scheme (OpenAPI 3.1 §4.8.30). */
export type Requirement = Readonly<Record<string, readonly string[]>>

/** The texts that this module has put into a scheme, to join those of several authenticators. */
const described = new WeakMap<object, readonly string[]>()

const usualNames = new Map(Object.entries({ basic: 'basicAuth', bearer: 'bearerAuth' }))

/** A scheme of the app with the same name stays. Any one of the returned requirements is enough. */
export function requireSchemes(
  document: OpenApiDocument,
  accepted: readonly Authenticator[],
  registration: Registration,
  scope: NeededNames | null,
): { requirements: Requirement[]; listsScopes: boolean } {
  const isSwagger2 = document.swagger !== undefined
  const found = accepted
    .flatMap(membersOf)
    .flatMap((member) => namedSchemes(member, registration))
    .filter(([, scheme]) => !isSwagger2 || asSwagger2(scheme) !== null)
  if (found.length === 0) return { requirements: [], listsScopes: false }
  const schemes = { ...(document.components?.securitySchemes ?? document.securityDefinitions) }
  for (const [name, scheme] of found) {
    const present = schemes[name]
    const known = present === undefined ? [] : described.get(present)
    if (known === undefined) continue
    const all = [...new Set([...known, ...descriptionsOf(name, registration)])]
    const description = all.length > 1 ? ['One of these:\n', ...all].join('\n- ') : all[0]
    const own = { ...(present ?? scheme), ...(description !== undefined && { description }) }
    const added = (isSwagger2 && asSwagger2(scheme)) || own
    described.set(added, all)
    schemes[name] = added
  }
  if (isSwagger2) document.securityDefinitions = schemes
  else if (document.components !== undefined) document.components.securitySchemes = schemes
  const names = [...new Set(found.map(([name]) => name))]
  const lists = (name: string) => listsScopes(document, schemes[name]?.type)
  return {
    requirements: names.flatMap((name) =>
      scopeLists(lists(name) ? scope : null).map((list) => ({ [name]: list })),
    ),
    listsScopes: names.every(lists),
  }
}

/** One scheme stands for all authenticators of a registration that share its name, such as those of issuers. */
function descriptionsOf(name: string, registration: Registration): string[] {
  const { authenticators, defaultAuthenticators } = registration
  return [...authenticators.values(), ...defaultAuthenticators]
    .flatMap(membersOf)
    .flatMap((member) => namedSchemes(member, registration))
    .flatMap(([other, { description }]) => (other === name ? (description ?? []) : []))
}

/** Before OpenAPI 3.1, requirements can list scopes only for these types of schemes (3.0 §4.7.30). */
function listsScopes({ openapi = '2.0' }: OpenApiDocument, type: string | undefined): boolean {
  return type === 'oauth2' || type === 'openIdConnect' || !/^[23]\.0/.test(openapi)
}

function namedSchemes(
  member: Authenticator,
  { authenticators, tokenSources }: Registration,
): (readonly [string, SecurityScheme])[] {
  const { openapi, scheme } = member
  const found: [string, SecurityScheme][] = []
  const own = openapi ?? (scheme && ({ type: 'http', scheme: scheme.toLowerCase() } as const))
  if (own && !isScheme(own)) return Object.entries(own)
  if (own) {
    const usual = own.type === 'http' && usualNames.get(own.scheme.toLowerCase())
    const [name = 'customAuth'] = [...authenticators].find(([, other]) => other === member) ?? []
    // Names of components may have no other characters (OpenAPI 3.1 §4.8.7).
    found.push([usual || name.replaceAll(/[^\w.-]/g, '_'), own])
  }
  const elsewhere = readsLocalTokens(member) ? tokenSources.map((source) => source.openapi) : []
  return [...found, ...elsewhere]
}

function isScheme(openapi: NonNullable<Authenticator['openapi']>): openapi is SecurityScheme {
  return typeof openapi.type === 'string'
}

/** The lists of scopes, any of which is enough: for `all` one list with all names, for `any` one list for each name. */
function scopeLists(scope: NeededNames | null): string[][] {
  if (scope === null) return [[]]
  return 'all' in scope ? [[...scope.all]] : scope.any.map((name) => [name])
}

/** @returns null for what Swagger 2.0 cannot express */
function asSwagger2(scheme: SecurityScheme): object | null {
  if (scheme.type === 'apiKey' && scheme.in !== 'cookie') return scheme
  if (scheme.type !== 'http') return null
  if (scheme.scheme.toLowerCase() === 'basic') return { type: 'basic' }
  const description = `The word ${scheme.scheme}, a space, and the credentials.`
  return { type: 'apiKey', in: 'header', name: 'Authorization', description }
}
