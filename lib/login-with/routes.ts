import type { FastifyReply, FastifyRequest } from 'fastify'
import { digestOf } from '../common/digest.js'
import { isProduction } from '../common/production.js'
import { wrongOption } from '../errors/errors.js'
import { addVary } from '../guard/response.js'
import { cookieStart, isLocal, type CookieSettings } from '../http/cookie-names.js'
import { sharedOptions, type PluginRoute, type Work } from '../http/plugin-route.js'
import { badRequest, queryOf, withoutQuery } from '../http/query.js'
import { sendBody } from '../login/finish.js'
import { belowLogin, urlOf } from '../login/plugin-routes.js'
import { moveRoutes, wantedLogin } from '../login/route.js'
import { keepAttempt, newAttempt, type TokenUntil } from './attempt.js'
import { callback, leadTo, redirectUris } from './callback.js'
import { formPost } from './form-post.js'
import { claimLink, inSession, linkRoute } from './link.js'
import { addressOf, paramsOf } from './options.js'
import { isPath, targetOf } from '../login/return-to.js'
import type { Provider, Routes } from './provider.js'
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
  const { name, returnTo = '/', failureTo, link } = provider.options
  const option = `loginWith.${name}`
  const failure = failureTo && targetOf(`${option}.failureTo`, failureTo, trustedOrigins)
  const path = belowLogin(login.path, name)
  const isInProduction = isProduction()
  const isStrict = sameSite === 'strict'
  if (link && isStrict) {
    wrongOption(
      `option "${option}.link": found it beside cookies.sameSite 'strict', expected 'lax': browsers withhold strict cookies at the callback, so that no user is logged in there. Leave one of the two out.`,
    )
  }
  const routes: Routes = {
    registration,
    provider,
    path: urlOf(registration.app, path),
    method: login.signingMethod,
    returnTo: targetOf(`${option}.returnTo`, returnTo, trustedOrigins),
    isStrict,
    cookieStart: (request) =>
      cookieStart(isInProduction || !isLocal(request) ? '__Host-' : '', jar),
    redirectUri: redirectUris(registration, provider.options, `${path}/callback`),
  }
  const onRejection: PluginRoute['onRejection'] = ({ code }, reply) => {
    const query = new URLSearchParams({ error: code, provider: name }).toString()
    return leadTo(`${failure}${failure?.includes('?') ? '&' : '?'}${query}`, routes, reply)
  }
  const shared = { option, ifTaken: moveRoutes, authenticator: 'login', about: { provider: name } }
  const routeOf = (kind: string, end: string, work: Work, documented: object): PluginRoute => ({
    kind,
    method: 'GET',
    path: `${path}${end}`,
    ...shared,
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
  const maxAgeSchema = { type: 'integer', description: '0 asks the user to authenticate again.' }
  const returnToSchema = { type: 'string', description: 'The page that opens then.' }
  const documented = {
    summary: `Log in with ${name}`,
    description: 'Leads the browser to the provider, which leads it back to the app.',
    querystring: {
      type: 'object',
      properties: {
        returnTo: returnToSchema,
        ...(provider.options.oauth2 === undefined && { max_age: maxAgeSchema }),
      },
    },
  }
  const begin = beginning(routes)
  const begun = routeOf(`login with ${name}`, '', start(routes, begin), documented)
  const all: PluginRoute[] = [
    { ...begun, notes: { responses: { 303: 'To the provider.' } } },
    routeOf(`login callback of ${name}`, '/callback', callback(routes), {}),
  ]
  if (provider.options.responseMode === 'form_post') {
    const form = routeOf(`login form of ${name}`, '/callback', formPost(routes), {})
    all.push({ ...form, method: 'POST', takesForms: true })
  }
  if (link === undefined) return all
  const work: Work = async (request, reply) => {
    const [returnTo, tokenUntil] = await claimLink(routes, request)
    return sendBody(reply, { location: await begin(request, reply, returnTo, false, tokenUntil) })
  }
  const linkDocs = {
    summary: `Link an account of ${name}`,
    description: 'Returns the address at the provider, to which the page leads the browser.',
  }
  const options = sharedOptions(login.routeOptions, linkDocs)
  return [...all, { ...shared, ...linkRoute(routes), path: `${path}/link`, work, options }]
}

/** Headers by which browsers say that the user has not opened the link yet. Only the first one is standard. */
const purposes = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz']
const prefetch = /^(?:prefetch|prerender|preview)/i

/** Begins a login: leads the browser to the provider. */
function start(routes: Routes, begin: ReturnType<typeof beginning>): Work {
  return async (request, reply) => {
    for (const name of purposes) addVary(reply, name)
    // Browsers discard a response that is no success, and ask again when the link is opened.
    const isPrefetch = purposes.some((name) => prefetch.test(String(request.headers[name])))
    if (isPrefetch) return reply.code(503).send()
    const query = queryOf(request)
    const [returnTo, ...others] = query.getAll('returnTo')
    if (others.length > 0 || (returnTo !== undefined && !isPath(returnTo))) {
      return badRequest('querystring/returnTo must be a path of this app')
    }
    const ages = query.getAll('max_age')
    if (ages.some((age) => age !== '0') || ages.length > 1) {
      return badRequest('querystring/max_age must be 0')
    }
    // Such a provider does not know it, so nothing would make it ask the user again.
    if (ages.length > 0 && routes.provider.options.oauth2 !== undefined) {
      return badRequest('querystring/max_age must be left out for this provider')
    }
    const tokenUntil = inSession(routes, request)
    return reply.redirect(await begin(request, reply, returnTo, ages.length === 1, tokenUntil), 303)
  }
}

/** Begins attempts: sets a cookie, and makes an authorization request (OpenID Connect Core §3.1.2.1, RFC 7636 §4.3). */
function beginning({ provider, redirectUri, cookieStart }: Routes) {
  let isWarned = false
  let last: { of: readonly unknown[]; address: string } = { of: [], address: '' }
  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    returnTo = '',
    isAnew = false,
    tokenUntil?: TokenUntil,
  ): Promise<string> => {
    const given = paramsOf(provider.options, request)
    const params = isAnew ? { ...given, max_age: '0' } : given
    const attempt = newAttempt(provider.options, returnTo, params.max_age ?? '', tokenUntil)
    const metadata = await provider.metadata()
    const of = [metadata, params, redirectUri(request)] as const
    // Making it takes longer than all the rest, and it rarely changes.
    if (!of.every((each, at) => each === last.of[at])) {
      last = { of, address: addressOf(provider.options, ...of) }
    }
    const nameStart = cookieStart(request)
    if (request.protocol === 'http' && nameStart.startsWith('__Host-') && !isWarned) {
      isWarned = true
      request.log.warn({ provider: provider.options.name }, overHttp)
    }
    keepAttempt(attempt, nameStart, reply)
    const { state, nonce, codeVerifier } = attempt
    const { oauth2 } = provider.options
    const more = [
      `state=${state}`,
      oauth2 === undefined && `nonce=${nonce}`,
      oauth2?.pkce !== false && `code_challenge=${digestOf(codeVerifier)}`,
    ]
    return [last.address, ...more.filter((each) => each !== false)].join('&')
  }
}
