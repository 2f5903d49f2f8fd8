import Fastify from 'fastify'
import authn, { type Passkey } from 'fastify-authn'
import { all, one } from './database.js' // the rows; the first row, or undefined
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
  passkeys: {
    origin: 'https://shop.example',
    name: 'Shop',
    list: async (user) =>
      (await all<{ data: Passkey }>('select data from passkeys where owner = $1', [user.id])).map(
        (row) => row.data,
      ),
    add: (user, passkey) =>
      one(
        `insert into passkeys (id, owner, data) values ($1, $2, $3)
         on conflict do nothing returning id`,
        [passkey.id, user.id, passkey],
      ),
    update: (user, after, before) =>
      one('update passkeys set data = $1 where id = $2 and data = $3 returning id', [
        after,
        before.id,
        before,
      ]),
    remove: (user, id) => one('delete from passkeys where id = $1 and owner = $2', [id, user.id]),
  },
})
app.post('/transfers', { config: { auth: { mfa: true, fresh: 600 } } }, (request) => request.user)
await app.listen({ port: Number(process.env.PORT) })
