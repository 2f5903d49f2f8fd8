// The server of flood and timing: open routes of three kinds, a route behind Basic, and the login route.
import { lookup } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import Fastify from 'fastify'
import { authn, type AuthnOptions } from 'fastify-authn'
import { answer, settingsOf } from '../support/child.js'

declare module 'fastify-authn' {
  interface AuthUser {
    name: string
  }
  interface StoredUser {
    password: string
  }
}

export interface ServerSettings {
  /** Of the users `user0`, `user1` and so on. */
  readonly hashes: readonly string[]
  readonly authn: Pick<AuthnOptions, 'hashing' | 'credentialCache'>
}

const { hashes, authn: options } = settingsOf<ServerSettings>()
const users = new Map(
  hashes.map((password, index) => [`user${index}`, { name: `user${index}`, password }]),
)
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
await app.listen({ host: '127.0.0.1', port: 0 })

answer({
  ready: () => true,
  port: () => (app.server.address() as AddressInfo).port,
  rss: () => process.memoryUsage.rss(),
})
