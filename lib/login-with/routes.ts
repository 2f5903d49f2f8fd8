import type { FastifyRequest } from 'fastify'
import type { ServerMetadata } from 'openid-client'
import { ignoreRejection } from '../common/objects.js'
import { isProduction } from '../common/production.js'
import { faultOf } from '../errors/errors.js'
import { addVary } from '../guard/response.js'
import { cookieStart, isLocal, type CookieSettings } from '../http/cookie-names.js'
import { sharedOptions, type PluginRoute, type Work } from '../http/plugin-route.js'
import { badRequest, queryOf, withoutQuery } from '../http/query.js'
import { belowLogin } from '../login/plugin-routes.js'
import { moveRoutes, wantedLogin } from '../login/route.js'
import { keepAttempt, newAttempt, sha256 } from './attempt.js'
import { callback, leadTo, redirectUris, type Routes } from './callback.js'
import { checkParams, type ResolvedProvider } from './options.js'
import { isPath, targetOf } from './return-to.js'
import type { Provider } from './provider.js'
import type { Registration } from '../feature.js'
import type { ResolvedLogin } from '../options/resolve.js'

const overHttp =
  'fastify-authn: a login with a provider began over http, where browsers do not keep its cookie. If a proxy terminates TLS, set trustProxy of Fastify. This is logged once'

export function providerRoutes(
  registration: Registration,
  { name: jar, sameSite, trustedOrigins }: CookieSettings,
  provider: Provider,
): PluginRoute[] {
  // There is a login, since the feature requires sessions and userService.
  const login = wantedLogin(registration) as ResolvedLogin
  const { name, returnTo = '/', failureTo } = provider.options
  const option = `loginWith.${name}`
  const failure = failureTo && targetOf(`${option}.failureTo`, failureTo, trustedOrigins)
  const path = belowLogin(login.path, name)
  const isInProduction = isProduction()
  const routes: Routes = {
    registration,
    provider,
    returnTo: targetOf(`${option}.returnTo`, returnTo, trustedOrigins),
    isStrict: sameSite === 'strict',
    cookieStart: (request) =>
      cookieStart(isInProduction || !isLocal(request) ? '__Host-' : '', jar),
    redirectUri: redirectUris(registration, provider.options, `${path}/callback`),
  }
  const onRejection: PluginRoute['onRejection'] = ({ code }, reply) => {
    const query = new URLSearchParams({ error: code, provider: name }).toString()
    return leadTo(`${failure}${failure?.includes('?') ? '&' : '?'}${query}`, routes, reply)
  }
  const routeOf = (kind: string, end: string, work: Work, documented: object): PluginRoute => ({
    kind,
    method: 'GET',
    path: `${path}${end}`,
    option,
    ifTaken: moveRoutes,
    authenticator: 'login',
    about: { provider: name },
    work,
    ...(failure && { onRejection }),
    options: {
      ...sharedOptions(login.routeOptions, documented),
      // A link checker would use up the code.
      exposeHeadRoute: false,
      // The validator compiler of the app may not understand our JSON Schema (that of Zod does not).
      validatorCompiler: () => () => true,
      logSerializers: { req: withoutQuery(registration.app.log) },
      onRequest: (_, reply, done) => {
        // The address has the code (RFC 9700 §4.2.4).
        void reply.header('cache-control', 'no-store').header('referrer-policy', 'no-referrer')
        done()
      },
    },
  })
  const returnToSchema = { type: 'string', description: 'The page that opens then.' }
  const documented = {
    summary: `Log in with ${name}`,
    description: 'Leads the browser to the provider, which leads it back to the app.',
    querystring: { type: 'object', properties: { returnTo: returnToSchema } },
  }
  const begin = routeOf(`login with ${name}`, '', start(routes), documented)
  return [
    { ...begin, notes: { responses: { 303: 'To the provider.' } } },
    routeOf(`login callback of ${name}`, '/callback', callback(routes), {}),
  ]
}

/** Headers by which browsers say that the user has not opened the link yet. Only the first one is standard. */
const purposes = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz']
const prefetch = /^(?:prefetch|prerender|preview)/i

/** Begins a login: leads the browser to the provider (OpenID Connect Core §3.1.2.1, RFC 7636 §4.3). */
function start(routes: Routes): Work {
  const { provider } = routes
  let isWarned = false
  let last: { of: readonly unknown[]; address: string } = { of: [], address: '' }
  return async (request, reply) => {
    for (const name of purposes) addVary(reply, name)
    // Browsers discard a response that is no success, and ask again when the link is opened.
    const isPrefetch = purposes.some((name) => prefetch.test(String(request.headers[name])))
    if (isPrefetch) return reply.code(503).send()
    const [returnTo, ...others] = queryOf(request).getAll('returnTo')
    if (others.length > 0 || (returnTo !== undefined && !isPath(returnTo))) {
      return badRequest('querystring/returnTo must be a path of this app')
    }
    const params = paramsOf(provider.options, request)
    const attempt = newAttempt(provider.options, returnTo ?? '', params.max_age ?? '')
    const metadata = await provider.metadata()
    const of = [metadata, params, routes.redirectUri(request)] as const
    // Making it takes longer than all the rest, and it rarely changes.
    if (!of.every((each, at) => each === last.of[at])) {
      last = { of, address: addressOf(provider.options, ...of) }
    }
    const nameStart = routes.cookieStart(request)
    if (request.protocol === 'http' && nameStart.startsWith('__Host-') && !isWarned) {
      isWarned = true
      request.log.warn({ provider: provider.options.name }, overHttp)
    }
    keepAttempt(attempt, nameStart, reply)
    const { state, nonce, codeVerifier } = attempt
    const query = `state=${state}&nonce=${nonce}&code_challenge=${sha256(codeVerifier)}`
    return reply.redirect(`${last.address}&${query}`, 303)
  }
}

/** The authorization request, but for what each attempt has of its own. */
function addressOf(
  { clientId, scope }: ResolvedProvider,
  { authorization_endpoint: endpoint }: ServerMetadata,
  params: Readonly<Record<string, string>>,
  redirectUri: string,
): string {
  const url = new URL(String(endpoint))
  const all = {
    ...params,
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope,
    code_challenge_method: 'S256',
  }
  for (const [key, value] of Object.entries(all)) url.searchParams.set(key, value)
  for (const key of ['state', 'nonce', 'code_challenge']) url.searchParams.delete(key)
  return url.href
}

const noParams = {}

function paramsOf(
  { authorizationParams: given = noParams, name }: ResolvedProvider,
  request: FastifyRequest,
) {
  if (typeof given !== 'function') return given
  try {
    const params: unknown = given(request)
    ignoreRejection(params)
    return checkParams(params, `loginWith.${name}.authorizationParams()`)
  } catch (error) {
    throw faultOf('ERR_AUTH_AUTHORIZATION_PARAMS', error)
  }
}
