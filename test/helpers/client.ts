import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import { bearer } from './app.js'
import { cookiesOf } from './cookies.js'
import type { AnyResponse } from './flows.js'

export type Headers = Record<string, string>

/** What a login answers, or a part of it. */
export interface LoginAnswer {
  readonly token: string
  readonly recoveryCodes: string[]
  readonly secondFactor: { readonly token: string; readonly expiresIn: number }
}

export interface Client {
  post(url: string, body?: object | string, headers?: Headers): Promise<LightMyRequestResponse>
  /** Sends a request. @returns {@link answerOf} its response */
  send(url: string, body?: object | string, headers?: Headers): Promise<string>
  /** The same, from another address. */
  from(ip: string, url: string, body?: object, headers?: Headers): Promise<string>
  /** The status of the protected route `/me`. */
  me(headers: Headers): Promise<number>
}

/** What clients of an app do. */
export function clientOver(app: FastifyInstance): Client {
  const post: Client['post'] = (url, body, headers = {}) =>
    app.inject({ method: 'POST', url, headers, ...(body !== undefined && { payload: body }) })
  return {
    post,
    send: async (...request) => answerOf(await post(...request)),
    from: async (remoteAddress, url, payload = {}, headers = {}) =>
      answerOf(await app.inject({ method: 'POST', url, payload, headers, remoteAddress })),
    me: async (headers) => (await app.inject({ url: '/me', headers })).statusCode,
  }
}

export const bodyOf = (response: AnyResponse): LoginAnswer =>
  JSON.parse(response.body) as LoginAnswer

/** What a response says: its status, and of its body the code of the error, `code` where it asks for one, or `tokens`. */
export function answerOf(response: AnyResponse): string {
  const { statusCode, body } = response
  if (body === '') return String(statusCode)
  const { code, token, secondFactor } = bodyOf(response) as LoginAnswer & { code?: string }
  return `${statusCode} ${code ?? (secondFactor ? 'code' : token ? 'tokens' : body)}`
}

/** The header `Cookie` of a browser that has got this response. */
export const cookieOf = (response: AnyResponse): string =>
  cookiesOf(response)
    .flatMap(({ name, value }) => (value === '' ? [] : [`${name}=${value}`]))
    .join('; ')

/** The header of the session that a response begins. */
export function sessionOf(response: AnyResponse): Headers {
  const cookie = cookieOf(response)
  return cookie ? { cookie } : bearer(bodyOf(response).token)
}
