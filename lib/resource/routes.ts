import type { FastifyInstance } from 'fastify'
import { wrongOption } from '../errors/errors.js'
import type { PluginRoute, Work } from '../http/plugin-route.js'
import { sendPublic } from '../http/public-document.js'
import { wellKnown, type ResolvedResource } from './options.js'

const methods = ['GET', 'OPTIONS'] as const

/** A resource, and the text of its document once the app is ready. */
type Published = Pick<ResolvedResource, 'identifier' | 'path'> & { text?: string }

/** By the root of an app: its resources, and the paths that are declared for them. */
const apps = new WeakMap<FastifyInstance, { all: Published[]; paths: Set<string> }>()

/**
 * The routes of a resource, on the root of the app, since clients look for them at fixed paths (RFC 9728 §3.1). MCP
 * clients also look at the well-known path alone. @throws ERR_AUTH_OPTION
 */
export function routesOf(root: FastifyInstance, own: Published): PluginRoute[] {
  const { all, paths } = apps.get(root) ?? { all: [], paths: new Set() }
  apps.set(root, { all, paths })
  const twin = all.find(({ path }) => path === own.path)
  if (twin !== undefined) {
    wrongOption(
      `option "resource": found ${own.identifier}, but the metadata of ${twin.identifier} of another registration have the same path, ${own.path}. Give each resource of an app an identifier with a path of its own.`,
    )
  }
  all.push(own)
  const isTaken = methods.some((method) => root.hasRoute({ method, url: wellKnown }))
  const wanted = new Set(isTaken ? [own.path] : [own.path, wellKnown])
  const missing = [...wanted].filter((path) => !paths.has(path))
  for (const path of missing) paths.add(path)
  return missing.flatMap((path) => routesAt(root, path, all))
}

function routesAt(scope: FastifyInstance, path: string, all: readonly Published[]): PluginRoute[] {
  const isOwn = all.some((each) => each.path === path)
  const route = {
    kind: 'resource metadata',
    path,
    scope,
    option: 'resource',
    ifTaken: `Remove that route${isOwn ? '' : ', or declare it before the plugin is registered'}.`,
    // @fastify/cors would answer for the origins of the app alone.
    options: { config: { cors: false } as object },
  }
  const get: Work = (request, reply) => {
    // A registration that a later one in its scope has replaced has no document.
    const served = all.filter(({ text }) => text !== undefined)
    const isOnly = path === wellKnown && served.length === 1
    const text = served.find((each) => isOnly || each.path === path)?.text
    if (text === undefined) {
      reply.callNotFound()
      return reply
    }
    void reply.header('access-control-allow-origin', '*')
    return sendPublic(request, reply, 'application/json', text)
  }
  // Clients in browsers send MCP-Protocol-Version, which needs a preflight.
  const preflight: Work = (_, reply) => {
    const any = { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*' }
    return reply
      .code(204)
      .headers({ ...any, 'access-control-allow-methods': 'GET, HEAD' })
      .send()
  }
  return [
    { ...route, method: 'GET', work: get },
    { ...route, method: 'OPTIONS', work: preflight },
  ]
}
