// A mobile app whose users log in at a provider, in the browser of the phone: the browser hands the login to the app.
import { createHash, randomUUID } from 'node:crypto'
import Fastify from 'fastify'
import authn, { AuthenticationError } from 'fastify-authn'
import { sqlUsers } from 'fastify-authn/users'
import { query } from './database.js' // with pg: (text, params) => pool.query(text, params)

export const app = Fastify()
const { AUTH_JWT_SECRET: secret } = process.env
const { GOOGLE_ID: clientId = '', GOOGLE_SECRET: clientSecret = '' } = process.env
await app.register(authn, {
  users: { store: sqlUsers({ query, prefix: 'shop' }) },
  jwt: { secret },
  sessions: true,
  cookies: { apps: true },
  loginWith: { google: { issuer: 'https://accounts.google.com', clientId, clientSecret } },
})

const typ = 'phone+jwt'
/**
 * An address that only your app opens: a universal link (iOS), an app link (Android). Its origin is not that of your pages,
 * or a script that was smuggled into one of them could read the code, and so turn cookies into tokens.
 */
const appUrl = 'https://app.shop.example/logged-in'
const challengeOf = (verifier: string) => createHash('sha256').update(verifier).digest('base64url')

// 1. The app makes a random verifier, keeps it, and opens
//    /login/google?returnTo=/app/code?challenge=<SHA-256 of the verifier, base64url>
// 2. After the login, the browser comes here, with its cookie, and is led to the app.
app.get<{ Querystring: { challenge: string } }>(
  '/app/code',
  {
    config: { auth: { fresh: 60 } },
    schema: {
      querystring: {
        type: 'object',
        required: ['challenge'],
        properties: { challenge: { type: 'string', pattern: '^[\\w-]{43}$' } },
      },
    },
  },
  (request, reply) => {
    const { sub, amr, auth_time } = request.extra.jwtClaims ?? {}
    const exp = Math.floor(Date.now() / 1000) + 60
    const claims = {
      sub,
      amr,
      auth_time,
      exp,
      jti: randomUUID(),
      challenge: request.query.challenge,
    }
    const code = app.jwtService.generateTokenWithClaims(claims, 'HS256', { typ })
    return reply.redirect(`${appUrl}#${code}`, 303)
  },
)

/** The codes of the last minute that were used. With several processes, keep them in Redis or a table. */
const used = new Map<string, number>()

// 3. The app sends the code and the verifier, with `Token-Delivery: body`, and gets tokens.
app.post<{ Body: { code: string; verifier: string } }>('/app/session', async (request, reply) => {
  const { code, verifier } = Object(request.body) as { code?: unknown; verifier?: unknown }
  const claims = app.jwtService.verify(String(code), 'HS256', { typ })
  const id = String(claims.jti)
  const now = Date.now()
  for (const [each, until] of used) if (until < now) used.delete(each)
  if (claims.challenge !== challengeOf(String(verifier)) || used.has(id))
    throw new AuthenticationError('auth.jwt-invalid')
  used.set(id, now + 120_000)
  const { amr, auth_time: authTime } = claims as { amr: string[]; auth_time: number }
  return app.authn.sessions.begin(String(claims.sub), request, reply, { amr, authTime })
})
