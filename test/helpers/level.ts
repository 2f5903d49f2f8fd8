import type { Test } from 'tap'
import { memoryApiKeys } from '../../lib/api-keys/index.js'
import type { AuthMark } from '../../lib/index.js'
import { appWith, bearer, logLines, standardOptions, users, userService } from './app.js'

export { epochSeconds } from './tokens.js'

export type Claims = Readonly<Record<string, unknown>>

/** The options that register the authenticators `apiKey`, `basic` and `configBasic`. */
export const apiKeyStart = {
  apiKeys: { prefix: 'shop', store: memoryApiKeys() },
  basic: { username: 'root', password: 'a password of the configuration' },
}

/** The one challenge of a 401 that asks for another authentication. @param needs - its last parameters */
export const challenge = (needs: string): string =>
  `Bearer realm="Authorization required", error="insufficient_user_authentication", error_description="Another authentication is needed", ${needs}`

/** An app with one route under a mark, whose users alice and bob have roles. */
export async function appOf(t: Test, auth: unknown, options: object = {}) {
  const { lines, stream } = logLines()
  const roles = { alice: ['admin'], bob: [] as string[] } as Record<string, string[]>
  const service = userService(users.map((user) => ({ ...user, roles: roles[user.name] })))
  const all = { ...standardOptions(), userService: service, ...options }
  const declare = (app: Parameters<NonNullable<Parameters<typeof appWith>[2]>>[0]) =>
    app.get('/', { config: { auth: auth as AuthMark } }, () => ({}))
  const app = await appWith(t, all, declare, { logger: { stream } })
  const get = (claims: Claims) => {
    const token = app.jwtService.generateTokenWithClaims({ sub: 'alice', ...claims })
    return app.inject({ url: '/', headers: bearer(token) })
  }
  return { app, get, lines }
}
