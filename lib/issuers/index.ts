import type { FastifyBaseLogger } from 'fastify'
import { kit } from '../common/kit.js'
import { defaults, filled, type ResolvedOptions } from '../options/resolve.js'
import { resolveIssuers } from '../options/resolve-issuers.js'
import { issuerAuthenticator } from './authenticator.js'
import { IssuerVerifier } from './verifier.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { IssuerStats } from '../../types/issuers.js'

const verifiers = new WeakMap<object, IssuerVerifier>()

kit.replaceKeys = (authenticator, makeKeys) => {
  const verifier = verifiers.get(authenticator)
  verifier?.source.replace(makeKeys(verifier.issuer))
  return verifier?.issuer
}

/** The issuers of one registration. */
export interface Issuers {
  readonly name: 'issuers'
  /** One for each issuer, by its name. */
  readonly authenticators: Readonly<Record<string, Authenticator>>
  /** Fetches the keys, without waiting for them. To be called when the app is ready. */
  start(): void
  stats(): Record<string, IssuerStats>
  /** Aborts fetches. To be called before the server closes, since requests may be waiting for them. */
  close(): void
}

/**
 * Makes the authenticators of the option `issuers`. Nothing is fetched yet.
 *
 * @param own - the issuer of the tokens that the app signs itself
 * @throws ERR_AUTH_OPTION
 */
export function openIssuers(
  options: ResolvedOptions,
  own: string | undefined,
  log: FastifyBaseLogger,
): Issuers {
  const taken = Object.keys(options.authenticators)
  const remember = options.jwt?.rememberTokens
  const cache = remember !== false && filled(defaults.rememberTokens, remember)
  const opened = resolveIssuers(options.issuers ?? {}, taken, own).map((issuer) => {
    const verifier = new IssuerVerifier(issuer, cache, log)
    const authenticator = issuerAuthenticator(verifier, options.userServiceTimeout)
    verifiers.set(authenticator, verifier)
    return { name: issuer.name, authenticator, source: verifier.source }
  })
  return {
    name: 'issuers',
    authenticators: Object.fromEntries(
      opened.map(({ name, authenticator }) => [name, authenticator]),
    ),
    start() {
      for (const { source } of opened) source.start()
    },
    stats: () => Object.fromEntries(opened.map(({ name, source }) => [name, source.stats()])),
    close() {
      for (const { source } of opened) source.stop()
    },
  }
}
