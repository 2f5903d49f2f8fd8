// How much processor time an app takes from nothing to ready, imports included, and what it needs of memory then.
import { answer, findUser, memory, settings } from './serve.mjs'

/** Each imports a plugin, and returns a function that registers it. */
const plugins = {
  bare: () => () => {},
  async ours() {
    const { default: authn } = await import('../../dist/esm/lib/index.js')
    const userService = settings.hasUsers === false ? undefined : { findByUsername: findUser }
    return (app) => app.register(authn, { userService, ...settings.authn })
  },
  async fastifyJwt() {
    const { default: jwt } = await import('@fastify/jwt')
    return (app) => app.register(jwt, { secret: settings.key.secret })
  },
}

const started = process.cpuUsage()
const { default: Fastify } = await import('fastify')
// Before the app is made, as in an app, where imports come first.
const register = await plugins[settings.plugin]()
const app = Fastify()
register(app)
app.get('/', async () => ({ hello: 'world' }))
await app.ready()
const { user, system } = process.cpuUsage(started)
const time = (user + system) / 1000

answer({ ready: () => true, boot: () => ({ time, ...memory() }) })
