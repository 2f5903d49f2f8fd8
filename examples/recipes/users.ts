import Fastify from 'fastify'
import authn from 'fastify-authn'
import { sqlSessions } from 'fastify-authn/sessions'
import { sqlUsers } from 'fastify-authn/users'
import { query } from './database.js' // with pg: (text, params) => pool.query(text, params)
import { mailer, subjects } from './mailer.js'
const { AUTH_JWT_SECRET: secret, SECOND_FACTOR_KEY: key = '' } = process.env
const { GOOGLE_ID: clientId = '', GOOGLE_SECRET: clientSecret = '' } = process.env
export const app = Fastify()
await app.register(authn, {
  users: {
    store: sqlUsers({ query, prefix: 'shop' }),
    admin: { auth: { role: 'admin', mfa: true, fresh: 3600 } },
  },
  jwt: { secret },
  sessions: { store: sqlSessions({ query, prefix: 'shop' }) },
  cookies: true,
  accounts: {
    url: 'https://shop.example/account',
    remove: true,
    sendMail: ({ kind, to, link }) => mailer.send({ to, subject: subjects[kind], text: link }),
  },
  loginWith: { google: { issuer: 'https://accounts.google.com', clientId, clientSecret } },
  secondFactor: { key, issuer: 'Shop', page: '/account/code' },
  passkeys: { origin: 'https://shop.example', name: 'Shop' },
})
const { sessions } = app.authn
app.get('/devices', { config: { auth: true } }, ({ user }) => sessions.list(user.id))
app.post<{ Body: { sid: string } }>(
  '/devices/remove',
  { config: { auth: { fresh: 600 } } },
  async ({ user, body: { sid } }, reply) => {
    const own = await sessions.list(user.id)
    if (own.some((each) => each.sid === sid)) await sessions.revoke({ sid })
    return reply.code(204).send()
  },
)
await app.listen({ port: Number(process.env.PORT) })
