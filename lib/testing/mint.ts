import { brokenTokens, type BrokenToken } from './broken.js'
import { misuse } from './error.js'
import { issuerMaterial } from './issuer.js'
import { materialOf, serviceOf, type TokenApp } from './material.js'
import type { SigningMethod } from '../../types/jwt.js'

/** A token for a test. */
export interface MintOptions {
  /** The claim `sub`. If the app names users by another claim, leave it out and give that one in `claims`. */
  readonly sub?: string | number | undefined
  /** Seconds from now until `exp`; negative for an expired token. Default: `jwt.expiry`. */
  readonly expiresIn?: number | undefined
  /** Seconds from now until `nbf`. Default 0. */
  readonly notBefore?: number | undefined
  /** Default: `jwt.signingMethod`. */
  readonly algorithm?: SigningMethod | undefined
  /** What the token is for: the header's `typ`. Default `JWT`. */
  readonly typ?: string | undefined
  /** More claims. Default: those of every token of the app. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined
  /**
   * The name of an issuer in the option `issuers`: the token is one of its own. A key set of the test kit is put in the
   * place of the issuer's for as long as the app lives, and nothing is fetched any more. Default: a token of the app.
   */
  readonly issuer?: string | undefined
  /** The one fault that the token has. Default: none. */
  readonly broken?: BrokenToken | undefined
}

/**
 * Makes a token of the app, signed with the app's keys. With `broken`, it has one fault and is good otherwise.
 *
 * @param app - the app, after `ready()`; or the inner scope in which the plugin is registered
 * @throws ERR_AUTH_TESTING when the app has no tokens, or lacks the key for this one; ERR_AUTH_KEY,
 * ERR_AUTH_CLAIMS and ERR_AUTH_OPTION as `jwtService` does
 *
 * @example
 * const headers = { authorization: `Bearer ${mintToken(app, { sub: 'alice', broken: 'expired' })}` }
 */
export function mintToken(app: TokenApp, options: MintOptions): string {
  const { broken, algorithm, claims, sub } = options
  if (sub === undefined && claims === undefined) {
    misuse('mintToken: expected "sub" or "claims", to say whose token it is.')
  }
  const material =
    options.issuer === undefined
      ? materialOf(app, options, 'mintToken')
      : issuerMaterial(app, options.issuer, options, 'mintToken')
  if (broken === undefined) {
    // Without a signing key the service throws an error that says what is missing.
    return material.token ?? serviceOf(app, 'mintToken').generateTokenWithClaims({ sub }, algorithm)
  }
  const row = brokenTokens[broken] ?? unknown(broken)
  const { needs } = row
  if (needs !== undefined && material[needs] === undefined) missing(broken, needs, material.method)
  return row.make(material)
}

function unknown(broken: string): never {
  return misuse(
    `mintToken: found broken: ${JSON.stringify(broken)}, expected one of ${Object.keys(brokenTokens).join(', ')}.`,
  )
}

function missing(broken: string, needs: string, method: string): never {
  const remedy =
    needs === 'publicKey'
      ? 'HMAC has none: give an algorithm with a key pair, or leave this case out.'
      : 'Configure a signing key for the test.'
  const what = needs === 'publicKey' ? 'a public key' : 'the key that signs'
  misuse(
    `mintToken: broken: "${broken}" takes ${what}, and the app has none for ${method}. ${remedy}`,
  )
}
