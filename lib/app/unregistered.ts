import { isMark, parseMark } from '../marks/parse.js'
import { isAutomaticHead } from './fastify.js'
import { markOf, methodsOf, routeMark, type DeclaredRoute } from './routes.js'
import { listOf, visible } from './table.js'

/**
 * Warns of an app that has marked routes and never registers the plugin, so that they are open. It is a process
 * warning because the app may have no logger, and not an error because `config.auth` may belong to another plugin.
 */
export function warnUnregistered(routes: readonly DeclaredRoute[]): void {
  const marked = [...new Set(routes.filter(isOpenByMistake).map(nameOf))].toSorted()
  if (marked.length === 0) return
  process.emitWarning(
    `fastify-authn: these routes are marked, but the app never registers the plugin, so that everybody may call them. Register it (app.register(authn, …)) in this app. If config.auth is meant for another plugin here, run node with --disable-warning=FASTIFY_AUTHN_UNREGISTERED.${listOf(marked)}`,
    { type: 'SecurityWarning', code: 'FASTIFY_AUTHN_UNREGISTERED' },
  )
}

/**
 * Whether a route has a mark that asks for authentication. Values that are not marks belong to another plugin, and a
 * HEAD route that Fastify added is not listed beside its GET route.
 */
function isOpenByMistake(route: DeclaredRoute): boolean {
  const mark = markOf(routeMark(route), route.server)
  return isMark(mark) && parseMark(mark, '').mode !== false && !isAutomaticHead(route.options)
}

function nameOf({ options }: DeclaredRoute): string {
  return visible(`${methodsOf(options.method).join(',')} ${options.url}`)
}
