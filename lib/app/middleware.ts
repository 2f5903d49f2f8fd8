import type { FastifyInstance } from 'fastify'
import { AuthnUsageError } from '../errors.js'
import { isWithin } from './fastify.js'
import type { AuditOptions } from '../../types/options.js'

const engines = ['@fastify/express', '@fastify/middie']

/**
 * Checks that an audited app has decided about middleware. Middleware answers by the text of the URL, outside of all
 * routes, so marks do not protect what it serves. The option `audit.middleware: true` says that this is intended.
 *
 * @param scopes - every scope of the app
 * @throws ERR_AUTH_AUDIT when middleware can run in an audited scope whose audit does not allow it
 */
export function requireMiddlewareDecision(
  scopes: readonly FastifyInstance[],
  audited: FastifyInstance,
  { middleware }: AuditOptions,
): void {
  if (middleware) return
  // Middleware of a scope around the audited one runs in the audited one too.
  const found = scopes
    .filter((scope) => isWithin(scope, audited) || isWithin(audited, scope))
    .map(engineOf)
    .find((engine) => engine !== undefined)
  if (found === undefined) return
  throw new AuthnUsageError(
    'ERR_AUTH_AUDIT',
    `option "audit": found ${found}, whose app.use(…) answers requests before any mark is looked at. Make sure that no middleware answers what only users may see, and then say so with audit: { mode: 'explicit', middleware: true }.`,
  )
}

/** The name of the plugin that adds middleware to a scope. An unknown plugin is recognised by what it decorates. */
function engineOf(scope: FastifyInstance): string | undefined {
  const known = engines.find((name) => scope.hasPlugin(name))
  return known ?? (scope.hasDecorator('use') ? 'the decorator "use" of another plugin' : undefined)
}
