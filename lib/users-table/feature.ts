import { isProduction } from '../common/production.js'
import { sharedOptions } from '../http/plugin-route.js'
import { requireOptions } from '../options/check.js'
import { adminRoutes } from './admin.js'
import { usersApi } from './api.js'
import { identityRoutes } from './identities.js'
import { UserTools } from './tools.js'
import type { Feature, FeatureContext } from '../feature.js'
import type { ResolvedUsers } from './options.js'

export { resolve, schema } from './options.js'
export { supply } from './supply.js'

const ifLocal =
  'fastify-authn keeps its users in the memory of this process: a restart deletes all of them, and other processes do not know them. Set users: { store: sqlUsers(…) } of fastify-authn/users.'

/** The option `users`: a table of users. @throws ERR_AUTH_OPTION */
export function create(context: FeatureContext<ResolvedUsers>): Feature {
  const { app, options, resolved } = context
  const { sessions, loginWith, login } = options
  if (resolved.admin !== undefined) requireOptions('users.admin', { sessions, login }, {})
  if (resolved.given.store.isLocal && isProduction()) app.log.warn(ifLocal)
  const tools = new UserTools(resolved, context)
  return {
    name: 'users',
    api: usersApi(tools, app),
    open({ hiddenFields }) {
      hiddenFields.add('secondFactor').add('disabledAt')
    },
    routes(registration) {
      if (login === false) return []
      const routeOptions = sharedOptions(login.routeOptions, {})
      const given = { users: tools, registration, resolved: { routeOptions } }
      return [
        ...(loginWith ? identityRoutes(given, login.path) : []),
        ...(resolved.admin ? adminRoutes(given, resolved.admin) : []),
      ]
    },
    testing: tools,
  }
}
