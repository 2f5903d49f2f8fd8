import { kit } from '../common/kit.js'
import { defaults, withDefaults } from '../options/resolve.js'
import { resolveIssuers } from '../options/resolve-issuers.js'
import { issuerAuthenticator } from './authenticator.js'
import { IssuerVerifier } from './verifier.js'
import type { Feature, FeatureContext } from '../feature.js'

const verifiers = new WeakMap<object, IssuerVerifier>()

kit.replaceKeys = (authenticator, makeKeys) => {
  const verifier = verifiers.get(authenticator)
  verifier?.source.replace(makeKeys(verifier.issuer))
  return verifier?.issuer
}

/**
 * The option `issuers`: an authenticator for each issuer. Nothing is fetched before the app is ready.
 *
 * @throws ERR_AUTH_OPTION
 */
export function createFeature({ options, jwtService, log }: FeatureContext): Feature {
  const issuers = options.issuers as NonNullable<typeof options.issuers>
  const taken = Object.keys(options.authenticators)
  const given = options.jwt?.tokenCache
  const cache = given !== false && withDefaults(defaults.tokenCache, given)
  const opened = resolveIssuers(issuers, taken, jwtService.issuer).map((issuer) => {
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
    ready() {
      for (const { source } of opened) void source.begin()
    },
    stats: () => Object.fromEntries(opened.map(({ name, source }) => [name, source.stats()])),
    stop() {
      for (const { source } of opened) source.stop()
    },
  }
}
