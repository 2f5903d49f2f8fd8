import { urlOf } from './plugin-routes.js'
import { requireOptions } from '../options/check.js'
import type { FeatureContext } from '../feature.js'
import type { ResolvedLogin } from '../options/resolve.js'
import type { StepKeys } from '../tokens/step.js'

/** The login of a feature that stores what belongs to a `sub`. @param why - it needs `login.subject` @throws ERR_AUTH_OPTION */
export function requireLogin(
  option: string,
  { app, options: { sessions, userService, login }, jwtService: service }: FeatureContext,
  why: string,
): { path: string; keys: StepKeys } {
  const needs = { sessions, userService, login, 'login.subject': login && login.subject }
  requireOptions(option, needs, {
    'login.subject': `Set it, such as login: { subject: (user) => user.id }: ${why}`,
  })
  const { path, signingMethod: method } = login as ResolvedLogin
  return { path, keys: { service, method, path: urlOf(app, path) } }
}
