import Fastify, { type FastifyInstance } from 'fastify'
import { authn } from 'fastify-authn'
import { memoryApiKeys } from 'fastify-authn/api-keys'

declare module 'fastify-authn' {
  interface AuthUser {
    id: number
    email: string
  }
}

interface Person {
  readonly id: number
  readonly email: string
  readonly password: string
}

/** Your query function: it resolves to rows. */
export type Query = <Row = Person>(sql: string, values: unknown[]) => Promise<Row[]>

const byName = 'select * from users where id::text = $1 or email = lower($1)'
const insert = `insert into users (email, password) values ($1, $2)
on conflict do nothing returning id`
const update = `update users set email = $1, password = $2
where id = $3 and email = $4 and password = $5 returning id`
const logOf = `select at, event, address, details from audit_log
where registration = $1 and sub = $2 order by id`
const anonymize = `update audit_log set address = null, details = '{}'
where registration = $1 and sub = $2`

export async function buildApp(secret: string, query: Query): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(authn, {
    userService: { findByUsername: async (name) => (await query(byName, [String(name)]))[0] },
    jwt: { secret },
    login: { usernameField: 'email', subject: ({ id }) => id },
    sessions: true,
    apiKeys: { prefix: 'shop_test', store: memoryApiKeys() },
    accounts: {
      url: 'https://shop.example/account',
      sendMail: () => undefined,
      create: async ({ email, passwordHash }) => (await query(insert, [email, passwordHash]))[0],
      update: async (user, after, before) => {
        const values = [after.email, after.passwordHash, user.id, before.email, before.passwordHash]
        return (await query(update, values))[0]
      },
      // The plugin revokes the sessions after that.
      async remove({ id }) {
        const owner = String(id)
        for (const key of await app.authn.apiKeys.list(owner)) {
          await app.authn.apiKeys.revoke(key.id, { owner })
        }
        await query(anonymize, [app.authn.registration, owner])
        await query('delete from users where id = $1', [id])
      },
    },
  })

  const { sessions, apiKeys, registration } = app.authn
  // A session that was left open must not be enough.
  app.get('/my/data', { config: { auth: { use: 'jwt', fresh: 600 } } }, async ({ user }) => ({
    account: user,
    sessions: await sessions.list(user.id),
    apiKeys: await apiKeys.list(String(user.id)),
    log: await query<object>(logOf, [registration, String(user.id)]),
  }))
  app.get('/me', { config: { auth: { use: ['jwt', 'apiKey'] } } }, ({ user }) => user)
  return app
}
