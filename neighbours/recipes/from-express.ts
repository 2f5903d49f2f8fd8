import { createHmac, timingSafeEqual } from 'node:crypto'
import Fastify from 'fastify'
import authn, { AuthenticationError, type Authenticator } from 'fastify-authn'
import jsonwebtoken from 'jsonwebtoken'

export interface Account {
  readonly id: number
  readonly name: string
  readonly password: string
}

/** Your queries. */
export interface Queries {
  account(nameOrId: string | number): Promise<Account | null>
  /** `delete from session where sid = $1 and expire > now() returning sess` */
  takeOldSession(sid: string): Promise<{ passport?: { user?: number } } | undefined>
}

/** The secrets of the Express app. */
export interface OldSecrets {
  readonly jwt: string
  readonly session: string
}

/** Tokens of `jsonwebtoken`, whose secret may have fewer than 32 bytes. */
export function oldTokens(secret: string, { account }: Queries): Authenticator {
  return {
    scheme: 'Bearer',
    // The plugin's own tokens have `sub`.
    accepts: (request) => Object(jsonwebtoken.decode(request.bearerToken() ?? '')).id !== undefined,
    async authenticate(request) {
      const token = request.bearerToken()
      if (token === null) return null
      try {
        const claims = Object(jsonwebtoken.verify(token, secret, { algorithms: ['HS256'] }))
        // The old refresh tokens have the same secret.
        if (claims.type === undefined && typeof claims.exp === 'number') {
          return await account(claims.id)
        }
      } catch (cause) {
        throw new AuthenticationError('auth.jwt-invalid', { cause })
      }
      throw new AuthenticationError('auth.jwt-invalid')
    },
  }
}

/** The id in a cookie `connect.sid`, if it is signed with the secret of express-session. */
export function oldSid(cookie: string, secret: string): string | undefined {
  const value = /(?:^|; )connect\.sid=s%3A([\w-]+)\.([^;]+)/.exec(cookie)
  if (value === null) return undefined
  const [, sid = '', signature = ''] = value
  const right = createHmac('sha256', secret).update(sid).digest()
  const given = Buffer.from(signature.replaceAll('%2B', '+').replaceAll('%2F', '/'), 'base64')
  return given.length === right.length && timingSafeEqual(given, right) ? sid : undefined
}

export async function buildApp(secret: string, old: OldSecrets, queries: Queries) {
  const app = Fastify()
  await app.register(authn, {
    userService: { findByUsername: queries.account },
    jwt: { secret },
    login: { subject: ({ id }) => id },
    sessions: true,
    cookies: { apps: true },
    authenticators: { oldToken: oldTokens(old.jwt, queries) },
    authenticator: ['jwt', 'oldToken'],
  })
  app.get('/me', { config: { auth: true } }, ({ user }) => user)

  // The page calls it once, before it shows the login.
  app.post('/move', { config: { auth: false } }, async (request, reply) => {
    const { cookie = '', 'sec-fetch-site': site } = request.headers
    if (site !== 'same-origin') return reply.code(403).send({ error: 'Another site asks.' })
    const sid = oldSid(cookie, old.session)
    const session = sid === undefined ? undefined : await queries.takeOldSession(sid)
    reply.header('set-cookie', 'connect.sid=; Path=/; Max-Age=0')
    // Visitors who never logged in have a session too.
    const id = session?.passport?.user
    if (id === undefined) return reply.code(401).send({ error: 'Please log in.' })
    // As a number: a text would be a name, and another user may have that one.
    return app.authn.sessions.begin(Number(id), request, reply)
  })
  return app
}
