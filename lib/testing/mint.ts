import { didYouMean } from '../common/closest.js'
import { brokenTokens, needTexts, type BrokenToken } from './broken.js'
import { flawOf, testingError } from './error.js'
import { issuerMaterial } from './issuer.js'
import { opaqueToken, type BrokenOpaqueToken } from './opaque.js'
import type { TokenContent } from './forge.js'
import { materialOf, serviceOf } from './material.js'
import type { TokenApp } from './attack-options.js'

/** A token for a test. */
export interface MintOptions extends TokenContent {
  /**
   * The name of an issuer in the option `issuers`: the token is one of its own. A key set of the test kit is put in the
   * place of the issuer's for as long as the app lives, and nothing is fetched any more. Default: a token of the app.
   */
  readonly issuer?: string | undefined
  /** `true` makes an opaque token of that issuer, which has to have the option `introspection`. Default `false`. */
  readonly opaque?: boolean | undefined
  /** The one flaw that the token has. Opaque tokens and JWTs have different ones. Default: none. */
  readonly broken?: BrokenToken | BrokenOpaqueToken | undefined
}

const known = 'sub claims expiresIn notBefore algorithm typ issuer opaque broken'.split(' ')

/**
 * Makes a token of the app, signed with the app's keys. With `broken`, it has one flaw and is good otherwise.
 * @param app - the app, after `ready()`; or the inner scope in which the plugin is registered
 * @throws ERR_AUTH_TESTING when the app has no tokens, or lacks the key for this one; ERR_AUTH_KEY,
 * ERR_AUTH_CLAIMS and ERR_AUTH_OPTION as `jwtService` does
 * @example
 * const headers = { authorization: `Bearer ${mintToken(app, { sub: 'alice', broken: 'expired' })}` }
 */
export function mintToken(app: TokenApp, options: MintOptions): string {
  const { broken, algorithm, claims, sub, issuer, opaque } = options
  const unknown = Object.keys(options).find((name) => !known.includes(name))
  if (unknown !== undefined) {
    testingError(
      `mintToken: found ${JSON.stringify(unknown)}, expected ${known.join(', ')}.${didYouMean(unknown, known)} Other claims go into "claims".`,
    )
  }
  if (sub === undefined && claims === undefined) {
    testingError('mintToken: expected "sub" or "claims", which say whose token it is.')
  }
  if (opaque === true) {
    const flaw = broken as BrokenOpaqueToken
    const token = issuer === undefined ? null : opaqueToken(app, issuer, options, 'mintToken', flaw)
    if (token !== null) return token
    testingError(
      'mintToken: opaque: expected the name of an issuer with the option "introspection" in "issuer".',
    )
  }
  const material =
    issuer === undefined
      ? materialOf(app, options, 'mintToken')
      : issuerMaterial(app, issuer, options, 'mintToken')
  if (broken === undefined) {
    // Without a signing key the service throws an error that says what is missing.
    return material.token ?? serviceOf(app, 'mintToken').generateTokenWithClaims({ sub }, algorithm)
  }
  const { needs, make } = flawOf(brokenTokens, broken, 'mintToken')
  if (needs === undefined || material[needs] !== undefined) return make(material)
  return testingError(
    `mintToken: broken: "${broken}" needs ${needTexts[needs]}, and the app has none for ${material.method}. Configure one for the test, or leave this case out.`,
  )
}
