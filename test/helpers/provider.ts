import { createHash, randomUUID, type KeyObject } from 'node:crypto'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { forge } from '../../lib/testing/forge.js'
import { discoveryPath, goodKey } from './issuer.js'
import { startServer } from './server.js'
import { epochSeconds, keys } from './tokens.js'
import type { SigningMethod } from '../../lib/index.js'

type Json = Record<string, unknown>
type Answer = (response: ServerResponse, asked: Asked) => void

/** A request to the provider. */
interface Asked {
  readonly path: string
  readonly method: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: URLSearchParams
}

/** What an ID token is made of; the default is a good one for Alice. */
interface IdTokenParts {
  readonly key?: KeyObject
  readonly alg?: SigningMethod
  readonly header?: object
  /** In place of the good ones; undefined leaves one out. */
  readonly claims?: Json
}

/** An OpenID provider on 127.0.0.1 that can be as bad as one likes. */
export interface TestProvider {
  readonly url: string
  readonly asked: Asked[]
  /** The paths that were asked for since the last call. */
  take(): string[]
  /** Answers in place of the good ones, by path. */
  readonly answers: Map<string, Answer>
  /** The keys that it publishes. */
  published: object[]
  /** Members of the metadata in place of the good ones; undefined leaves one out. */
  metadata: Json
  idToken: IdTokenParts | ((good: Json) => string)
  /** Members of the token response in place of the good ones. */
  response: Json
  userinfo: Json
  /** What a browser does at the authorization endpoint. @returns the address of the callback that it is led to */
  visit(authorization: URL): URL
  kill(): Promise<void>
  revive(): Promise<void>
}

/** An answer as JSON. */
export const json =
  (body: unknown, status = 200) =>
  (response: ServerResponse): void => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }

export async function startProvider(t: Test): Promise<TestProvider> {
  const asked: Asked[] = []
  const codes = new Map<string, URLSearchParams>()
  const metadataOf = (): Json => ({
    issuer: provider.url,
    authorization_endpoint: `${provider.url}/authorize?tenant=one`,
    token_endpoint: `${provider.url}/token`,
    jwks_uri: `${provider.url}/keys`,
    userinfo_endpoint: `${provider.url}/userinfo`,
    end_session_endpoint: `${provider.url}/logout`,
    id_token_signing_alg_values_supported: ['RS256', 'ES256', 'EdDSA', 'HS256', 'none'],
    ...provider.metadata,
  })
  const idTokenOf = (code: URLSearchParams): string => {
    const now = epochSeconds()
    const [aud, nonce] = [code.get('client_id'), code.get('nonce')]
    const user = { iss: provider.url, sub: 'alice', aud, nonce }
    const good = { ...user, exp: now + 300, iat: now, auth_time: now }
    if (typeof provider.idToken === 'function') return provider.idToken(good)
    const { key = keys.p256.privateKey, alg = 'ES256', header, claims } = provider.idToken
    return forge({ alg, kid: 'one', ...header }, { ...good, ...claims }, alg, key)
  }
  const tokens: Answer = (response, { body }) => {
    const code = codes.get(body.get('code') ?? '')
    const verifier = createHash('sha256').update(body.get('code_verifier') ?? '')
    // Without PKCE there is neither.
    const challenge = body.has('code_verifier') ? verifier.digest('base64url') : null
    const isGood =
      code?.get('code_challenge') === challenge &&
      code.get('redirect_uri') === body.get('redirect_uri')
    if (code === undefined || !isGood) return json({ error: 'invalid_grant' }, 400)(response)
    codes.delete(body.get('code') ?? '')
    const good = { access_token: 'an access token', token_type: 'Bearer' }
    json({ ...good, id_token: idTokenOf(code), ...provider.response })(response)
  }
  const answers: Record<string, Answer> = {
    [discoveryPath]: (response) => json(metadataOf())(response),
    '/keys': (response) => json({ keys: provider.published })(response),
    '/userinfo': (response) => json(provider.userinfo)(response),
    '/token': tokens,
  }
  const server = await startServer(t, async (request, response) => {
    const { url: path = '', method, headers } = request
    const body = new URLSearchParams(await text(request))
    const each = { path, method, headers, body }
    asked.push(each)
    const answer = provider.answers.get(path) ?? answers[path] ?? json({}, 404)
    answer(response, each)
  })
  const provider: TestProvider = {
    ...server,
    asked,
    take: () => asked.splice(0).map(({ path }) => path),
    answers: new Map(),
    published: [goodKey],
    metadata: {},
    idToken: {},
    response: {},
    userinfo: { sub: 'alice' },
    visit({ searchParams }) {
      const code = randomUUID()
      codes.set(code, searchParams)
      const callback = new URL(String(searchParams.get('redirect_uri')))
      callback.searchParams.set('code', code)
      callback.searchParams.set('state', String(searchParams.get('state')))
      return callback
    },
  }
  return provider
}
