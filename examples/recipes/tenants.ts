import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { authn, type AccountMail } from 'fastify-authn'
import { memoryApiKeys } from 'fastify-authn/api-keys'

declare module 'fastify-authn' {
  interface AuthUser {
    id: number
    email: string
  }
}

export const schema = `create table users (
  id bigint generated always as identity primary key, -- unique over all tenants
  tenant text not null,
  email text not null,
  password text not null,
  unique (tenant, email)
)`

interface Member {
  readonly id: number
  readonly tenant: string
  readonly email: string
  readonly password: string
}

/** Your query function: it resolves to rows. */
export type Query = (sql: string, values: unknown[]) => Promise<Member[]>

const byName = 'select * from users where tenant = $1 and (id::text = $2 or email = lower($2))'
const insert = `insert into users (tenant, email, password) values ($1, $2, $3)
on conflict do nothing returning id`
const update = `update users set email = $1, password = $2
where id = $3 and email = $4 and password = $5 returning id`

/** `acme` of `acme.shop.example`. The client chooses it, so nothing but a look-up may trust it. */
const tenantOf = ({ hostname }: FastifyRequest): string => hostname.split('.')[0] ?? ''

export async function buildApp(
  secret: string,
  query: Query,
  sendMail: (mail: AccountMail) => unknown,
): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(authn, {
    userService: {
      findByUsername: async (name, request) =>
        (await query(byName, [tenantOf(request), String(name)]))[0],
    },
    jwt: { secret },
    login: { usernameField: 'email', subject: ({ id }) => id },
    sessions: true,
    apiKeys: { prefix: 'shop_test', store: memoryApiKeys() },
    accounts: {
      url: 'https://shop.example/account',
      sendMail,
      signUp: false,
      async create({ email, passwordHash, invitation }, request) {
        const tenant = tenantOf(request)
        // An invitation to one tenant does not open another one.
        if (Object(invitation).tenant !== tenant) return null
        return (await query(insert, [tenant, email, passwordHash]))[0]
      },
      update: async (user, after, before) => {
        const values = [after.email, after.passwordHash, user.id, before.email, before.passwordHash]
        return (await query(update, values))[0]
      },
    },
  })

  app.get('/me', { config: { auth: { use: ['jwt', 'apiKey'] } } }, ({ user }) => user)
  app.post('/keys', { config: { auth: { use: 'jwt' } } }, ({ user }) => {
    const expiresAt = new Date(Date.now() + 90 * 86_400_000)
    // The id again: the other tenant may have the same address.
    return app.authn.apiKeys.issue({ owner: String(user.id), name: 'job', scopes: [], expiresAt })
  })
  return app
}
