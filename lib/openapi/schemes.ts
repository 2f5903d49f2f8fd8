import { kMembers } from '../symbols.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { SecurityScheme } from '../../types/openapi.js'

/** A security scheme, and the name that a document gives it. */
export interface NamedScheme {
  readonly name: string
  readonly scheme: SecurityScheme
}

/** Names that everybody gives to the schemes of type `http`. */
const usualNames: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  basic: 'basicAuth',
  bearer: 'bearerAuth',
})

/** The authenticators that one stands for: itself, unless it is made of several. */
export function membersOf(authenticator: Authenticator): readonly Authenticator[] {
  const members = (authenticator as { [kMembers]?: readonly Authenticator[] })[kMembers]
  return members?.flatMap(membersOf) ?? [authenticator]
}

/**
 * The schemes of an authenticator, in order; those that have none to show are left out.
 *
 * @param registered - the authenticators of the app by name: a scheme without a usual name takes that of
 * its authenticator
 */
export function schemesOf(
  authenticator: Authenticator,
  registered: ReadonlyMap<string, Authenticator>,
): NamedScheme[] {
  return membersOf(authenticator).flatMap((member) => {
    const scheme = schemeOf(member)
    if (scheme === null) return []
    const [ownName] = [...registered].find(([, other]) => other === member) ?? ['customAuth']
    const usual = scheme.type === 'http' ? usualNames[scheme.scheme.toLowerCase()] : undefined
    // Names of components are restricted (OpenAPI 3.1 §4.8.7).
    return [{ name: usual ?? ownName.replaceAll(/[^\w.-]/g, '_'), scheme }]
  })
}

function schemeOf({ openapi, scheme }: Authenticator): SecurityScheme | null {
  if (openapi !== undefined) return openapi
  return scheme === undefined ? null : { type: 'http', scheme: scheme.toLowerCase() }
}

/** Whether two schemes ask for the same credentials; what they say of them may differ. */
export function isSameScheme(one: unknown, other: unknown): boolean {
  const [a, b] = [essence(one), essence(other)]
  if (a.bearerFormat === undefined || b.bearerFormat === undefined) {
    delete a.bearerFormat
    delete b.bearerFormat
  }
  return JSON.stringify(a) === JSON.stringify(b)
}

/** What counts in a comparison, in one order and one case. */
function essence(scheme: unknown): Record<string, unknown> {
  const { description: _, ...rest } = (scheme ?? {}) as Record<string, unknown>
  const isFolded = rest.type === 'http' || rest.in === 'header'
  const entries = Object.entries(rest).map(([key, value]) => [
    key,
    isFolded && typeof value === 'string' ? value.toLowerCase() : value,
  ])
  return Object.fromEntries(entries.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)))
}

/** A scheme as Swagger 2.0 can say it, which knows no schemes of HTTP but Basic; null where it cannot. */
export function asSwagger2(scheme: SecurityScheme): object | null {
  if (scheme.type === 'apiKey') return scheme.in === 'cookie' ? null : scheme
  if (scheme.type !== 'http') return null
  if (scheme.scheme.toLowerCase() === 'basic') return { type: 'basic' }
  const word = scheme.scheme.toLowerCase() === 'bearer' ? 'Bearer' : scheme.scheme
  const what = scheme.bearerFormat ?? 'credentials'
  return {
    type: 'apiKey',
    in: 'header',
    name: 'Authorization',
    description: `The word ${word}, a space, and the ${what}.`,
  }
}
