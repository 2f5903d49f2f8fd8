import type { FastifyBaseLogger, FastifyRequest } from 'fastify'

/** The parameters of a query, as they came: an app may have a parser of its own. */
export function queryOf({ url }: FastifyRequest): URLSearchParams {
  return new URLSearchParams(url.slice(pathOf(url).length))
}

const pathOf = (url: string): string => url.split('?', 1).join()

/** Rejects a request as Fastify does where a query does not fit its schema. */
export function badRequest(message: string): never {
  throw Object.assign(new Error(message), { statusCode: 400, code: 'FST_ERR_VALIDATION' })
}

type Serialize = (request: FastifyRequest) => unknown

/** A serializer for the log: that of the app, for a request whose address has no query. */
export function withoutQuery(log: FastifyBaseLogger): Serialize {
  const kSerializers = Symbol.for('pino.serializers')
  const { req } = (log as { [kSerializers]?: { req?: Serialize } })[kSerializers] ?? {}
  return (request) => {
    const { method, host, ip, raw } = request
    const url = pathOf(request.url)
    if (req === undefined) return { method, url, host, remoteAddress: ip }
    const address = { url: { value: url }, originalUrl: { value: url } }
    const shown = { ...address, raw: { value: Object.create(raw, address) as object } }
    return req(Object.create(request, { ...shown, query: { value: {} } }) as FastifyRequest)
  }
}
