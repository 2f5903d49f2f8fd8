import * as Type from '@sinclair/typebox/type'
import type { FastifyRequest } from 'fastify'
import { rejection } from '../errors/errors.js'
import { bodyCarrier } from '../login/finish.js'
import { cookiesOf } from '../request/state.js'
import { safeMethods } from './csrf.js'
import type { TokenCarrier } from '../tokens/issued.js'

/** Browsers add these, and no script can remove them. Not `Sec-Fetch-Mode`: the `fetch` of Node sends it too. */
const ofBrowsers = ['sec-fetch-site', 'sec-fetch-dest', 'origin']

const description = 'With `Token-Delivery: body`, tokens are in the body; browsers then get a 400.'
const both = { description: `The tokens, as cookies. ${description}` }
const properties = { 'Token-Delivery': { type: 'string', enum: ['body'], description } }

/**
 * The option `cookies.apps`: a client that is not a browser gets its tokens in the body if it asks. In a browser, an XSS
 * attacker could turn the cookies of the user into tokens to take away. @param names - those of our cookies
 */
export function carrierForApps(carrier: TokenCarrier, names: readonly string[]): TokenCarrier {
  const inBody = new WeakSet<FastifyRequest>()
  const of = (request: FastifyRequest) => (inBody.has(request) ? bodyCarrier : carrier)
  return {
    ...carrier,
    documented: { headers: { type: 'object', properties } },
    schema: () => Type.Partial(bodyCarrier.schema(true) as Type.TObject, both),
    check(request, hasToken) {
      const { headers, method } = request
      const wish = headers['token-delivery']
      if (!(hasToken ?? wish !== undefined)) return
      const found = [
        ...ofBrowsers.filter((name) => headers[name] !== undefined),
        ...names.filter((name) => cookiesOf(request).has(name)),
        // Browsers that send no `Sec-Fetch-Site`, as they do without TLS, send no `Origin` with a GET either.
        ...(safeMethods.has(method) ? [method] : []),
        ...(hasToken || wish === 'body' ? [] : ['another value than body']),
      ]
      if (found.length > 0) throw rejection('auth.token-delivery', { cause: found.join(', ') })
      inBody.add(request)
    },
    send: (...given) => of(given[0]).send(...given),
    clear: (...given) => of(given[0]).clear(...given),
  }
}
