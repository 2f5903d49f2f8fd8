import { wrongMark } from '../errors.js'
import { ownOf } from '../common/objects.js'
import { isMark, parseMark } from '../marks/parse.js'
import { configOfScope, misplacedInScope } from '../marks/spelling.js'
import { isShared, nameOfPlugin } from './fastify.js'
import type { Registered } from './register.js'

/** The mark in the options of an `app.register`, for all routes inside. */
export interface MarkedScope {
  readonly mark: unknown
  readonly prefix: unknown
  /** Whether Fastify makes no scope for this plugin, so that the mark has no effect. */
  readonly isVoid: boolean
  /** The place of a mark in the wrong place, such as `config.auth`, where it has no effect. */
  readonly misplaced: string | undefined
}

/** @throws ERR_AUTH_MARK for a mark that is not valid or has no effect */
export function checkScope({ mark, prefix, isVoid, misplaced }: MarkedScope): void {
  const place = `app.register(…, { prefix: ${JSON.stringify(prefix)}, auth })`
  if (misplaced !== undefined) {
    wrongMark(
      `${place}: found ${misplaced}, which has no effect, so the routes inside would be open; expected the mark as the option auth of a plain plugin: app.register(routes, { prefix: '/admin', auth: true }). If the option means something else, add auth: true or auth: false beside it.`,
    )
  }
  parseMark(mark, place)
  if (!isVoid) return
  wrongMark(
    `${place}: the mark has no effect, since the plugin is wrapped by fastify-plugin (as @fastify/autoload is) or its options are a function. Mark its routes, register it inside of a plain plugin that is marked, or with @fastify/autoload write { dir, options: { auth } }.`,
  )
}

/** The mark of a scope that Fastify makes, read from its options; null when there is none. */
export function scopeOf(options: object): MarkedScope | null {
  const mark = ownOf(options, 'auth')
  const misplaced = misplacedInScope(options)
  if (mark === undefined && misplaced === undefined) return null
  return { mark, prefix: ownOf(options, 'prefix'), isVoid: false, misplaced }
}

/**
 * The same for a plugin that gets no scope, or whose options come from a function: there a mark has no effect. Other
 * plugins use options of these names too, so only values that are marks are reported.
 */
export function voidScopeOf({ plugin, options, isComputed }: Registered): MarkedScope | null {
  const isOurs = nameOfPlugin(plugin) === 'fastify-authn'
  if (isOurs || typeof options !== 'object' || options === null) return null
  if (!isComputed && !isShared(plugin)) return null
  const mark = ownOf(options, 'auth')
  const misplaced = configOfScope(options)
  if (misplaced === undefined && (mark === undefined || !isMark(mark))) return null
  return { mark, prefix: ownOf(options, 'prefix'), isVoid: true, misplaced }
}
