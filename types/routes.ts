import type { FastifyContextConfig } from 'fastify'
import type { AuthMode, NeededNames } from './marks.js'

/** A route in the result of `app.authn.routes()`. */
export interface AuthnRoute {
  /** The methods of the route in upper case, sorted. */
  readonly methods: readonly string[]
  /** The URL with every prefix, as it was declared: `/notes/:id`. */
  readonly url: string
  /** Fastify's `constraints`, such as a host or a version; often empty. */
  readonly constraints: Readonly<Record<string, unknown>>
  /**
   * The mode that applies: `false` for an open route; `'optional'` also for the mark `true` if the authenticator is
   * `optional: true`.
   */
  readonly mode: AuthMode
  /** The scopes that its users must have; null for none. */
  readonly scope: NeededNames | null
  /** The roles that its users must have; null for none. */
  readonly role: NeededNames | null
  /** Whether its users have to be authenticated with several factors. */
  readonly mfa: boolean
  /** The age in seconds that their authentication may have; null for any. */
  readonly fresh: number | null
  /** Names of its authenticators; `custom` for one that has no name. */
  readonly authenticators: readonly string[]
  /**
   * The place of its mark: on the route itself, in the options of an `app.register` around it, in the option `auth` of
   * the plugin, or nowhere; nowhere also for the OPTIONS route of @fastify/cors, which is open in every scope.
   */
  readonly source: 'route' | 'scope' | 'plugin' | 'none'
  /** The prefix of the scope that has the mark, empty for none; null if no scope has it. */
  readonly sourcePrefix: string | null
  /** The nearest registration of the plugin, whose authenticators it uses, as its `app.authn.registration` has it. */
  readonly registration: string
  /** Whether Fastify added it to a GET route (`exposeHeadRoutes`). */
  readonly isAutomaticHead: boolean
  /** Whether it is a login route of the plugin. */
  readonly isLogin: boolean
}

/** A route without a mark, as `requireMarks.except` sees it. */
export interface UndecidedRoute extends Pick<
  AuthnRoute,
  'methods' | 'url' | 'constraints' | 'isAutomaticHead'
> {
  /** The prefix of the scope that declares it; empty for none. */
  readonly prefix: string
  /** Whether its schema has `hide`, as in most routes that plugins add. */
  readonly isHidden: boolean
  /** `config` of the route. */
  readonly config: Readonly<FastifyContextConfig & Record<string, unknown>>
}
