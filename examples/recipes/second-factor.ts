import Fastify from 'fastify'
import authn from 'fastify-authn'
import { one } from './database.js' // one(sql, values): the first row, or undefined
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
  secondFactor: {
    key: process.env.SECOND_FACTOR_KEY ?? '',
    issuer: 'Shop',
    remember: 2_592_000,
    update: (user, after, before) =>
      one(
        `update users set "secondFactor" = $1
         where id = $2 and "secondFactor" is not distinct from $3 returning id`,
        [after, user.id, before],
      ),
  },
})
app.post('/transfers', { config: { auth: { mfa: true, fresh: 600 } } }, () => 'transferred')
await app.listen({ port: Number(process.env.PORT) })
