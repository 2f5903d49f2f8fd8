import type { FastifyServerOptions } from 'fastify'
import type { Test } from 'tap'
import { appWith, logLines, standardOptions, type TestApp } from './app.js'
import { cookieOf } from './client.js'
import { tls } from './cookies.js'
import type { AuthnOptions, LoginProviderOptions, OAuth2Options } from '../../lib/index.js'
import type { AnyResponse } from './flows.js'
import type { TestProvider } from './provider.js'

export { cookieOf as jarOf } from './client.js'

export const clientSecret = 'a secret: +/%&=? of the client'

/** Parameters of an authorization request that the plugin sets. */
export const reserved =
  'response_type response_mode client_id redirect_uri scope state nonce code_challenge code_challenge_method request request_uri'.split(
    ' ',
  )

/** An entry for the same provider without ID tokens. @param oauth2 - members in place of the good ones */
export const oauth2Entry = (
  { url }: Pick<TestProvider, 'url'>,
  oauth2: Partial<OAuth2Options> = {},
  more: Partial<LoginProviderOptions> = {},
): LoginProviderOptions & { oauth2: OAuth2Options } => ({
  issuer: url,
  clientId: 'shop',
  clientSecret,
  username: ({ sub }) => sub,
  ...more,
  oauth2: {
    authorizationEndpoint: `${url}/authorize?tenant=one`,
    tokenEndpoint: `${url}/token`,
    scope: 'profile user:email',
    profile: (get) => get(`${url}/userinfo`),
    ...oauth2,
  },
})

/** A browser that has begun to log in. */
export interface Begun {
  readonly response: AnyResponse
  /** The parameters of the authorization request. */
  readonly sent: URLSearchParams
  /** The cookie of the attempt, for the header `Cookie`. */
  readonly cookie: string
  /** Where the provider leads the browser back to. */
  readonly callback: URL
}

/** What a rejection or an error was logged with. */
type Logged = Readonly<Record<'code' | 'reason' | 'provider', string | undefined>>

export type LoginApp = Awaited<ReturnType<typeof loginApp>>

/** Whether a line `Set-Cookie` is of an attempt. */
export const isAttempt = (line: string): boolean => line.startsWith('__Host-login-')

/** An app behind a proxy that terminates TLS, whose users log in with a provider. */
export async function loginApp(
  t: Test,
  provider: TestProvider,
  more: Partial<LoginProviderOptions> = {},
  options: Partial<AuthnOptions> = {},
  server: FastifyServerOptions = {},
  declare: (app: TestApp) => unknown = () => undefined,
) {
  const { lines, stream } = logLines()
  const corp: LoginProviderOptions = {
    issuer: provider.url,
    clientId: 'shop',
    clientSecret,
    username: ({ sub }) => sub,
    ...more,
  }
  const app = await appWith(
    t,
    { ...standardOptions(), sessions: true, cookies: true, loginWith: { corp }, ...options },
    (scope) => {
      scope.get('/me', { config: { auth: true } }, ({ user }) => user)
      return declare(scope)
    },
    { trustProxy: true, logger: { stream }, ...server },
  )
  const get = (url: string, cookie = ''): Promise<AnyResponse> =>
    app.inject({ url, headers: { ...tls, ...(cookie !== '' && { cookie }) } })
  const begin = async (query = ''): Promise<Begun> => {
    const response = await get(`/login/corp${query}`)
    if (response.statusCode !== 303) throw new Error(`${response.statusCode}: ${response.body}`)
    const location = new URL(String(response.headers.location))
    const callback = provider.visit(location)
    return { response, sent: location.searchParams, cookie: cookieOf(response), callback }
  }
  /** @param change - of the parameters of the callback */
  const finish = (
    { callback, cookie }: Begun,
    change: (parameters: URLSearchParams) => unknown = () => undefined,
  ): Promise<AnyResponse> => {
    const parameters = new URLSearchParams(callback.search)
    change(parameters)
    return get(`${callback.pathname}?${parameters.toString()}`, cookie)
  }
  return {
    app,
    /** All that was logged. */
    lines,
    get,
    begin,
    finish,
    logIn: async (query?: string): Promise<AnyResponse> => finish(await begin(query)),
    /** The last rejection or error since the last call. */
    last(): Logged {
      const [line] = lines
        .splice(0)
        .filter(({ msg, err }) => msg === 'Request rejected' || err)
        .slice(-1)
      const { code, reason, provider } = (line?.err ?? line ?? {}) as Logged
      return { code, reason, provider }
    },
  }
}
