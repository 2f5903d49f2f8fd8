// A WebSocket for browsers, which cannot send an Authorization header with one. The page asks for a ticket
// with its token, and opens the socket with that: it is good once, for half a minute, and for nothing else.
// It travels as a subprotocol and not in the URL, which would end up in logs. Sites of others can open no
// socket in the name of a visitor, since no cookie is involved.
//
//   const { ticket } = await (await fetch('/tickets', { method: 'POST', headers })).json()
//   const socket = new WebSocket('wss://api.example/chat', ['chat', `ticket.${ticket}`])
import { createHash, randomBytes } from 'node:crypto'
import websocket from '@fastify/websocket'
import Fastify, { type FastifyInstance } from 'fastify'
import {
  authn,
  AuthenticationError,
  hashPassword,
  type Authenticator,
  type UserService,
} from 'fastify-authn'
import { bearer, isProgram, loginTip, start } from './support/start.js'

declare module 'fastify-authn' {
  interface AuthUser {
    id: number
    username: string
  }
  interface StoredUser {
    password: string
  }
  interface RequestExtra {
    /** When the socket has to end: with the token that asked for the ticket. Milliseconds since 1970. */
    sessionEnds?: number
  }
}

interface Ticket {
  readonly username: string
  readonly sessionEnds: number
  readonly expires: number
}

/** Of one process. Several share them in Redis: SET with PX, and GETDEL. */
class Tickets {
  readonly #open = new Map<string, Ticket>()

  issue(username: string, sessionEnds: number, seconds: number): string {
    const now = Date.now()
    // All live equally long, so that the oldest come first.
    for (const [key, { expires }] of this.#open) {
      if (expires > now) break
      this.#open.delete(key)
    }
    const ticket = randomBytes(32).toString('base64url')
    this.#open.set(digest(ticket), { username, sessionEnds, expires: now + seconds * 1000 })
    return ticket
  }

  /** Once, also when it comes too late. */
  redeem(text: string): Ticket | null {
    const key = digest(text)
    const ticket = this.#open.get(key)
    this.#open.delete(key)
    return ticket !== undefined && ticket.expires > Date.now() ? ticket : null
  }
}

/** So that how long a look-up takes tells nothing of the tickets there are. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

function ticketAuthenticator(tickets: Tickets, users: UserService): Authenticator {
  return {
    async authenticate(request) {
      const protocols = request.headers['sec-websocket-protocol'] ?? ''
      const [, text] = /(?:^|[ ,])ticket\.([\w-]+)/.exec(protocols) ?? []
      if (text === undefined) return null
      const ticket = tickets.redeem(text)
      if (ticket === null) throw new AuthenticationError('auth.invalid-credentials')
      request.extra.sessionEnds = ticket.sessionEnds
      // Asked again: the user may be gone since.
      const user = await users.findByUsername(ticket.username, request)
      if (!user) throw new AuthenticationError('auth.invalid-credentials')
      return user
    },
  }
}

/** @param ticketSeconds - how long a ticket is good */
export async function buildApp(users: UserService, ticketSeconds = 30): Promise<FastifyInstance> {
  const app = Fastify()
  const tickets = new Tickets()
  await app.register(websocket, {
    options: {
      maxPayload: 65_536,
      // One has to be chosen, and the ticket must not be sent back.
      handleProtocols: (offered) => offered.has('chat') && 'chat',
    },
  })
  await app.register(authn, {
    userService: users,
    jwt: { secret: process.env.AUTH_JWT_SECRET },
    authenticators: { ticket: ticketAuthenticator(tickets, users) },
  })

  app.post('/tickets', { config: { auth: true } }, (request, reply) => {
    const sessionEnds = Number(request.extra.jwtClaims?.exp) * 1000
    const ticket = tickets.issue(request.user.username, sessionEnds, ticketSeconds)
    return reply.header('cache-control', 'no-store').send({ ticket })
  })

  // What the guard refuses gets a 401 and no socket.
  app.get(
    '/chat',
    { websocket: true, config: { auth: { use: 'ticket' } } },
    (socket, { user, extra }) => {
      const rest = Math.max(0, (extra.sessionEnds ?? 0) - Date.now())
      // 4401: for applications (RFC 6455 §7.4.2). The page asks for another ticket.
      const timer = setTimeout(() => socket.close(4401, 'session ended'), rest)
      socket.on('close', () => clearTimeout(timer))
      socket.on('message', (data: Buffer) => socket.send(`${user?.username}: ${data.toString()}`))
    },
  )
  return app
}

if (isProgram(import.meta.url)) {
  const alice = { id: 1, username: 'alice', password: await hashPassword('wonderland-1865') }
  await start(
    await buildApp({ findByUsername: (username) => (username === 'alice' ? alice : null) }),
    loginTip('alice', 'wonderland-1865'),
    `TICKET=$(curl -s -X POST $URL/tickets ${bearer} | node -p 'JSON.parse(fs.readFileSync(0)).ticket')`,
    'npx wscat -c $URL/chat -s chat -s ticket.$TICKET',
  )
}
