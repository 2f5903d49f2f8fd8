import { wrongOption } from '../errors/errors.js'
import { urlOf } from '../login/plugin-routes.js'
import { wantedLogin } from '../login/route.js'
import { resolveProvider, type ResolvedProvider } from './options.js'
import { Provider } from './provider.js'
import { providerRoutes } from './routes.js'
import type { Feature, FeatureContext } from '../feature.js'
import type { Send } from '../http/fetch.js'
import type { LoginProvider, LoginProviderOptions } from '../../types/login-with.js'

export { schema } from './options.js'

interface Resolved {
  readonly client: Provider['client']
  readonly providers: readonly ResolvedProvider[]
}

/** @throws (rejects) ERR_AUTH_OPTION */
export async function resolve(
  given: Readonly<Record<string, LoginProviderOptions>>,
): Promise<Resolved> {
  const providers = Object.entries(given).map(([name, each]) => resolveProvider(name, each))
  const client: Partial<Provider['client']> = await import('openid-client').catch(
    (error: unknown) =>
      wrongOption(
        'option "loginWith" needs the package openid-client, which could not be loaded: npm install openid-client@6. It needs Node.js 20.19, 22.12 or newer.',
        error,
      ),
  )
  if (client.Configuration === undefined || client.enableNonRepudiationChecks === undefined) {
    wrongOption('option "loginWith" needs version 6 of openid-client: npm install openid-client@6.')
  }
  return { client: client as Provider['client'], providers }
}

/** For the test kit. */
export interface LoginWithTesting {
  /**
   * Answers the requests to a provider in its place.
   *
   * @param make - gets the issuer
   * @returns the address of the start; undefined where there is no provider of this name
   */
  play(name: string, make: (issuer: string) => Send): string | undefined
}

/** The option `loginWith`: sign-in with OpenID providers. @throws ERR_AUTH_OPTION */
export function create({ resolved, options, log }: FeatureContext<Resolved>): Feature {
  const { sessions, cookies, userService, login } = options
  for (const [name, value] of Object.entries({ sessions, cookies, userService })) {
    if (value !== undefined && value !== false) continue
    stop(
      `the option "${name}" is missing, which says where users, sessions and tokens are. Set it.`,
    )
  }
  if (login === false) {
    stop(
      '"login" is false. To leave out the login with a password alone, write login: { passwords: false }.',
    )
  }
  const opened = resolved.providers.map((each) => new Provider(each, resolved.client, log))
  const paths = new Map<string, string>()
  return {
    name: 'loginWith',
    api: Object.fromEntries(opened.map((each) => [each.options.name, apiOf(each)])),
    routes(registration) {
      const wanted = wantedLogin(registration)
      if (wanted === null) return stop('there is no key that signs tokens: set "jwt".')
      const jar = cookies === true ? {} : (cookies ?? {})
      return opened.flatMap((provider) => {
        const routes = providerRoutes(registration, wanted, jar, provider)
        paths.set(provider.options.name, urlOf(registration.app, String(routes[0]?.path)))
        return routes
      })
    },
    ready() {
      for (const provider of opened) void provider.begin()
    },
    stop() {
      for (const provider of opened) provider.stop()
    },
    testing: {
      play(name, make) {
        const provider = opened.find((each) => each.options.name === name)
        provider?.replace(make(provider.options.issuer))
        return paths.get(name)
      },
    } satisfies LoginWithTesting,
  }
}

function apiOf(provider: Provider): LoginProvider {
  return {
    async logoutUrl({ returnTo } = {}) {
      const { end_session_endpoint: endSession } = await provider.metadata()
      if (endSession === undefined) return null
      const url = new URL(endSession)
      url.searchParams.set('client_id', provider.options.clientId)
      if (returnTo !== undefined) url.searchParams.set('post_logout_redirect_uri', returnTo)
      return url.href
    },
  }
}

function stop(problem: string): never {
  wrongOption(`option "loginWith" is set, but ${problem}`)
}
