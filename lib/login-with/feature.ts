import { wrongOption } from '../errors/errors.js'
import type { CookieSettings } from '../http/cookie-names.js'
import { belowLogin, urlOf } from '../login/plugin-routes.js'
import { requireOptions } from '../options/check.js'
import { resolveProvider } from './options.js'
import { Provider } from './provider.js'
import { providerRoutes } from './routes.js'
import type { Feature, FeatureContext } from '../feature.js'
import type { ResolvedLogin } from '../options/resolve.js'
import type { LoginProvider, LoginProviderOptions } from '../../types/login-with.js'

export { schema } from './options.js'

const needed =
  'option "loginWith" needs version 6 of the package openid-client, which needs Node.js 20.19, 22.12 or newer: npm install openid-client@6.'

type Resolved = Awaited<ReturnType<typeof resolve>>

export async function resolve(given: Readonly<Record<string, LoginProviderOptions>>) {
  const providers = Object.entries(given).map(([name, each]) => resolveProvider(name, each))
  const missing = (error: unknown): never => wrongOption(needed, error)
  const client = await import('openid-client').catch(missing)
  return 'enableNonRepudiationChecks' in client ? { client, providers } : wrongOption(needed)
}

/** For the test kit: the providers by their names, each with the address of its start. */
export type LoginWithTesting = ReadonlyMap<string, { provider: Provider; path: string }>

/** The option `loginWith`: sign-in with OpenID providers. @throws ERR_AUTH_OPTION */
export function create(context: FeatureContext<Resolved>): Feature {
  const { app, registration, resolved, resolvedBefore, options, log } = context
  const { sessions, userService, login } = options
  const { cookies } = resolvedBefore
  const needs = { sessions, cookies, userService, login }
  requireOptions('loginWith', needs, { login: 'Set it, such as login: { passwords: false }.' })
  const all = resolved.providers.map((each) => ({ ...each, registration }))
  const opened = all.map((each) => new Provider(each, resolved.client, log))
  const { path } = login as ResolvedLogin
  return {
    name: 'loginWith',
    givesMfa: all.some(({ mfa }) => mfa !== undefined),
    api: Object.fromEntries(opened.map((each) => [each.options.name, apiOf(each)])),
    confirmations: opened.map(({ options: { name, mfa } }) => ({
      name: `provider:${name}`,
      amr: mfa === undefined ? [] : ['mfa'],
      isOffered: () => true,
    })),
    letsIn: () => true,
    routes: (registration) =>
      opened.flatMap((provider) =>
        providerRoutes(registration, cookies as CookieSettings, provider),
      ),
    ready() {
      for (const provider of opened) void provider.begin()
    },
    stop() {
      for (const provider of opened) provider.stop()
    },
    testing: new Map(
      opened.map((provider) => {
        const { name } = provider.options
        return [name, { provider, path: urlOf(app, belowLogin(path, name)) }]
      }),
    ) satisfies LoginWithTesting,
  }
}

function apiOf(provider: Provider): LoginProvider {
  return {
    async logoutUrl({ returnTo } = {}) {
      const { end_session_endpoint: endSession } = await provider.metadata()
      if (!endSession) return null
      const url = new URL(endSession)
      url.searchParams.set('client_id', provider.options.clientId)
      if (returnTo !== undefined) url.searchParams.set('post_logout_redirect_uri', returnTo)
      return url.href
    },
  }
}
