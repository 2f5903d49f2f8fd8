import type { FastifyReply, FastifyRequest } from 'fastify'
import { grantsOf } from 'fastify-authn'

/**
 * Scopes of single tools, for any version of the MCP SDK: a call without the scope gets a 403 that names it, and the
 * client asks the user for it. As a `preHandler` of the endpoint.
 *
 * @param scopes - by the names of tools
 */
export function toolScopes(scopes: Readonly<Record<string, string>>) {
  const needed = new Map(Object.entries(scopes))
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    // Older versions of the protocol send several messages in one array.
    const names = [request.body]
      .flat()
      .map(Object)
      .filter(({ method }) => method === 'tools/call')
      .map(({ params }) => Object(params).name as string)
    const granted = await grantsOf(request)
    const missing = names
      .flatMap((name) => needed.get(name) ?? [])
      .find((scope) => !granted.scopes.has(scope))
    if (missing === undefined) return undefined
    const metadataUrl = request.server.authn.resource?.metadataUrl
    const challenge = `Bearer error="insufficient_scope", scope="${missing}", resource_metadata="${metadataUrl}"`
    return reply
      .code(403)
      .header('www-authenticate', challenge)
      .send({ error: `The tool needs the scope ${missing}.` })
  }
}
