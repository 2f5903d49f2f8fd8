// How long an app takes from nothing to ready, imports included, and what it needs of memory then.
import { answer, findUser, memory, settings } from './serve.mjs'

const started = performance.now()
const { default: Fastify } = await import('fastify')
const app = Fastify()
const plugins = {
  bare: () => {},
  async ours() {
    const { default: authn } = await import('../../dist/esm/lib/index.js')
    app.register(authn, { userService: { findByUsername: findUser }, ...settings.authn })
  },
  async fastifyJwt() {
    const { default: jwt } = await import('@fastify/jwt')
    app.register(jwt, { secret: settings.key.secret })
  },
}
await plugins[settings.plugin]()
app.get('/', async () => ({ hello: 'world' }))
await app.ready()
const time = performance.now() - started

answer({ ready: () => true, boot: () => ({ time, ...memory() }) })
