import { factsOf, membersOf, readsCookie } from '../authenticators/facts.js'
import { tokenKindsOf } from '../tokens/token-kind.js'
import type { Registration } from '../registration.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { SecurityScheme } from '../../types/openapi.js'

type Judges = Pick<Registration, 'authenticators' | 'jwtService' | 'cookies'>

/** A security scheme with its name in the document. */
export interface NamedScheme {
  readonly name: string
  /** Its name where a scheme for other tokens has {@link name} already. */
  readonly otherName: string
  readonly scheme: SecurityScheme
  /** What tells its tokens from those of schemes that look the same; empty where the looks say it all. */
  readonly tokens: readonly unknown[]
}

/** The usual names for schemes of type `http`. */
const usualNames: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  basic: 'basicAuth',
  bearer: 'bearerAuth',
})

/**
 * The security schemes of authenticators, in order. Authenticators without a scheme are left out.
 *
 * @param registration - the registration of the authenticators: a scheme without a usual name gets the name that its
 * authenticator has there
 */
export function schemesOf(accepted: readonly Authenticator[], registration: Judges): NamedScheme[] {
  return accepted.flatMap(membersOf).flatMap((member): NamedScheme[] => {
    const scheme = schemeOf(member)
    const cookies = cookieOf(member, registration)
    if (scheme === null) return cookies
    const usual = scheme.type === 'http' ? usualNames[scheme.scheme.toLowerCase()] : undefined
    const tokens = usual === 'bearerAuth' ? tokensOf(member, registration) : null
    const ownName = nameOf(member, registration) ?? 'customAuth'
    const otherName = tokens?.name ?? ownName
    const shown = { name: usual ?? ownName, otherName, scheme, tokens: tokens?.told ?? [] }
    return [shown, ...cookies]
  })
}

/** The cookie that an authenticator reads besides. */
function cookieOf(member: Authenticator, { cookies }: Judges): NamedScheme[] {
  if (cookies === null || !readsCookie(member)) return []
  const scheme = { type: 'apiKey', in: 'cookie', name: cookies.name } as const
  return [{ name: 'cookieAuth', otherName: 'cookieAuth', scheme, tokens: [] }]
}

/** The name that `use` knows an authenticator by. */
function nameOf(member: Authenticator, { authenticators }: Judges): string | undefined {
  const found = [...authenticators].find(([, other]) => other === member)
  // OpenAPI 3.1 §4.8.7 allows only these characters in the names of components.
  return found?.[0].replaceAll(/[^\w.-]/g, '_')
}

/** What tells bearer tokens apart, and how a scheme for them is called where another one is `bearerAuth`. */
function tokensOf(member: Authenticator, judges: Judges): { told: unknown[]; name: string } {
  const { accepted } = factsOf(member)
  const { jwtService } = judges
  const ownName = nameOf(member, judges)
  if (accepted === undefined || jwtService === null)
    return { told: [member], name: ownName ?? 'bearerAuth' }
  const kinds = tokenKindsOf(jwtService, ...accepted)
  // That of the built-in authenticator tells nothing.
  const name =
    ownName === undefined || ownName === 'jwt'
      ? `${String(kinds[0]?.method).toLowerCase()}Auth`
      : ownName
  const told = kinds.flatMap(({ key, method, audience, issuer, typ }) => [
    key(),
    method,
    audience?.join('\n'),
    issuer,
    [...typ].join('\n'),
  ])
  return { told, name }
}

function schemeOf({ openapi, scheme }: Authenticator): SecurityScheme | null {
  if (openapi !== undefined) return openapi
  return scheme === undefined ? null : { type: 'http', scheme: scheme.toLowerCase() }
}

/** Whether two schemes ask for the same credentials. Their descriptions may differ. */
export function isSameScheme(one: unknown, other: unknown): boolean {
  const [a, b] = [essence(one), essence(other)]
  if (a.bearerFormat === undefined || b.bearerFormat === undefined) {
    delete a.bearerFormat
    delete b.bearerFormat
  }
  return JSON.stringify(a) === JSON.stringify(b)
}

/** The fields of a scheme that are compared, in a fixed order and in lower case. */
function essence(scheme: unknown): Record<string, unknown> {
  const { description: _, ...rest } = (scheme ?? {}) as Record<string, unknown>
  const isFolded = rest.type === 'http' || rest.in === 'header'
  const entries = Object.entries(rest).map(([key, value]) => [
    key,
    isFolded && typeof value === 'string' ? value.toLowerCase() : value,
  ])
  return Object.fromEntries(entries.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)))
}

/** A scheme in Swagger 2.0, whose only HTTP scheme is Basic; null when the format cannot express it. */
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
