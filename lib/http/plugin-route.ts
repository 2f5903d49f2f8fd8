import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify'
import type { TObject } from '@sinclair/typebox/type'
import { withoutUndefined } from '../common/objects.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { AuthenticationErrorLike } from '../../types/errors.js'
import type { AuthMark } from '../../types/marks.js'

export interface PluginRoute {
  /** The name of the route in errors and API documents; in events and the log if {@link authenticator} is not set. */
  readonly kind: string
  readonly method: 'GET' | 'POST' | 'OPTIONS'
  /** The path below the prefix of the scope. */
  readonly path: string
  /** Default: the scope of the registration. */
  readonly scope?: FastifyInstance
  /** If the path is taken, startup fails with an error that names this option and says what to do. */
  readonly option: string
  readonly ifTaken: string
  readonly body?: RouteBody
  /** Whether it gets forms, also from pages of other sites. It must look at no cookie and change nothing. */
  readonly takesForms?: boolean
  readonly work: Work
  /** Whether it logs the user in: then the client may choose how it gets its tokens. */
  readonly givesTokens?: boolean
  /** Default: the route is open, and reads the credentials that it needs itself. */
  readonly mark?: AuthMark
  /** The name of the route in the log and in events of rejections. Default: {@link kind}. */
  readonly authenticator?: string
  /** More members of the events and log lines of rejections. */
  readonly about?: object
  /** Sends a response in place of the default rejection. */
  onRejection?(error: AuthenticationErrorLike, reply: FastifyReply): FastifyReply
  /** Shown in API documents. A route without `notes` is left out of them. */
  readonly notes?: RouteNotes
  readonly options?: RouteShorthandOptions
}

/** Handles a request. An AuthenticationError that it throws is sent as the guard does. */
export type Work = (
  request: FastifyRequest,
  reply: FastifyReply,
  started: number,
) => FastifyReply | Promise<FastifyReply>

/** The body of a route: a JSON Schema for API documents, and a strict check, which converts no types. */
export interface RouteBody<Content = unknown> {
  readonly schema: TObject
  /**
   * Called again by the handler: some content types have bypassed validation (CVE-2026-25223 of Fastify), and a hook of
   * the app can set attachValidation.
   */
  read(body: unknown): Content
}

interface RouteNotes {
  /** The responses besides those that all routes of the plugin have. */
  readonly responses: Responses
  /** The authenticators whose credentials the route reads itself, and which a request may leave out. */
  readonly accepts?: readonly Authenticator[]
}

/** Responses by status: a description, or a body schema with a description. */
export type Responses = Readonly<Record<number, string | object>>

export const tooMany = { 429: 'Too many failed attempts.' }

const kPluginRoute = Symbol('fastify-authn.plugin-route')

export function pluginRouteOf(options: object): PluginRoute | undefined {
  return (options as { readonly [kPluginRoute]?: PluginRoute })[kPluginRoute]
}

export function markPluginRoute<Options extends object>(route: PluginRoute, options: Options) {
  return { ...options, [kPluginRoute]: route }
}

/** The options of the login route that the others get too. Its hooks are left out, since they may expect a username. */
export function sharedOptions(
  { config, constraints, bodyLimit, logLevel, schema }: RouteShorthandOptions,
  documented: object,
): RouteShorthandOptions {
  const { tags = ['authentication'], hide } = (schema ?? {}) as { tags?: string[]; hide?: boolean }
  // The type is a plain object: Fastify's own types know these members only where @fastify/swagger is loaded.
  const described: object = { ...documented, ...withoutUndefined({ tags, hide }) }
  return { ...withoutUndefined({ config, constraints, bodyLimit, logLevel }), schema: described }
}
