// An MCP server over Streamable HTTP. To OAuth, it is a resource server: clients find its authorization server by
// its 401 response, users log in there, and each tool asks for the scope that it needs.
import cors from '@fastify/cors'
import { originValidation } from '@modelcontextprotocol/fastify'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, type AuthInfo } from '@modelcontextprotocol/server'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { authn, grantsOf, type IntrospectionOptions } from 'fastify-authn'
import { notesServer, type Notes } from './notes.js'
import { toolScopes } from './tools.js'

declare module 'fastify-authn' {
  interface AuthUser {
    name: string
  }
}

export interface Settings {
  /** The URL of the MCP endpoint, exactly as clients write it. */
  readonly identifier: string
  /** The `issuer` of the authorization server. */
  readonly issuer: string
  /** For an authorization server whose access tokens are not JWTs. */
  readonly introspection?: IntrospectionOptions
  /** Origins of pages that may call the endpoint, such as that of MCP Inspector. */
  readonly origins: string[]
  readonly notesOf: (name: string) => Notes
}

/** What tools may know of the request. */
async function authInfoOf(request: FastifyRequest): Promise<AuthInfo> {
  const { client_id: clientId, exp } = request.extra.jwtClaims ?? {}
  const { scopes } = await grantsOf(request)
  return {
    // Empty, so that no tool can pass the token on to another server.
    token: '',
    clientId: typeof clientId === 'string' ? clientId : '',
    scopes: [...scopes],
    ...(exp !== undefined && { expiresAt: exp }),
    resourceMetadataUrl: request.server.authn.resource?.metadataUrl,
    extra: { name: request.user?.name },
  }
}

export async function buildApp(settings: Settings): Promise<FastifyInstance> {
  const { identifier, issuer, introspection, origins, notesOf } = settings
  const app = Fastify()
  const endpoint = new URL(identifier).pathname
  const validateOrigin = originValidation(origins.map((origin) => new URL(origin).hostname))
  // Before the plugin: pages of other sites get a 403 whatever they send, which MCP demands. They may read the metadata.
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.url === endpoint) await validateOrigin(request, reply)
  })
  await app.register(cors, {
    origin: origins,
    methods: ['GET', 'POST', 'DELETE'],
    exposedHeaders: ['WWW-Authenticate'],
  })
  await app.register(authn, {
    resource: { identifier, name: 'Notes' },
    issuers: {
      corp: {
        issuer,
        ...(introspection && { introspection }),
        user({ sub, client_id: clientId }) {
          const isNamed = typeof sub === 'string' || typeof sub === 'number'
          if (isNamed && String(sub) !== clientId) return { name: `user:${sub}` }
          // With client credentials, the client acts for itself: `sub` is its own id, or is missing.
          return typeof clientId === 'string' ? { name: `client:${clientId}` } : null
        },
      },
    },
  })

  const mcp = createMcpHandler(({ authInfo }) =>
    notesServer(notesOf(String(authInfo?.extra?.name))),
  )
  // Streams that are open would keep the app from closing.
  app.addHook('preClose', () => mcp.close())
  const answer = toNodeHandler(mcp)

  app.route({
    method: ['GET', 'POST', 'DELETE'],
    url: endpoint,
    // The weaker scope first: it is what a client without a token asks for.
    config: { auth: { use: 'corp', scope: { any: ['notes:read', 'notes:write'] } } },
    preHandler: toolScopes({ delete_note: 'notes:write' }),
    async handler(request, reply) {
      const auth = await authInfoOf(request)
      // A reply that is hijacked leaves out the headers that hooks have set, here those of CORS.
      for (const [name, value = ''] of Object.entries(reply.getHeaders())) {
        reply.raw.setHeader(name, value)
      }
      reply.hijack()
      await answer(Object.assign(request.raw, { auth }), reply.raw, request.body)
    },
  })
  return app
}
