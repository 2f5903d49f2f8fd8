// Servers that are not the default one.
import Fastify from 'fastify'
import authn from 'fastify-authn'

const http2 = Fastify({ http2: true })
http2.register(authn, {})
http2.get('/', { config: { auth: true } }, (request) => request.user.id)
// @ts-expect-error -- the request may be anonymous
http2.get('/', (request) => request.user.id)

const logger = Object.assign(Fastify().log, { trail: (text: string) => text })
const logged = Fastify({ loggerInstance: logger })
logged.register(authn, {})
logged.get('/', { config: { auth: true } }, (request) => request.log.trail(`${request.user.id}`))
