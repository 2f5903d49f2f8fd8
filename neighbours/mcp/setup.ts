// The MCP server of neighbours/mcp behind a proxy, its authorization server, and what clients of both SDKs keep.

import { once } from 'node:events'
import { createServer, request as requestTo } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { OAuthClientProvider } from '@modelcontextprotocol/client'
import type { FastifyInstance } from 'fastify'
import type { ClientMetadata } from 'oidc-provider'
import type { TestContext } from 'node:test'
import { buildApp } from './app.js'
import { startAuthorizationServer } from './authorization-server.js'
import type { Notes } from './notes.js'
import { visitor } from '../../test/helpers/openid-provider.js'

export type Tokens = 'jwt' | 'opaque'

const secret = 'a secret of the test, which is long'
const machine = (id: string): ClientMetadata => ({
  client_id: id,
  client_secret: secret,
  grant_types: ['client_credentials'],
  response_types: [],
  redirect_uris: [],
})
/** A client for client credentials. */
export const robot = { clientId: 'robot', clientSecret: secret }
const api = { clientId: 'notes-api', clientSecret: secret }

export interface Running {
  readonly app: FastifyInstance
  /** The identifier of the resource: the address of the endpoint at the proxy. */
  readonly url: URL
  readonly issuer: string
  /** Requests that the proxy has passed on, such as `POST /mcp 401`. */
  readonly log: string[]
  readonly notes: ReadonlyMap<string, Notes>
  /** An access token by client credentials. */
  token(scope: string, resource?: string): Promise<string>
  revoke(token: string): Promise<void>
  /** Where a client that knows nothing of tokens finds the endpoint: a proxy adds this one. */
  withToken(token: string): Promise<URL>
}

/** Each test has a server, whose users have two notes, and an authorization server of its own. */
export async function setUp(t: TestContext, tokens: Tokens = 'jwt'): Promise<Running> {
  // The provider and the newest client write advice for their developers, such as to use https.
  for (const name of ['info', 'warn'] as const) t.mock.method(console, name, () => undefined)
  const clients = [machine(robot.clientId), machine(api.clientId)]
  const { issuer, close } = await startAuthorizationServer({ tokens, clients })
  t.after(close)
  const proxy = await startProxy(t)
  const url = new URL('/mcp', proxy.origin)
  const notes = new Map<string, Notes>()
  const app = await buildApp({
    identifier: url.href,
    issuer,
    ...(tokens === 'opaque' && { introspection: { ...api, cache: 0, optionalClaims: ['sub'] } }),
    origins: ['https://app.example', 'http://localhost'],
    notesOf(name) {
      const known = notes.get(name) ?? new Map([1, 2].map((id) => [String(id), `of ${name}`]))
      notes.set(name, known)
      return known
    },
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.after(() => app.close())
  const { port } = app.server.address() as AddressInfo
  proxy.target(port)
  const post = (path: string, words: Record<string, string>): Promise<Response> => {
    const headers = { authorization: `Basic ${btoa(`robot:${encodeURIComponent(secret)}`)}` }
    return fetch(`${issuer}${path}`, { method: 'POST', headers, body: new URLSearchParams(words) })
  }
  return {
    app,
    url,
    issuer,
    log: proxy.log,
    notes,
    async token(scope, resource = url.href) {
      const words = { grant_type: 'client_credentials', scope, resource }
      const { access_token: token } = (await (await post('/token', words)).json()) as {
        access_token: string
      }
      return token
    },
    async revoke(token) {
      await post('/token/revocation', { token })
    },
    async withToken(token) {
      const open = await startProxy(t, { authorization: `Bearer ${token}` })
      open.target(port)
      return new URL('/mcp', open.origin)
    },
  }
}

/** Passes requests on under another `Host`, as a proxy in front of an app may. */
async function startProxy(t: TestContext, more?: { authorization: string }) {
  const log: string[] = []
  let port = 0
  const server = createServer((request, response) => {
    const { method, url: path, headers } = request
    const onward = requestTo({
      host: '127.0.0.1',
      port,
      method,
      path,
      headers: { ...headers, host: 'app.internal', ...more },
    })
    onward.on('response', (answer) => {
      log.push(`${method} ${path} ${answer.statusCode}`)
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
      answer.pipe(response)
    })
    onward.on('error', () => response.destroy())
    response.on('close', () => onward.destroy())
    request.pipe(onward)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    log,
    target: (to: number): void => void (port = to),
  }
}

/** What a client keeps, and a person at its browser. Both SDKs accept it. */
export interface Person extends OAuthClientProvider {
  /** Where the client has sent the browser. */
  readonly asked: URL[]
  /** Logs in and agrees; resolves with the parameters of the callback. */
  agree(who: string): Promise<URLSearchParams>
}

/** A client that registers itself. */
export function person(): Person {
  const kept = new Map<string, unknown>()
  const browser = visitor()
  const asked: URL[] = []
  return {
    asked,
    redirectUrl: 'http://127.0.0.1:1/callback',
    clientMetadata: {
      client_name: 'Agent',
      redirect_uris: ['http://127.0.0.1:1/callback'],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code'],
      response_types: ['code'],
    },
    clientInformation: () => kept.get('client') as { client_id: string },
    saveClientInformation: (client) => void kept.set('client', client),
    tokens: () => kept.get('tokens') as { access_token: string; token_type: string },
    saveTokens: (tokens) => void kept.set('tokens', tokens),
    codeVerifier: () => kept.get('verifier') as string,
    saveCodeVerifier: (verifier) => void kept.set('verifier', verifier),
    redirectToAuthorization: (url) => void asked.push(url),
    async agree(who) {
      const callback = await browser.choose(String(asked.at(-1)), who)
      return new URL(callback).searchParams
    },
  }
}
