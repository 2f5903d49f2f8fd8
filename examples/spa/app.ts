// A single-page app whose token is in memory only: no cookie, no storage, no refresh token.
//
// A token lives for five minutes. The page renews it before it ends, at a route that wants a token that is
// still good: nothing that has expired is ever worth anything again. When that came too late (the computer
// slept), or the session is over, the page asks for the password and repeats the request that failed.
// A session is eight hours long at most: the time of the login goes from token to token, and no token
// outlives it, so that a stolen one cannot be renewed for ever either. Whom the user service does not know
// any longer is out at once.
//
// What it costs: a reload of the page, and every new tab, is a login; the browser's password manager makes
// that one click. What the other ways cost: storage can be read by any script that gets into the page, and
// a cookie with a refresh token needs CSRF protection, and a table to revoke it in.
import { readFile } from 'node:fs/promises'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import {
  authn,
  AuthenticationError,
  hashPassword,
  jwtAuthenticator,
  JwtService,
  type Authenticator,
  type UserService,
} from 'fastify-authn'
import { isProgram, start } from '../support/start.js'

declare module 'fastify-authn' {
  interface AuthUser {
    id: number
    username: string
  }
  interface StoredUser {
    password: string
  }
}

/** Seconds: of a token, and of all tokens that follow from one login. */
const lifetimes = { token: 300, session: 8 * 60 * 60 }

const now = (): number => Math.floor(Date.now() / 1000)

/** When the session of a valid token began (`auth_time`, OpenID Connect); NaN where it does not say. */
function beginOf({ extra }: FastifyRequest): number {
  const { auth_time: began } = extra.jwtClaims ?? {}
  return typeof began === 'number' ? began : Number.NaN
}

/** Tokens of a session that is not over. */
function renewable(session: number): Authenticator {
  const tokens = jwtAuthenticator()
  return {
    ...tokens,
    async authenticate(request) {
      const user = await tokens.authenticate(request)
      if (user === null || beginOf(request) + session > now()) return user
      throw new AuthenticationError('auth.jwt-expired')
    },
  }
}

export async function buildApp(
  userService: UserService,
  { token, session } = lifetimes,
): Promise<FastifyInstance> {
  const app = Fastify()
  const jwtService = new JwtService({ secret: process.env.AUTH_JWT_SECRET })
  const issue = (username: string, began: number): string => {
    const exp = Math.min(now() + token, began + session)
    return jwtService.generateTokenWithClaims({ sub: username, auth_time: began, exp })
  }
  await app.register(authn, {
    userService,
    jwtService,
    authenticators: { renewable: renewable(session) },
    login: { tokenFunc: (_request, { username }) => issue(username, now()) },
  })

  app.post('/renew', { config: { auth: { use: 'renewable' } } }, (request, reply) =>
    reply
      .header('cache-control', 'no-store')
      .send({ token: issue(request.user.username, beginOf(request)) }),
  )
  app.get('/api/me', { config: { auth: true } }, (request) => request.user)
  await app.register(page)
  return app
}

/** Nothing but the files of the page runs in it, and it talks to nobody but us. */
const headers = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

async function page(app: FastifyInstance): Promise<void> {
  app.addHook('onSend', async (_request, reply) => void reply.headers(headers))
  for (const [url, file, type] of [
    ['/', 'index.html', 'text/html'],
    ['/page.js', 'page.js', 'text/javascript'],
    ['/session.js', 'session.js', 'text/javascript'],
    ['/page.css', 'page.css', 'text/css'],
  ] as const) {
    const content = await readFile(new URL(`public/${file}`, import.meta.url))
    app.get(url, (_request, reply) => reply.type(`${type}; charset=utf-8`).send(content))
  }
}

if (isProgram(import.meta.url)) {
  const alice = { id: 1, username: 'alice', password: await hashPassword('wonderland-1865') }
  const app = await buildApp({
    findByUsername: (username) => (username === 'alice' ? alice : null),
  })
  await start(app, '# or open it in a browser: alice, wonderland-1865', 'curl -i $URL/')
}
