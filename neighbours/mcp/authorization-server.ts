import { generateKeyPairSync } from 'node:crypto'
import type { ClientMetadata } from 'oidc-provider'
import { startProvider, type RunningProvider } from '../../examples/demo/provider.js'

export interface Settings {
  /** Whether access tokens are JWTs, or opaque ones for introspection. Default: `jwt`. */
  readonly tokens?: 'jwt' | 'opaque'
  /** Those that do not register themselves. */
  readonly clients?: ClientMetadata[]
}

/**
 * An authorization server on this machine. MCP clients register themselves at it, and people choose who they are,
 * without a password. It stands for Keycloak, Auth0 or any other one with resource indicators (RFC 8707).
 */
export function startAuthorizationServer({
  tokens = 'jwt',
  clients = [],
}: Settings = {}): Promise<RunningProvider> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return startProvider(0, ['alice', 'bob'], {
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'ES256' }] },
    clients,
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    // Clients register with the scopes of the first 401 that they get. They may ask for more later.
    extraClientMetadata: {
      properties: ['scopes_of_registration'],
      validator: (_context, _name, _value, metadata) => void delete metadata.scope,
    },
    scopes: ['openid', 'offline_access', 'notes:read', 'notes:write'],
    features: {
      registration: { enabled: true },
      clientCredentials: { enabled: true },
      introspection: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context, resource) => ({
          scope: 'notes:read notes:write',
          audience: resource,
          accessTokenFormat: tokens,
          accessTokenTTL: 600,
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  })
}
