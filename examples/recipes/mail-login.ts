import Fastify from 'fastify'
import authn, { type LogInMail } from 'fastify-authn'
import { sqlSessions } from 'fastify-authn/sessions'
import { sqlUsers } from 'fastify-authn/users'
import { query } from './database.js' // with pg: (text, params) => pool.query(text, params)
import { mailer, subjects } from './mailer.js'
export const app = Fastify()
await app.register(authn, {
  users: { store: sqlUsers({ query, prefix: 'shop' }) },
  jwt: { secret: process.env.AUTH_JWT_SECRET },
  login: { passwords: false },
  sessions: { store: sqlSessions({ query, prefix: 'shop' }) },
  cookies: true,
  accounts: {
    url: 'https://shop.example/account',
    remove: true,
    sendMail(mail) {
      const text = mail.kind === 'log-in' ? textOf(mail, mail.user === null) : mail.link
      return mailer.send({ to: mail.to, subject: subjects[mail.kind], text })
    },
  },
  mailLogin: true,
})
app.get('/me', { config: { auth: true } }, ({ user }) => user)
await app.listen({ port: Number(process.env.PORT) })

function textOf(mail: LogInMail, isNew: boolean): string {
  const { link, code, sign, expiresIn, address, userAgent } = mail
  // Anyone can ask for an e-mail, with any text as their user agent.
  const names = ['Firefox', 'Chrome', 'Safari']
  const browser = names.find((name) => userAgent.includes(name)) ?? 'an unknown program'
  return `${isNew ? 'Create your account' : 'Log in'} at Shop:
${link}

Or type this code on the page that shows ${sign}: ${code}

One of them works, once, within ${expiresIn / 60} minutes. Do not share the code.
This was asked for from ${address}, with ${browser}.
If it was not you, do nothing: ${isNew ? 'there will be no account' : 'logging in takes this e-mail'}.
`
}
