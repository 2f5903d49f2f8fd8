import { isAuthenticationError } from '../errors/errors.js'
import { reportRefusal } from '../events.js'
import { messageOf, sendRefusal, setChallenges } from '../guard/response.js'
import { isProduction } from '../common/production.js'
import { cookieStart, isLocal } from '../http/cookie-names.js'
import { setCookie } from '../http/cookie.js'
import { sharedOptions, type PluginRoute, type Work } from '../http/plugin-route.js'
import { badRequest, withoutQuery } from '../http/query.js'
import { moveRoutes } from '../login/route.js'
import { urlOf } from '../login/plugin-routes.js'
import { callback, leadTo, type Routes } from './callback.js'
import { targetOf } from './return-to.js'
import { start } from './start.js'
import type { Exchange } from './exchange.js'
import type { Provider } from './provider.js'
import type { Registration } from '../feature.js'
import type { ResolvedLogin } from '../options/resolve.js'
import type { CookieOptions } from '../../types/cookies.js'

/** The two routes of a provider. @throws ERR_AUTH_OPTION */
export function providerRoutes(
  registration: Registration,
  login: ResolvedLogin,
  { name: jar = '', sameSite, trustedOrigins = [] }: CookieOptions,
  provider: Provider,
  exchange: Exchange,
): PluginRoute[] {
  const { app } = registration
  const { name, returnTo = '/', failureTo, redirectUri } = provider.options
  const place = `loginWith.${name}`
  const failure = failureTo && targetOf(`${place}.failureTo`, failureTo, trustedOrigins)
  const path = `${login.path.replace(/\/+$/, '')}/${name}`
  const routes: Routes = {
    registration,
    provider,
    exchange,
    returnTo: targetOf(`${place}.returnTo`, returnTo, trustedOrigins),
    isStrict: sameSite === 'strict',
    cookieStarts(request) {
      const strict = cookieStart('__Host-', jar)
      return !isProduction() && isLocal(request) ? [cookieStart('', jar), strict] : [strict]
    },
    addCookie(reply, cookie, value, maxAge) {
      const isSecure = cookie.startsWith('__Host-')
      // Strict would miss the callback, to which another site leads.
      const line = setCookie({ name: cookie, value, maxAge, isSecure, sameSite: 'Lax' })
      void reply.header('set-cookie', line)
    },
    redirectUri({ protocol, host }) {
      if (redirectUri !== undefined) return redirectUri
      const uri = `${protocol}://${host}${urlOf(app, `${path}/callback`)}`
      return URL.canParse(uri) ? new URL(uri).href : badRequest('headers/host must be a host')
    },
  }
  const routeOf = (kind: string, end: string, work: Work, documented: object) => ({
    kind,
    method: 'GET' as const,
    path: `${path}${end}`,
    option: place,
    ifTaken: moveRoutes,
    work: withRejections(routes, failure, work),
    options: {
      ...sharedOptions(login.routeOptions, documented),
      // A link checker would use up the code.
      exposeHeadRoute: false,
      // That of an app may expect schemas of another library.
      validatorCompiler: () => () => true,
      logSerializers: { req: withoutQuery(app.log) },
    },
  })
  const returnToSchema = { type: 'string', description: 'The page that opens then.' }
  const documented = {
    summary: `Log in with ${name}`,
    description: 'Leads the browser to the provider, which leads it back to the app.',
    querystring: { type: 'object', properties: { returnTo: returnToSchema } },
  }
  return [
    {
      ...routeOf(`login with ${name}`, '', start(routes), documented),
      notes: { responses: { 303: 'To the provider.' } },
    },
    routeOf(`login callback of ${name}`, '/callback', callback(routes), {}),
  ]
}

/** @param failureTo - where rejections go; undefined for nowhere */
function withRejections(routes: Routes, failureTo: string | undefined, work: Work): Work {
  const { registration, provider } = routes
  const { name } = provider.options
  return async (request, reply, started) => {
    // The address has the code (RFC 9700 §4.2.4).
    void reply.header('cache-control', 'no-store').header('referrer-policy', 'no-referrer')
    try {
      return await work(request, reply, started)
    } catch (error) {
      if (!isAuthenticationError(error)) throw error
      reportRefusal(request, error, 'login', started, null, { provider: name })
      if (failureTo !== undefined) {
        const query = new URLSearchParams({ error: error.code, provider: name }).toString()
        return leadTo(`${failureTo}${failureTo.includes('?') ? '&' : '?'}${query}`, routes, reply)
      }
      setChallenges(error, request, reply, registration, ['Bearer'], null, false)
      sendRefusal(error, messageOf(error, request, registration), reply, registration)
      return reply
    }
  }
}
