// A shop: users.ts with what the other recipes add. Its tables: `npx fastify-authn schema --prefix shop`, and audit-log.ts.
import Fastify from 'fastify'
import authn, { channels } from 'fastify-authn'
import { sqlApiKeys } from 'fastify-authn/api-keys'
import { sqlSessions } from 'fastify-authn/sessions'
import { sqlUsers } from 'fastify-authn/users'
import { writeAuditLog } from './audit-log.js'
import { query } from './database.js' // with pg: (text, params) => pool.query(text, params)
import { isNotLeaked } from './leaked-passwords.js'
import { mailer, subjects } from './mailer.js'
import { rememberMe } from './remember-me.js'
import { sendSecurityMails } from './security-mails.js'

const { AUTH_JWT_SECRET: secret, SECOND_FACTOR_KEY: key = '' } = process.env
const { GOOGLE_ID: clientId = '', GOOGLE_SECRET: clientSecret = '' } = process.env
// The address of your proxy, which terminates TLS.
export const app = Fastify({ logger: true, trustProxy: '127.0.0.1', requestTimeout: 30_000 })
rememberMe(app)
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
    acceptPassword: (password) => isNotLeaked(password),
    sendMail: ({ kind, to, link }) => mailer.send({ to, subject: subjects[kind], text: link }),
  },
  loginWith: { google: { issuer: 'https://accounts.google.com', clientId, clientSecret } },
  secondFactor: { key, issuer: 'Shop', page: '/account/code', remember: 2_592_000 },
  passkeys: { origin: 'https://shop.example', name: 'Shop' },
  apiKeys: { prefix: 'shop_live', store: sqlApiKeys({ query, prefix: 'shop' }) },
  requireMarks: true,
})
const { sessions, apiKeys, registration } = app.authn

const stopLog = writeAuditLog(query, (error) => app.log.error(error), 'shop_users')
const stopMails = sendSecurityMails(app, mailer.send)
// A deletion leaves the rows of the log, without what tells of the person. The API keys are revoked by then.
const anonymize = `update audit_log set address = null, details = '{}' where registration = $1 and sub = $2`
channels.user.subscribe(({ sub, action }) => {
  if (action !== 'removed') return
  query(anonymize, [registration, sub]).catch((error: unknown) => app.log.error(error))
})
app.addHook('onClose', async () => {
  await stopMails()
  await stopLog()
})

app.get('/health', { config: { auth: false } }, () => 'ok')
app.get('/orders', { config: { auth: { use: ['jwt', 'apiKey'] } } }, ({ user }) => [user.email])
app.post('/payments', { config: { auth: { fresh: 600 } } }, () => ({ paid: true }))

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

app.post('/keys', { config: { auth: { use: 'jwt', fresh: 600 } } }, ({ user }) => {
  const expiresAt = new Date(Date.now() + 90 * 86_400_000)
  return apiKeys.issue({ owner: user.id, name: 'job', scopes: [], expiresAt })
})
app.get('/keys', { config: { auth: { use: 'jwt' } } }, ({ user }) => apiKeys.list(user.id))
app.post<{ Body: { id: string } }>(
  '/keys/revoke',
  { config: { auth: { use: 'jwt' } } },
  async ({ user, body }, reply) => {
    const isRevoked = await apiKeys.revoke(body.id, { owner: user.id })
    return reply.code(isRevoked ? 204 : 404).send()
  },
)

const logOf = `select at, event, address, details from audit_log
where registration = $1 and sub = $2 order by id`
app.get('/my/data', { config: { auth: { use: 'jwt', fresh: 600 } } }, async ({ user }) => ({
  account: user,
  sessions: await sessions.list(user.id),
  apiKeys: await apiKeys.list(user.id),
  log: (await query(logOf, [registration, user.id])).rows,
}))

// All pages of admins need a second factor. An admin who has none gets a 401, and sets one up.
await app.register(
  async (admin) => {
    admin.get('/reports', ({ user }) => ({ for: user?.email }))
  },
  { prefix: '/back-office', auth: { role: 'admin', mfa: true } },
)

process.on('SIGTERM', () => void app.close())
await app.listen({ port: Number(process.env.PORT) })
