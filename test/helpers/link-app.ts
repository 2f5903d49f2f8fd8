import { createHash } from 'node:crypto'
import type { FastifyServerOptions } from 'fastify'
import type { Test } from 'tap'
import { passwords, type TestApp } from './app.js'
import { linesOf, tls } from './cookies.js'
import { isAttempt, jarOf, loginApp, type Begun } from './login-app.js'
import { epochSeconds } from './tokens.js'
import type { AnyResponse } from './flows.js'
import type { TestProvider } from './provider.js'
import type { AuthnOptions, LoginProviderOptions } from '../../lib/index.js'

type Name = 'alice' | 'bob'

/** A browser that has begun to link, with the cookies of the session and of the attempt. */
export interface BegunLink extends Begun {
  /** The cookie of the attempt. */
  readonly attempt: string
}

export type LinkApp = Awaited<ReturnType<typeof linkApp>>

/** An app as that of {@link loginApp}, whose users can link accounts of the provider. */
export async function linkApp(
  t: Test,
  provider: TestProvider,
  more: Partial<LoginProviderOptions> = {},
  options: Partial<AuthnOptions> = {},
  server: FastifyServerOptions = {},
  declare: (app: TestApp) => unknown = () => undefined,
) {
  /** Who has which account of the provider, by `iss` and `sub`: what an app has in a table. */
  const owners = new Map<string, string>()
  const link: LoginProviderOptions['link'] = ({ iss, sub }, user) => {
    const { name } = user as { name: string }
    const key = `${iss} ${sub}`
    const owner = owners.get(key) ?? name
    owners.set(key, owner)
    return owner === name
  }
  const base = await loginApp(t, provider, { link, ...more }, options, server, declare)
  const post = (url: string, cookie: string, body?: object, headers: object = {}) =>
    base.app.inject({
      method: 'POST',
      url,
      headers: { ...tls, ...(cookie !== '' && { cookie }), ...headers },
      ...(body && { payload: body }),
    })
  /** Begins to link in a session. @param path - where logins with the provider begin */
  const beginLink = async (
    session: string,
    body?: object,
    path = '/login/corp',
  ): Promise<BegunLink> => {
    const response = await post(`${path}/link`, session, body)
    if (response.statusCode !== 200) throw new Error(`${response.statusCode}: ${response.body}`)
    const { location } = JSON.parse(response.body) as { location: string }
    const attempt = jarOf(response)
    const { searchParams: sent } = new URL(location)
    const callback = provider.visit(new URL(location))
    return { response, attempt, cookie: `${session}; ${attempt}`, callback, sent }
  }
  return {
    ...base,
    owners,
    /** Logs in with a password. @returns the cookies of the session */
    async enter(name: Name = 'alice') {
      return jarOf(await post('/login', '', { username: name, password: passwords[name] }))
    },
    post,
    beginLink,
    /** A whole link. */
    link: async (session: string, body?: object) => {
      const { callback, cookie } = await beginLink(session, body)
      return base.get(callback.pathname + callback.search, cookie)
    },
  }
}

/** Whether a response sets no cookie but to clear that of its attempt. */
export function keepsCookies(response: AnyResponse): boolean {
  return linesOf(response).every((line) => isAttempt(line) && line.includes('Max-Age=0'))
}

/** The value of an attempt, without its name. */
export const valueOf = (attempt: string): string => attempt.slice(attempt.indexOf('=') + 1)

/** The token of an attempt. */
export const tokenOf = (attempt: string): string => valueOf(attempt).split('.').slice(4).join('.')

/** The parts of an attempt that a browser has made. */
export interface MadeAttempt {
  /** Where it leads; empty for the default. */
  readonly returnTo?: string
  /** The token of a link. Default: none, so that it is one of a login. */
  readonly token?: string
  /** The name of the provider. Default: corp. */
  readonly name?: string
  readonly maxAge?: string
  /** Seconds until it expires. */
  readonly left?: number
}

/**
 * Makes an attempt as the plugin does, which anybody can read, and visits the provider with it.
 *
 * @param sent - the authorization request of another attempt
 */
export function forgeAttempt(
  provider: TestProvider,
  sent: URLSearchParams,
  { returnTo = '', token, name = 'corp', maxAge = '', left = 86_400 }: MadeAttempt = {},
): { readonly cookie: string; readonly callback: URL } {
  const bits = 'a'.repeat(43)
  const path = Buffer.from(returnTo).toString('base64url')
  const value = [bits, epochSeconds() + left, maxAge, path, token ?? []].flat().join('.')
  const digest = (text: string): string => createHash('sha256').update(text).digest('base64url')
  const secrets = createHash('sha512').update(bits).digest('base64url')
  const state = digest(`${name}\n${provider.url}\n${value}`)
  const own = { state, nonce: secrets.slice(0, 43), code_challenge: digest(secrets.slice(43)) }
  const query = new URLSearchParams({ ...Object.fromEntries(sent), ...own })
  const callback = provider.visit(new URL(`${provider.url}/authorize?${query.toString()}`))
  return { cookie: `__Host-login-${state.slice(0, 16)}=${value}`, callback }
}
