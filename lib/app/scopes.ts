import { wrongMark } from '../errors.js'
import { ownProperty } from '../common/objects.js'
import { isMark, parseMark } from '../marks/mark.js'
import { isShared, nameOfPlugin } from './fastify.js'

/** The mark in the options of an `app.register`, for all routes inside. */
export interface MarkedScope {
  readonly mark: unknown
  readonly prefix: unknown
  /** Whether Fastify makes no scope for this plugin, so that the mark has no effect. */
  readonly isVoid: boolean
}

/** @throws ERR_AUTH_MARK for a mark that is not valid or has no effect */
export function checkScope({ mark, prefix, isVoid }: MarkedScope): void {
  const place = `app.register(…, { prefix: ${JSON.stringify(prefix)}, auth })`
  if (mark === undefined) {
    wrongMark(
      `${place}: found auth: undefined, which has no effect, so the routes inside would be open; expected a mark such as auth: true, or none.`,
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
  if (!Object.hasOwn(options, 'auth')) return null
  return {
    mark: ownProperty(options, 'auth'),
    prefix: ownProperty(options, 'prefix'),
    isVoid: false,
  }
}

/**
 * The same for a plugin that gets no scope, or whose options come from a function: there a mark has no effect. Other
 * plugins use an option of this name too, so only values that are marks are reported.
 */
export function voidScopeOf(
  plugin: unknown,
  options: unknown,
  isComputed: boolean,
): MarkedScope | null {
  const isOurs = nameOfPlugin(plugin) === 'fastify-authn'
  if (isOurs || typeof options !== 'object' || options === null) return null
  if (!isComputed && !isShared(plugin)) return null
  const mark = ownProperty(options, 'auth')
  return isMark(mark) ? { mark, prefix: ownProperty(options, 'prefix'), isVoid: true } : null
}
