import type { FastifyInstance } from 'fastify'
import { wrongOption } from '../errors/errors.js'
import type { PluginRoute, Work } from '../http/plugin-route.js'
import { sendPublic } from '../http/public-document.js'
import { wellKnown } from './options.js'

export interface Published {
  readonly identifier: string
  readonly path: string
  /** The document; empty until the app is ready. */
  text: string
}

/** The resources of an app, and the paths that are declared for them. */
interface Resources {
  readonly all: Published[]
  readonly paths: Set<string>
}

const resources = new WeakMap<FastifyInstance, Resources>()

/**
 * The routes of a resource, on the root of the app, since clients look for them at fixed paths (RFC 9728 §3.1). MCP
 * clients also look at the well-known path alone. @throws ERR_AUTH_OPTION
 */
export function routesOf(root: FastifyInstance, own: Published): PluginRoute[] {
  const { all, paths } = resources.get(root) ?? { all: [], paths: new Set() }
  resources.set(root, { all, paths })
  const twin = all.find(({ path }) => path === own.path)
  if (twin !== undefined) {
    wrongOption(
      `option "resource": found ${own.identifier}, but the metadata of ${twin.identifier} of another registration have the same path, ${own.path}. Give each resource of an app an identifier with a path of its own.`,
    )
  }
  all.push(own)
  const isTaken = root.hasRoute({ method: 'GET', url: wellKnown })
  const wanted = new Set([own.path, ...(isTaken ? [] : [wellKnown])])
  const missing = [...wanted].filter((path) => !paths.has(path))
  for (const path of missing) paths.add(path)
  return missing.flatMap((path) => routesAt(root, path, all))
}

function routesAt(scope: FastifyInstance, path: string, all: readonly Published[]): PluginRoute[] {
  const route = {
    kind: 'resource metadata',
    path,
    scope,
    option: 'resource',
    ifTaken:
      path === wellKnown
        ? 'Remove that route, or declare it before the plugin is registered.'
        : 'Remove that route.',
    // @fastify/cors would answer for the origins of the app alone.
    options: { config: { cors: false } as object },
  }
  const get: Work = (request, reply) => {
    const found = all.find((each) => each.path === path) ?? (all.length === 1 ? all[0] : undefined)
    if (!found?.text) {
      reply.callNotFound()
      return reply
    }
    void reply.header('access-control-allow-origin', '*')
    return sendPublic(request, reply, 'application/json', found.text)
  }
  // Clients in browsers send MCP-Protocol-Version, which needs a preflight.
  const preflight: Work = (_, reply) =>
    reply
      .code(204)
      .header('access-control-allow-origin', '*')
      .header('access-control-allow-methods', 'GET, HEAD')
      .header('access-control-allow-headers', '*')
      .send()
  return [
    { ...route, method: 'GET', work: get },
    { ...route, method: 'OPTIONS', work: preflight },
  ]
}
