import * as Type from '@sinclair/typebox/type'
import { wrongOption } from '../errors/errors.js'
import { secureAddress } from '../http/address.js'
import { scopeName } from '../marks/access.js'
import { checkAddress, quotedAddress } from '../options/address.js'
import { nonEmpty, optional, or, strict, text } from '../options/check.js'
import type { ResourceOptions } from '../../types/resource.js'

export const wellKnown = '/.well-known/oauth-protected-resource'

const address = optional(text('an address', { quoted: true }))
const identifier = text('the URL of the resource', { quoted: true })
const object = strict(
  {
    identifier,
    authorizationServers: optional(Type.Array(nonEmpty, { description: 'an array of addresses' })),
    scopesSupported: optional(
      or(false, Type.Array(scopeName, { description: 'an array of scopes' })),
    ),
    name: optional(text('a non-empty string')),
    documentation: address,
    policy: address,
    termsOfService: address,
  },
  'an object with identifier',
)

export const schema = Type.Union([identifier, object], {
  description: 'the URL of the resource, or an object with identifier',
  quoted: true,
})

export type ResolvedResource = ReturnType<typeof resolve>

export function resolve(given: string | ResourceOptions) {
  const isText = typeof given === 'string'
  const resource: ResourceOptions = isText ? { identifier: given } : given
  const { origin, pathname } = readIdentifier(isText ? '' : '.identifier', resource.identifier)
  for (const [index, server] of (resource.authorizationServers ?? []).entries())
    checkAddress(`resource.authorizationServers.${index}`, server, true)
  for (const name of ['documentation', 'policy', 'termsOfService'] as const) {
    const page = resource[name]
    if (page !== undefined) checkAddress(`resource.${name}`, page, false)
  }
  // RFC 9728 §3.1.
  const path = `${wellKnown}${pathname.replace(/\/$/, '')}`
  // The default of `issuers.*.audience`. Clients that read it as a WHATWG URL request tokens for the second spelling.
  const audience = pathname === '/' ? [origin, `${origin}/`] : [resource.identifier]
  return { ...resource, path, metadataUrl: `${origin}${path}`, audience }
}

/** Accepts the one spelling of a URL that all clients have, since they compare it character by character. */
function readIdentifier(member: string, found: string): URL {
  const url = secureAddress(found)
  const isExact = [found, `${found}/`].includes(`${url?.origin}${url?.pathname}`)
  // Other characters would be parameters of the route, or have several spellings.
  if (url && isExact && /^(?:\/[\w.~!$&'+,;=@-]+)*\/?$/.test(url.pathname)) return url
  return wrongOption(
    `option "resource${member}": found ${quotedAddress(found)}, expected a URL with https (http only to a loopback address), scheme and host in lower case, without default port, credentials, query, fragment, dot segments, and with no other characters in its path than letters, digits and -._~!$&'+,;=@`,
  )
}

declare module '../feature.js' {
  interface ResolvedFeatures {
    resource: ResolvedResource
  }
}
