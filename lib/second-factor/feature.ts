import { acceptSameTokens } from '../authenticators/shared-keys.js'
import { isUsableName } from '../users/user.js'
import { wrongOption } from '../errors/errors.js'
import { requireLogin } from '../login/needs.js'
import { targetOf } from '../login/return-to.js'
import { wantedLogin } from '../login/route.js'
import { noClaims } from '../login/token.js'
import { fingerprintOf } from '../tokens/keys/key.js'
import { stepTime } from '../tokens/step.js'
import { codeInvalid } from './factor.js'
import { code, secondFactorRoutes } from './routes.js'
import { factorTokens, rememberedDevices } from './tokens.js'
import { SecondFactorTools } from './tools.js'
import type { Feature, FeatureContext, Registration, SecondFactor as Asks } from '../feature.js'
import type { CookieSettings } from '../http/cookie-names.js'
import type { ResolvedSecondFactor } from './options.js'
import type { SecondFactor } from '../../types/second-factor.js'

export { resolve, schema } from './options.js'

/** The option `secondFactor`: codes of an authenticator app after a login. @throws ERR_AUTH_OPTION */
export function create(context: FeatureContext<ResolvedSecondFactor>): Feature {
  const { resolved, resolvedBefore } = context
  const { path, keys } = requireLogin('secondFactor', context, 'what is stored is bound to it.')
  const { cookies } = resolvedBefore
  const tokens = factorTokens(keys)
  const devices = rememberedDevices(resolved, cookies, tokens)
  let tools: SecondFactorTools
  const secondFactor: Asks = {
    page: pageOf(resolved, cookies, 'loginWith' in resolvedBefore),
    isOn: (user, isOther) => tools.store.textOf(user, isOther) !== null,
    async ask(request, reply, user, login) {
      const { username, authentication, replacement, replaces, once } = login
      const { sub } = await tools.claimsOf(username, request, user)
      const factor = tools.store.factorOf(user, sub)
      if (factor === null) return null
      const state = tools.stateOf(user, factor)
      if (devices?.has(request, tools.deviceOf([state], factor))) return null
      // The hash may be replaced by this login, or not if the app cannot store it.
      const states = [state, ...(replacement ? [tools.stateOf(user, factor, replacement)] : [])]
      const { began = Date.now() - (performance.now() - login.started) } = login
      const { amr = [] } = authentication
      const validAfter = tools.validAfter(user)
      const token = tokens.login.make({ sub, states, amr, began, validAfter, replaces, once })
      void reply.code(202)
      return { secondFactor: { token, expiresIn: stepTime } }
    },
  }
  const api: SecondFactor = {
    async disable(name, request) {
      const user = isUsableName(name) ? await tools.store.find(name, request) : null
      if (user === null) return false
      const { sub } = await tools.claimsOf(name, request, user, noClaims)
      return tools.remove(user, name, sub, request)
    },
  }
  const { isOn } = secondFactor
  return {
    name: 'secondFactor',
    api,
    givesMfa: true,
    secondFactor,
    confirmations: [
      {
        name: 'code',
        amr: ['otp', 'mfa'],
        isOffered: ({ user }) => isOn(user),
        proves: {
          body: { code },
          async check({ user, sub }, { code }: { code: string }, request, isLast) {
            if (!isOn(user)) throw codeInvalid('no second factor')
            const check = tools.samePassword(user, sub)
            return tools.prove({ user, sub, code, check }, request, !isLast)
          },
        },
      },
    ],
    open(registration) {
      registration.hiddenFields.add(resolved.field)
      tools = new SecondFactorTools(resolved, tokens, devices, registration)
    },
    routes: () => secondFactorRoutes(path, tools),
    check(registration, all) {
      const secrets = [resolved.given.key].flat() as readonly string[]
      if (secrets.some((secret) => all.some((each) => isKeyOf(each, secret)))) {
        wrongOption(
          'option "secondFactor.key": found a key of "jwt", expected a secret of its own: whoever steals it would have both. Make one with: npx fastify-authn secret',
        )
      }
      const related = all.filter((each) => acceptSameTokens(registration, each))
      for (const { strongFactors } of related) strongFactors.add(isOn)
      const around = related.find(
        (each) => each.secondFactor === undefined && wantedLogin(each) !== null,
      )
      if (around === undefined) return
      wrongOption(
        `option "secondFactor" is missing in the scope ${JSON.stringify(around.app.prefix || '/')}, whose login would ask for no code, while its tokens are accepted in the scope ${JSON.stringify(registration.app.prefix || '/')}. Set it there too, or login: false, or give each scope its own "audience", as in jwt: { ...configFromEnv().jwt, audience: 'admin' }.`,
      )
    },
    stats: () => ({ ...tools.counts }),
    get testing() {
      return tools
    },
  }
}

/** Whether a secret is a key of tokens, as it is, or before or after base64, base64url or hexadecimal. */
function isKeyOf({ jwtService }: Registration, secret: string | Uint8Array): boolean {
  const bytes = Buffer.from(secret as string)
  const keys = (['base64', 'base64url', 'hex'] as const).flatMap((form) => [
    Buffer.from(bytes.toString(), form),
    Buffer.from(bytes.toString(form)),
  ])
  const own = new Set([bytes, ...keys].map((verify) => fingerprintOf({ verify })))
  const hmac = ['HS256', 'HS384', 'HS512'] as const
  return hmac.some((alg) => jwtService.fingerprints(alg).some((each) => own.has(each)))
}

/** The page that asks for a code after a login with a provider. @throws ERR_AUTH_OPTION */
function pageOf(
  { page }: ResolvedSecondFactor,
  cookies: CookieSettings | undefined,
  isNeeded: boolean,
): string | undefined {
  if (page?.includes('#')) {
    wrongOption(
      'option "secondFactor.page": found an address with a #, expected one without: the token of the login follows behind it.',
    )
  }
  if (page !== undefined) return targetOf('secondFactor.page', page, cookies?.trustedOrigins ?? [])
  if (!isNeeded) return undefined
  return wrongOption(
    'option "secondFactor.page" is missing: found nothing beside "loginWith", expected the path of the page that asks for a code after a login with a provider, such as /code.',
  )
}
