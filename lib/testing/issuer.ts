import type { FastifyInstance } from 'fastify'
import { algorithmOf } from '../common/algorithms.js'
import { isProduction } from '../common/production.js'
import { testingOf } from './plugin.js'
import { testingError } from './error.js'
import {
  askedClaimsOf,
  forge,
  headerLike,
  keyOf,
  keySetOf,
  kid,
  epochSeconds,
  type Material,
  type TokenContent,
} from './forge.js'
import { createEngine } from '../tokens/engine.js'
import type { Fetch } from '../http/fetch.js'
import type { IssuersTesting } from '../issuers/feature.js'
import type { ResolvedIssuer } from '../issuers/options.js'
import type { SigningMethod } from '../../types/jwt.js'

/** The answers of all issuers about opaque tokens of the test kit. They know no others. */
export const answers = new Map<string, object>()

/** Answers in place of an issuer, which also knows the JWTs of its key. */
function answerOf(token: string, method: SigningMethod): object {
  const pem = keyOf('issuer', method).publicKey.export({ type: 'spki', format: 'pem' })
  try {
    const { verify } = createEngine({ verify: pem }, method)
    return answers.get(token) ?? { active: true, ...verify(token).claims }
  } catch {
    return { active: false }
  }
}

/** A good token of an issuer, whose server is not asked any more. @throws ERR_AUTH_TESTING */
export function issuerMaterial(
  app: object,
  name: string,
  content: TokenContent,
  caller: string,
): Material {
  const { issuer, method } = replacedIssuer(app, name, content, caller)
  const claims = claimsOf(issuer, content)
  const { privateKey: key, publicKey } = keyOf('issuer', method)
  const typ = content.typ ?? (issuer.rules.typ.has('jwt') ? undefined : 'at+jwt')
  const like = { method, kid, typ }
  const token = forge(headerLike(like), claims, method, key)
  return { ...like, claims, claimName: 'sub', token, key, publicKey }
}

/** An issuer with one key of the test kit, and with {@link answers}. @throws ERR_AUTH_TESTING */
export function replacedIssuer(
  app: object,
  name: string,
  content: TokenContent,
  caller: string,
): { readonly issuer: ResolvedIssuer; readonly method: SigningMethod } {
  if (isProduction()) {
    testingError(`${caller}: replaces the keys of an issuer, which is not possible in production.`)
  }
  const testing = testingOf<IssuersTesting>(app as FastifyInstance, 'issuers')
  let method: SigningMethod = content.algorithm ?? 'RS256'
  const makeKeys = ({ algorithms }: ResolvedIssuer): object => {
    method = content.algorithm ?? algorithms?.[0] ?? 'RS256'
    if (algorithmOf(method).family === 'secret') {
      testingError(
        `${caller}: found the algorithm ${method}, but issuers never sign with a secret.`,
      )
    }
    return keySetOf(method)
  }
  const send: Fetch = async (_, { body }) =>
    Response.json(answerOf(String((body as URLSearchParams).get('token')), method))
  const issuer = testing?.replace(name, makeKeys, send)
  if (issuer === undefined) {
    return testingError(
      `${caller}: found no issuer ${JSON.stringify(name)}. Await app.ready() first; the name is the one in the option "issuers" (of a registration in an inner scope: pass that scope instead of the app).`,
    )
  }
  return { issuer, method }
}

export function claimsOf(issuer: ResolvedIssuer, content: TokenContent): Record<string, unknown> {
  const [audience] = issuer.audience
  return {
    iss: issuer.issuer,
    ...(issuer.audienceClaim === 'aud'
      ? { aud: audience }
      : { client_id: audience, token_use: 'access' }),
    iat: epochSeconds(),
    exp: epochSeconds() + 300,
    ...askedClaimsOf(content),
  }
}
