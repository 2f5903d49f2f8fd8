import type { OutgoingHttpHeaders } from 'node:http'
import type { Test } from 'tap'
import type { AuthnOptions } from '../../lib/index.js'
import { appWith, passwords, standardOptions } from './app.js'
import { probe, type AnyResponse } from './flows.js'

/** A cookie that a reply sets: its name, its value, and its attributes in lower case. */
export interface ReplyCookie {
  readonly name: string
  readonly value: string
  readonly attributes: Readonly<Record<string, string | true>>
}

/** The lines `Set-Cookie` of a reply. */
export function linesOf({ headers }: Pick<AnyResponse, 'headers'>): string[] {
  const lines = (headers as OutgoingHttpHeaders)['set-cookie'] ?? []
  return [lines].flat().map(String)
}

/** The cookies that a reply sets. */
export function cookiesOf(response: Pick<AnyResponse, 'headers'>): ReplyCookie[] {
  return linesOf(response).map((line) => {
    const [pair = '', ...rest] = line.split('; ')
    const equals = pair.indexOf('=')
    const attributes = rest.map((each): [string, string | true] => {
      const [key = '', value] = each.split('=')
      return [key.toLowerCase(), value ?? true]
    })
    return {
      name: pair.slice(0, equals),
      value: pair.slice(equals + 1),
      attributes: Object.fromEntries(attributes),
    }
  })
}

/** Headers of a proxy that terminates TLS. */
export const tls = { host: 'shop.example', 'x-forwarded-proto': 'https' }
export const crossSite = {
  status: 403,
  error: 'Requests from other sites are not accepted.',
  challenge: null,
}
const alice = { username: 'alice', password: passwords.alice }

/** An app with cookies behind a proxy that terminates TLS, and with the protected routes `/me` and `POST /notes`. */
export async function cookieApp(
  t: Test,
  options: Partial<AuthnOptions> = {},
  server: Parameters<typeof appWith>[3] = {},
) {
  const { handler, take } = probe()
  const config = { auth: true } as const
  const app = await appWith(
    t,
    { ...standardOptions(), cookies: true, ...options },
    (app) => {
      app.get('/me', { config }, handler)
      app.post('/notes', { config }, handler)
    },
    { trustProxy: true, ...server },
  )
  return {
    app,
    take,
    post: (url: string, headers: Record<string, string> = {}, payload?: object) =>
      app.inject({
        method: 'POST',
        url,
        headers: { ...tls, ...headers },
        ...(payload && { payload }),
      }),
    /** Logs alice in; by default over TLS. */
    login: (headers: Record<string, string> = tls, more: object = {}) =>
      app.inject({ method: 'POST', url: '/login', headers, payload: { ...alice, ...more } }),
    /** The status of `/me` with a token in its cookie. */
    async me(token: string) {
      const headers = { ...tls, cookie: `__Host-token=${token}` }
      return (await app.inject({ url: '/me', headers })).statusCode
    },
  }
}
