import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import {
  authn,
  AuthenticationError,
  channels,
  jwtAuthenticator,
  storedUser,
  type Authenticator,
  type RejectionEvent,
  type SuccessEvent,
} from 'fastify-authn'

declare module 'fastify-authn' {
  interface AuthUser {
    id: number
    email: string
  }
  interface RequestExtra {
    /** The admin who acts as `request.user`. */
    actor?: { readonly id: number; readonly email: string }
  }
}

/** A row of your table of users. */
export interface Person {
  readonly id: number
  readonly email: string
  /** The bcrypt hash. */
  readonly password: string
  readonly role: 'admin' | 'member'
  readonly tokensValidAfter: Date | null
}

/** Your queries. */
export interface People {
  byId(id: number): Promise<Person | undefined>
  byEmail(email: string): Promise<Person | undefined>
}

const typ = 'impersonation+jwt'
const lifetime = 600

function mayActAs(actor: Person | undefined, user: Person | undefined): boolean {
  return actor?.role === 'admin' && user?.role === 'member'
}

function impersonationAuthenticator(people: People): Authenticator<Person> {
  const byToken = jwtAuthenticator<Person>({ typ })
  return {
    ...byToken,
    async authenticate(request) {
      const user = await byToken.authenticate(request)
      if (user === null) return null
      const { act, iat } = request.extra.jwtClaims ?? {}
      const { sub } = Object(act) as { sub?: unknown }
      const actor = typeof sub === 'number' ? await people.byId(sub) : undefined
      // Both roles, and the tokens of the admin, may have changed since the token was issued.
      const validAfter = actor?.tokensValidAfter?.getTime() ?? 0
      if (actor === undefined || !mayActAs(actor, user) || Number(iat) * 1000 < validAfter) {
        throw new AuthenticationError('auth.jwt-invalid', { cause: 'the actor is not allowed' })
      }
      request.extra.actor = { id: actor.id, email: actor.email }
      request.log = request.log.child({ user: user.id, actor: actor.id })
      return user
    },
  }
}

export async function buildApp(
  secret: string,
  people: People,
  logger: FastifyServerOptions['logger'] = true,
): Promise<FastifyInstance> {
  const app = Fastify({ logger })
  await app.register(authn, {
    userService: {
      findByUsername: (name) =>
        typeof name === 'number' ? people.byId(name) : people.byEmail(name),
    },
    jwt: { secret, validAfterField: 'tokensValidAfter' },
    login: {
      usernameField: 'email',
      subject: ({ id }) => id,
      claims: () => ({ scope: 'notes:read notes:write' }),
    },
    sessions: true,
    authenticators: { impersonation: impersonationAuthenticator(people) },
  })
  // Fastify writes its last log line of a request with the log of the reply.
  app.addHook('onRequest', async (request, reply) => {
    if (request.extra.actor !== undefined) reply.log = request.log
  })
  impersonationRoute(app, people)
  notesRoutes(app)
  return app
}

interface Impersonate {
  Params: { id: number }
  Body: { reason: string }
}

function impersonationRoute(app: FastifyInstance, people: People): void {
  const schema = {
    params: { type: 'object', properties: { id: { type: 'integer' } } },
    body: {
      type: 'object',
      properties: { reason: { type: 'string', minLength: 10, maxLength: 500 } },
      required: ['reason'],
    },
  }
  const config = { auth: { use: 'jwt', role: 'admin' } }
  app.post<Impersonate>('/users/:id/impersonate', { schema, config }, async (request, reply) => {
    const actor = storedUser<Person>(request)
    const user = await people.byId(request.params.id)
    if (actor === null || user === undefined || !mayActAs(actor, user)) {
      return reply.code(403).send({ error: 'You cannot act as this user.' })
    }
    const { reason } = request.body
    request.log.warn({ user: user.id, actor: actor.id, reason }, 'An impersonation starts')
    const exp = Math.floor(Date.now() / 1000) + lifetime
    const claims = { sub: user.id, act: { sub: actor.id }, scope: 'notes:read', exp }
    const token = app.jwtService.generateTokenWithClaims(claims, undefined, { typ })
    return reply.header('cache-control', 'no-store').send({ token, expiresIn: lifetime })
  })
}

function notesRoutes(app: FastifyInstance): void {
  const use = ['jwt', 'impersonation']
  // For a banner: "root@shop.example acts as you".
  app.get('/me', { config: { auth: { use } } }, ({ user, extra }) => ({
    ...user,
    actor: extra.actor ?? null,
  }))
  app.get('/notes', { config: { auth: { use, scope: 'notes:read' } } }, () => [])
  // A token of an impersonation does not have this scope: 403.
  app.post('/notes', { config: { auth: { use, scope: 'notes:write' } } }, () => ({ id: 1 }))
  // Routes that are closed to impersonation accept only tokens of a login: 401.
  app.get('/sessions', { config: { auth: true } }, (request, reply) => {
    const session = app.authn.sessions.of(request)
    return session ? app.authn.sessions.list(session.sub) : reply.code(403).send()
  })
}

export interface AuditEntry {
  readonly actor: number
  readonly user: number | undefined
  readonly request: string
  readonly allowed: boolean
}

/**
 * Reports every request that a token of an impersonation authenticates. Call it once in each process.
 *
 * @returns a function that stops it
 */
export function auditImpersonation(report: (entry: AuditEntry) => void): () => void {
  const stops = (['success', 'failure'] as const).map((name) => {
    const listener = ({ request, user }: SuccessEvent | RejectionEvent): void => {
      const { actor } = request.extra
      if (actor === undefined) return
      report({
        actor: actor.id,
        user: user?.id,
        request: `${request.method} ${request.url}`,
        allowed: name === 'success',
      })
    }
    channels[name].subscribe(listener)
    return () => channels[name].unsubscribe(listener)
  })
  return () => stops.forEach((stop) => stop())
}
