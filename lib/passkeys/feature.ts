import { acceptSameTokens } from '../authenticators/shared-keys.js'
import { wrongOption } from '../errors/errors.js'
import { requireLogin } from '../login/needs.js'
import { resolvePasskeys } from './options.js'
import { use, type Body } from './handlers.js'
import { answer, counts, passkeyRoutes } from './routes.js'
import { ceremonyTokens } from './tokens.js'
import { PasskeyTools } from './tools.js'
import { verifierOf } from './verify.js'
import type { Feature, FeatureContext } from '../feature.js'
import type { Passkeys, PasskeysOptions } from '../../types/passkeys.js'

export { schema } from './options.js'

const needed =
  'option "passkeys" needs version 14 of the package @simplewebauthn/server: npm install @simplewebauthn/server@14.'

type Resolved = Awaited<ReturnType<typeof resolve>>

export async function resolve(given: PasskeysOptions<object>) {
  const options = resolvePasskeys(given)
  const missing = (error: unknown): never => wrongOption(needed, error)
  const webauthn = await import('@simplewebauthn/server').catch(missing)
  // Version 13 lacks this class, and the correction of GHSA-6hxq-p678-4hr2.
  return 'PQCNotSupportedError' in webauthn ? { options, webauthn } : wrongOption(needed)
}

/** The option `passkeys`: log-in with passkeys. @throws ERR_AUTH_OPTION */
export function create(context: FeatureContext<Resolved>): Feature {
  const { resolved } = context
  const why = 'passkeys keep this name of their user for ever.'
  const { path, keys } = requireLogin('passkeys', context, why)
  const tokens = ceremonyTokens(keys)
  const verifier = verifierOf(resolved)
  const { mfa, amr } = resolved.options
  let tools: PasskeyTools
  const hasSome = async (user: object): Promise<boolean> => (await tools.list({ user })).length > 0
  const api: Passkeys = { removeAll: (name, request) => tools.removeAll(name, request) }
  return {
    name: 'passkeys',
    api,
    givesMfa: mfa,
    confirmations: [
      {
        name: 'passkey',
        amr,
        isOffered: ({ user }) => hasSome(user),
        proves: {
          body: answer,
          counts,
          async check(own, body: Body, request) {
            const { user } = await use(tools, own, body, request)
            return { user }
          },
        },
      },
    ],
    open(registration) {
      tools = new PasskeyTools(resolved.options, tokens, verifier, registration)
    },
    routes: () => passkeyRoutes(path, tools),
    check(registration, all) {
      if (!mfa) return
      for (const each of all)
        if (acceptSameTokens(registration, each)) each.strongFactors.add(hasSome)
    },
  }
}
