import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import type { Exchange } from './exchange.js'
import type { Provider } from './provider.js'
import type { Target } from './return-to.js'
import type { Registration } from '../feature.js'

/** What the two routes of a provider share. */
export interface Routes {
  readonly registration: Registration
  readonly provider: Provider
  readonly exchange: Exchange
  readonly returnTo: Target
  /** Whether browsers withhold the cookies of a login after a redirect that began on another site. */
  readonly isStrict: boolean
  /** What names of cookies begin with in this request, the likelier one first. */
  cookieStarts(request: FastifyRequest): readonly string[]
  addCookie(reply: FastifyReply, name: string, value: string, maxAge: number): void
  /** The parameter `redirect_uri`. */
  redirectUri(request: FastifyRequest): string
}

/** The parameters of a query, as they came: an app may have a parser of its own. */
export function queryOf({ url }: FastifyRequest): URLSearchParams {
  return new URLSearchParams(url.split('?').slice(1).join('?'))
}

/** A response as Fastify gives it to a query that does not fit. */
export function badRequest(message: string): never {
  throw Object.assign(new Error(message), { statusCode: 400, code: 'FST_ERR_VALIDATION' })
}

/** A serializer for the log: that of the app, for a request whose address has no query. */
export function withoutQuery(log: FastifyBaseLogger) {
  const kSerializers = Symbol.for('pino.serializers')
  const { req } = (log as { [kSerializers]?: { req?: Serialize } })[kSerializers] ?? {}
  return (request: FastifyRequest): object => {
    const { method, host, ip, socket } = request
    const url = request.url.split('?', 1).join()
    const shown = Object.create(request, {
      url: { value: url },
      originalUrl: { value: url },
    }) as FastifyRequest
    const { remotePort } = socket ?? {}
    const fields = req?.(shown) ?? { method, url, host, remoteAddress: ip, remotePort }
    return 'url' in fields ? { ...fields, url } : fields
  }
}

type Serialize = (request: FastifyRequest) => object
