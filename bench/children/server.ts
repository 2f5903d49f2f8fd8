// A server under test.
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { answer, settingsOf } from '../support/child.js'

export interface ServerSettings {
  /** A module of `bench/apps`. */
  readonly app: 'flood' | 'soak'
  /** Address of a module that replaces `bcrypt.compare`. */
  readonly engine?: string | undefined
}

interface App {
  build(settings: ServerSettings): Promise<FastifyInstance>
  /** What the app itself counts. */
  counts?(): unknown
}

const settings = settingsOf<ServerSettings>()
if (settings.engine !== undefined) {
  const engine = (await import(settings.engine)) as { install(): void }
  engine.install()
}
const { build, counts } = (await import(`../apps/${settings.app}.js`)) as App
const app = await build(settings)
await app.listen({ host: '127.0.0.1', port: 0 })

/** @returns microseconds of all threads */
function cpu(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

answer({
  ready: () => true,
  port: () => (app.server.address() as AddressInfo).port,
  cpu,
  memory: () => {
    globalThis.gc?.()
    globalThis.gc?.()
    return process.memoryUsage()
  },
  stats: () => app.authn.stats(),
  counts: () => counts?.(),
  close: () => app.close(),
})
