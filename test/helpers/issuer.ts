import type { KeyObject, KeyPairKeyObjectResult } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Test } from 'tap'
import { forge } from '../../lib/testing/forge.js'
import { startServer } from './server.js'
import { keys, epochSeconds } from './tokens.js'
import type { IssuerOptions, SigningMethod } from '../../lib/index.js'

export const audience = 'https://api.example.com'
export const discoveryPath = '/.well-known/openid-configuration'
export const oauthPath = '/.well-known/oauth-authorization-server'
export const keysPath = '/keys'

type Answer = (response: ServerResponse, request: IncomingMessage) => unknown

/** What a token of an issuer is made of; the default is a good one for Alice. */
export interface TokenParts {
  readonly key?: KeyObject
  readonly alg?: SigningMethod
  readonly header?: object
  readonly claims?: object
}

/** An issuer on 127.0.0.1 that can be as bad as one likes. */
export interface TestIssuer {
  readonly url: string
  /** The paths that were asked for. */
  readonly asked: string[]
  readonly requests: IncomingMessage[]
  /** The keys that it publishes. */
  published: object[]
  /** Answers in place of the good one, by path. */
  readonly answers: Map<string, Answer>
  /** How often the key set was asked for. */
  fetches(): number
  token(parts?: TokenParts): string
  /** The options that accept its tokens. */
  options(more?: Partial<IssuerOptions>): IssuerOptions
  /** No connection is accepted any more. */
  kill(): Promise<void>
  /** On the same port again. */
  revive(): Promise<void>
}

/** A public JWK. */
export function jwkOf({ publicKey }: KeyPairKeyObjectResult, more: object): object {
  return { ...publicKey.export({ format: 'jwk' }), use: 'sig', ...more }
}

export const goodKey = jwkOf(keys.p256, { kid: 'one', alg: 'ES256' })

/** @param path - of the issuer */
export async function startIssuer(t: Test, path = ''): Promise<TestIssuer> {
  const asked: string[] = []
  const requests: IncomingMessage[] = []
  const answers = new Map<string, Answer>()
  const json = (response: ServerResponse, body: unknown): void => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(body))
  }
  const server = await startServer(t, (request, response) => {
    const { url = '' } = request
    asked.push(url)
    requests.push(request)
    const answer = answers.get(url)
    if (answer !== undefined) return void answer(response, request)
    if (url === `${path}${discoveryPath}`) {
      return json(response, { issuer: issuer.url, jwks_uri: `${server.url}${keysPath}` })
    }
    if (url === keysPath) return json(response, { keys: issuer.published })
    response.statusCode = 404
    response.end('nothing here')
  })
  const issuer: TestIssuer = {
    url: `${server.url}${path}`,
    asked,
    requests,
    published: [goodKey],
    answers,
    fetches: () => asked.filter((each) => each === keysPath).length,
    token: ({ key = keys.p256.privateKey, alg = 'ES256', header = {}, claims = {} } = {}) =>
      forge(
        { alg, kid: 'one', ...header },
        { iss: issuer.url, aud: audience, sub: 'alice', exp: epochSeconds() + 300, ...claims },
        alg,
        key,
      ),
    options: (more = {}) => ({
      issuer: issuer.url,
      audience,
      user: ({ sub }) => ({ name: sub }),
      ...more,
    }),
    kill: server.kill,
    revive: server.revive,
  }
  return issuer
}
