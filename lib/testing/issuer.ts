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
  epochSeconds,
  type Material,
  type TokenContent,
} from './forge.js'
import type { IssuersTesting } from '../issuers/feature.js'
import type { ResolvedIssuer } from '../issuers/options.js'
import type { SigningMethod } from '../../types/jwt.js'

/** The name of the one key in the key set that takes the place of an issuer's. */
const kid = 'fastify-authn-testing'

/** A good token of an issuer, whose key set is one of the test kit from then on. @throws ERR_AUTH_TESTING */
export function issuerMaterial(
  app: object,
  name: string,
  content: TokenContent,
  caller: string,
): Material {
  if (isProduction()) {
    testingError(`${caller}: replaces the keys of an issuer, which is not possible in production.`)
  }
  const testing = testingOf<IssuersTesting>(app as FastifyInstance, 'issuers')
  let method: SigningMethod = content.algorithm ?? 'RS256'
  const issuer = testing?.replaceKeys(name, ({ algorithms }) => {
    method = content.algorithm ?? algorithms?.[0] ?? 'RS256'
    if (algorithmOf(method).family === 'secret') {
      testingError(
        `${caller}: found the algorithm ${method}, but issuers never sign with a secret.`,
      )
    }
    const jwk = keyOf('issuer', method).publicKey.export({ format: 'jwk' })
    return { keys: [{ ...jwk, kid, alg: method, use: 'sig' }] }
  })
  if (issuer === undefined) {
    return testingError(
      `${caller}: found no issuer ${JSON.stringify(name)}. Await app.ready() first; the name is the one in the option "issuers" (of a registration in an inner scope: pass that scope instead of the app).`,
    )
  }
  return tokenOf(issuer, method, content)
}

function tokenOf(issuer: ResolvedIssuer, method: SigningMethod, content: TokenContent): Material {
  const [audience] = issuer.audience
  const claims = {
    iss: issuer.issuer,
    ...(issuer.audienceClaim === 'aud'
      ? { aud: audience }
      : { client_id: audience, token_use: 'access' }),
    iat: epochSeconds(),
    exp: epochSeconds() + 300,
    ...askedClaimsOf(content),
  }
  const { privateKey: key, publicKey } = keyOf('issuer', method)
  const typ = content.typ ?? (issuer.rules.typ.has('jwt') ? undefined : 'at+jwt')
  const like = { method, kid, typ }
  const token = forge(headerLike(like), claims, method, key)
  return { ...like, claims, claimName: 'sub', token, key, publicKey }
}
