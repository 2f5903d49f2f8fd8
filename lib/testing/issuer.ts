import { randomBytes } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { algorithmOf } from '../common/algorithms.js'
import { isProduction } from '../common/production.js'
import { testingOf } from './plugin.js'
import { flawOf, testingError } from './error.js'
import {
  askedClaimsOf,
  forge,
  headerLike,
  keyOf,
  epochSeconds,
  type Material,
  type TokenContent,
} from './forge.js'
import { createEngine } from '../tokens/engine.js'
import type { Send } from '../http/fetch.js'
import type { AttackOptions } from './attack-options.js'
import type { Bad } from './broken.js'
import type { IssuersTesting } from '../issuers/feature.js'
import type { ResolvedIssuer } from '../issuers/options.js'
import type { SigningMethod } from '../../types/jwt.js'

/** The name of the one key in the key set that takes the place of an issuer's. */
const kid = 'fastify-authn-testing'

/** The answers of all issuers about opaque tokens of the test kit. They know no others. */
const answers = new Map<string, object>()

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
  return tokenOf(issuer, method, content)
}

/** The flaws of opaque tokens: what is changed of a good answer, or the token that the issuer does not know. */
const brokenOpaqueTokens = {
  unknown: null,
  expired: { exp: 1 },
  otherAudience: { aud: 'https://other.example', client_id: 'other' },
  bound: { cnf: { jkt: 'fastify-authn-testing' } },
  refresh: { typ: 'Refresh', token_type: undefined },
  oversized: {},
} satisfies Record<string, object | null>

/** Names of opaque tokens that must be rejected. Each has exactly one flaw. */
export type BrokenOpaqueToken = keyof typeof brokenOpaqueTokens

/** An opaque token of an issuer; null if it does not introspect. @throws ERR_AUTH_TESTING */
export function opaqueToken(
  app: object,
  name: string,
  content: TokenContent,
  caller: string,
  broken?: BrokenOpaqueToken,
): string | null {
  const { issuer } = replacedIssuer(app, name, content, caller)
  if (issuer.introspection === undefined) return null
  const flaw = broken === undefined ? {} : flawOf(brokenOpaqueTokens, broken, caller)
  const token = randomBytes(broken === 'oversized' ? 2049 : 24).toString('hex')
  const claims = { active: true, token_type: 'Bearer', ...claimsOf(issuer, content), ...flaw }
  if (flaw !== null) answers.set(token, claims)
  return token
}

/** All broken opaque tokens of the issuer of an attack; none if it does not introspect. */
export function badOpaqueTokens(app: object, options: AttackOptions): Bad[] {
  const { issuer, sub = 'alice', claims, algorithm } = options
  const content = { sub, claims, algorithm }
  return Object.keys(issuer === undefined ? {} : brokenOpaqueTokens).flatMap((flaw): Bad[] => {
    const broken = flaw as BrokenOpaqueToken
    const token = opaqueToken(app, String(issuer), content, 'authAttacks', broken)
    return token === null ? [] : [[`opaque, ${flaw}`, token]]
  })
}

/** An issuer with one key of the test kit, and with {@link answers}. @throws ERR_AUTH_TESTING */
function replacedIssuer(
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
    const jwk = keyOf('issuer', method).publicKey.export({ format: 'jwk' })
    return { keys: [{ ...jwk, kid, alg: method, use: 'sig' }] }
  }
  const send: Send = async (_, { body }) =>
    Response.json(answerOf(String((body as URLSearchParams).get('token')), method))
  const issuer = testing?.replace(name, makeKeys, send)
  if (issuer === undefined) {
    return testingError(
      `${caller}: found no issuer ${JSON.stringify(name)}. Await app.ready() first; the name is the one in the option "issuers" (of a registration in an inner scope: pass that scope instead of the app).`,
    )
  }
  return { issuer, method }
}

function claimsOf(issuer: ResolvedIssuer, content: TokenContent): Record<string, unknown> {
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

function tokenOf(issuer: ResolvedIssuer, method: SigningMethod, content: TokenContent): Material {
  const claims = claimsOf(issuer, content)
  const { privateKey: key, publicKey } = keyOf('issuer', method)
  const typ = content.typ ?? (issuer.rules.typ.has('jwt') ? undefined : 'at+jwt')
  const like = { method, kid, typ }
  const token = forge(headerLike(like), claims, method, key)
  return { ...like, claims, claimName: 'sub', token, key, publicKey }
}
