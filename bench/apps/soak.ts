import Fastify, { type FastifyInstance } from 'fastify'
import { authn, type AuthnOptions } from 'fastify-authn'
import type { ServerSettings } from '../children/server.js'
import { usersOf } from './users.js'

export interface SoakSettings extends ServerSettings {
  readonly hashes: readonly string[]
  readonly secret: string
  readonly authn: Pick<AuthnOptions, 'hashing' | 'throttle' | 'credentialCache'>
}

/** What the app has seen, to be compared with what the clients have seen. */
export interface SoakCounts {
  /** Requests that were routed. */
  received: number
  /** Replies by status, of clients that had left too. */
  readonly sent: Record<number, number>
  /** Times that the user service has failed. */
  injected: number
  /** Lines of the log with the level "error" or above. */
  errorLines: number
}

const seen: SoakCounts = { received: 0, sent: {}, injected: 0, errorLines: 0 }

export function counts(): SoakCounts {
  return seen
}

/** All authenticators, the login route, and a user service that fails when the client says so. */
export async function build(settings: ServerSettings): Promise<FastifyInstance> {
  const { hashes, secret, authn: options } = settings as SoakSettings
  const users = usersOf(hashes)
  // All is formatted, as in an app that keeps its log, but kept nowhere.
  const stream = {
    write: (line: string): void => void (/"level":[56]0/.test(line) && (seen.errorLines += 1)),
  }
  const app = Fastify({ logger: { level: 'info', stream }, trustProxy: true })
  app.addHook('onRequest', async () => void (seen.received += 1))
  app.addHook('onSend', async (_, reply) => {
    seen.sent[reply.statusCode] = (seen.sent[reply.statusCode] ?? 0) + 1
  })
  await app.register(authn, {
    jwt: { secret },
    ...options,
    userService: {
      findByUsername: async (name, request) => {
        if (request.headers['x-fail'] !== undefined) {
          seen.injected += 1
          throw new Error('injected')
        }
        const user = users.get(String(name))
        return user && { ...user }
      },
    },
  })
  app.get('/open', async () => ({ hello: 'world' }))
  app.get('/jwt', { config: { auth: true } }, async (request) => ({ name: request.user.name }))
  app.get('/basic', { config: { auth: { use: 'basic' } } }, async (request) => ({
    name: request.user.name,
  }))
  app.get('/optional', { config: { auth: 'optional' } }, async (request) => ({
    name: request.user?.name ?? null,
  }))
  return app
}
