import Fastify from 'fastify'
import authn from 'fastify-authn'
import { one } from './database.js' // one(sql, values): the first row, or undefined
import { mailer, subjects } from './mailer.js'
export const app = Fastify()
await app.register(authn, {
  userService: {
    findByUsername: (name) =>
      one('select * from users where id::text = $1 or email = lower($1)', [String(name)]),
  },
  jwt: { secret: process.env.AUTH_JWT_SECRET },
  login: { usernameField: 'email', subject: (user) => user.id },
  sessions: true,
  cookies: true,
  accounts: {
    url: 'https://shop.example/account',
    create: ({ email, passwordHash }) =>
      one(
        `insert into users (email, password) values ($1, $2)
         on conflict do nothing returning id`,
        [email, passwordHash],
      ),
    update: (user, after, before) =>
      one(
        `update users set email = $1, password = $2
         where id = $3 and email is not distinct from $4
         and password is not distinct from $5 returning id`,
        [after.email, after.passwordHash, user.id, before.email, before.passwordHash],
      ),
    sendMail: ({ kind, to, link }) => mailer.send({ to, subject: subjects[kind], text: link }),
  },
})
app.get('/me', { config: { auth: true } }, (request) => request.user)
await app.listen({ port: Number(process.env.PORT) })
