import Fastify from 'fastify'
import authn from 'fastify-authn'
import { linkIdentity, one, unlinkIdentity, userOf } from './identities.js'

export const app = Fastify()
const byName = 'select * from users where id::text = $1 or email = lower($1)'
await app.register(authn, {
  userService: { findByUsername: (name) => one(byName, [String(name)]) },
  jwt: { secret: process.env.AUTH_JWT_SECRET },
  login: { usernameField: 'email', subject: (user) => user.id },
  sessions: true,
  cookies: true,
  loginWith: {
    google: {
      issuer: 'https://accounts.google.com',
      clientId: '1234-abcd.apps.googleusercontent.com',
      clientSecret: process.env.GOOGLE_CLIENT_SECRET,
      username: ({ iss, sub, email, email_verified: isVerified }) =>
        userOf(iss, sub, isVerified === true ? email : null),
      link: ({ iss, sub }, user) => linkIdentity(iss, sub, user.id),
    },
  },
})

const text = { type: 'string' }
const body = {
  type: 'object',
  required: ['issuer', 'subject'],
  properties: { issuer: text, subject: text },
}

app.post<{ Body: { issuer: string; subject: string } }>(
  '/identities/unlink',
  { config: { auth: { fresh: 600 } }, schema: { body } },
  async (request, reply) => {
    const { issuer, subject } = request.body
    if (await unlinkIdentity(issuer, subject, request.user.id)) return reply.code(204).send()
    return reply.code(409).send({ error: 'This is your only way to log in.' })
  },
)
