import { requestText } from '../support/connection.js'
import { distinctTokens, tokensOf } from './tokens.js'
import { authnFor, type Variant } from './variants.js'

const bearer = (token: string): string => `Bearer ${token}`

function scaled(
  name: string,
  more: Partial<Variant> & { settings?: object; jwt?: object },
): Variant {
  const { settings, jwt, ...rest } = more
  return {
    name,
    group: 'ours',
    algorithm: 'HS256',
    app: { peer: 'ours', settings: { authn: authnFor('HS256', jwt), ...settings } },
    credentials: () => [bearer(tokensOf('HS256')())],
    ...rest,
  }
}

const number = (value: number): string => value.toLocaleString('en-US')

const routes = (count: number): Variant =>
  scaled(`${number(count)} marked routes`, {
    settings: { routes: count },
    path: `/marked/${count / 2}`,
  })

function authenticators(count: number): Variant {
  const others = Array.from({ length: count - 1 }, (_, index) => `other${index}`)
  return scaled(`${count} authenticators on the route`, {
    settings: { authenticators: count - 1, mark: { use: ['jwt', ...others] } },
  })
}

function tokens(count: number): Variant[] {
  let made: string[] | undefined
  // Both variants send the same, and it takes a second to sign as many.
  const credentials = (): string[] => (made ??= distinctTokens('HS256', count).map(bearer))
  const name = `${number(count)} tokens in rotation`
  return [
    scaled(name, { credentials }),
    scaled(`${name}, rememberTokens: false`, { credentials, jwt: { rememberTokens: false } }),
  ]
}

/** The claims are padded until the header has about the size wanted; base64url adds a third. */
function headerOf(kib: number): Variant {
  const padding = 'x'.repeat(Math.max(0, kib * 768 - 150))
  const header = bearer(tokensOf('HS256')({ padding }))
  return scaled(`header of ${number(header.length)} bytes`, { credentials: () => [header] })
}

/** How the cost of a protected route grows with everything that an app may have many of. */
export function scalingVariants(isQuick: boolean): Variant[] {
  if (isQuick) return [routes(1000), ...tokens(10_000)]
  return [
    ...[10, 1000, 10_000].map(routes),
    ...[1, 10, 100].map(authenticators),
    ...[1, 1000, 10_000, 100_000].flatMap(tokens),
    ...[0, 1, 2, 4, 8].map(headerOf),
  ]
}

/** The app and the requests of the measurement with several processes. */
export const clusterRequests = (): string[] => [
  requestText('GET', '/protected', { authorization: bearer(tokensOf('HS256')()) }),
]
