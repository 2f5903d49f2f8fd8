import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { appWith, bearer, type TestApp } from './app.js'
import { probe, type AnyResponse } from './flows.js'
import { audience, discoveryPath, startIssuer, type TestIssuer } from './issuer.js'
import { epochSeconds } from './tokens.js'
import type { FastifyServerOptions } from 'fastify'
import type { AuthnOptions, IntrospectionOptions, IssuerOptions } from '../../lib/index.js'

export const introspectionPath = '/introspect'
export const clientSecret = 'secret: of the test+ %'

/** A request of the plugin, as the server sees it. */
export interface Asked {
  readonly request: IncomingMessage
  readonly form: URLSearchParams
}

/** An issuer that is asked about tokens. */
export interface IntrospectingIssuer extends TestIssuer {
  /** What it was asked. */
  readonly forms: Asked[]
  /** Its answers by token; it knows no others. */
  readonly known: Map<string, unknown>
  /** Answers in place of the good one. */
  misbehave: ((response: ServerResponse, asked: Asked) => unknown) | null
  /** A good answer for Alice. */
  active(more?: object): Record<string, unknown>
}

export async function startIntrospection(t: Test): Promise<IntrospectingIssuer> {
  const issuer = await startIssuer(t)
  const forms: Asked[] = []
  const known = new Map<string, unknown>()
  const whole: IntrospectingIssuer = Object.assign(issuer, {
    forms,
    known,
    misbehave: null,
    active: (more: object = {}) => ({
      active: true,
      iss: issuer.url,
      aud: audience,
      sub: 'alice',
      exp: epochSeconds() + 300,
      token_type: 'Bearer',
      ...more,
    }),
  })
  const metadata = {
    issuer: issuer.url,
    jwks_uri: `${issuer.url}/keys`,
    introspection_endpoint: `${issuer.url}${introspectionPath}`,
  }
  issuer.answers.set(discoveryPath, (response) => response.end(JSON.stringify(metadata)))
  issuer.answers.set(introspectionPath, async (response, request) => {
    const asked = { request, form: new URLSearchParams(await text(request)) }
    forms.push(asked)
    const good = known.get(String(asked.form.get('token'))) ?? { active: false }
    const answer = whole.misbehave ?? answering(JSON.stringify(good))
    answer(response, asked)
  })
  return whole
}

/** An answer as it stands, in place of the good ones. */
export const answering =
  (body: string | Buffer, status = 200, headers: Record<string, string> = {}) =>
  (response: ServerResponse): unknown =>
    response.writeHead(status, headers).end(body)

/** An app that asks the issuer about tokens. @param more - of the option `introspection` */
export async function introspectingApp(
  t: Test,
  issuer: TestIssuer,
  more: Partial<IntrospectionOptions> = {},
  issuerOptions: Partial<IssuerOptions> = {},
  options: AuthnOptions = {},
  server: FastifyServerOptions = {},
) {
  const { handler } = probe()
  const introspection = { clientId: 'notes api', clientSecret, ...more }
  const corp = issuer.options({ introspection, ...issuerOptions })
  const app = await appWith(
    t,
    { issuers: { corp }, ...options },
    (app) => {
      app.get('/', { config: { auth: { use: 'corp' } } }, handler)
      app.get('/notes', { config: { auth: { use: 'corp', scope: 'notes:read' } } }, handler)
      app.get('/claims', { config: { auth: { use: 'corp', mode: 'try' } } }, ({ extra }) => extra)
      app.get('/optional', { config: { auth: { use: 'corp', mode: 'optional' } } }, handler)
    },
    server,
  )
  const get = (token: string, url = '/') => app.inject({ url, headers: bearer(token) })
  return { app, get }
}

/** Sends tokens from many addresses. */
export function strangers({ app }: { app: TestApp }): (token: string) => Promise<AnyResponse> {
  let last = 0
  return (token) => {
    last += 1
    return app.inject({ url: '/', headers: bearer(token), remoteAddress: `192.0.2.${last % 250}` })
  }
}
