import { lookup } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import Fastify, { type FastifyInstance } from 'fastify'
import { authn, type AuthnOptions } from 'fastify-authn'
import type { ServerSettings } from '../children/server.js'
import { usersOf } from './users.js'

export interface FloodSettings extends ServerSettings {
  readonly hashes: readonly string[]
  readonly authn: Pick<AuthnOptions, 'hashing' | 'credentialCache'>
}

/** Open routes of three kinds, a route behind Basic, and the login route. */
export async function build(settings: ServerSettings): Promise<FastifyInstance> {
  const { hashes, authn: options } = settings as FloodSettings
  const users = usersOf(hashes)
  const file = fileURLToPath(import.meta.url)

  const app = Fastify()
  await app.register(authn, {
    userService: { findByUsername: async (name) => users.get(String(name)) },
    jwt: { secret: 'bench-secret-bench-secret-bench-' },
    authenticator: 'basic',
    throttle: false,
    ...options,
  })
  app.get('/open', async () => ({ hello: 'world' }))
  app.get('/basic', { config: { auth: true } }, async () => ({ hello: 'world' }))
  app.get('/file', async () => ({ size: (await readFile(file)).length }))
  app.get('/dns', async () => lookup('localhost'))
  return app
}
