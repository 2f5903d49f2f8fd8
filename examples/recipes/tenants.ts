import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { authn, type AccountMail } from 'fastify-authn'
import { memoryApiKeys } from 'fastify-authn/api-keys'

declare module 'fastify-authn' {
  interface AuthUser {
    id: number
    tenant?: string
    email: string
  }
}

export const schema = `create table users (
  id bigint generated always as identity primary key, -- unique over all tenants
  tenant text not null,
  email text not null,
  password text not null,
  unique (tenant, email)
);
create table invitations (
  id bigint generated always as identity primary key,
  tenant text not null,
  email text not null
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
const insert = `with invited as (
  delete from invitations where id::text = $1 and tenant = $2 and email = $3 returning tenant, email
)
insert into users (tenant, email, password) select tenant, email, $4 from invited
on conflict do nothing returning id`
const invite = 'insert into invitations (tenant, email) values ($1, lower($2)) returning id'
const remove = `with gone as (
  delete from users where tenant = $1 and email = lower($2) returning id
), uninvited as (delete from invitations where tenant = $1 and email = lower($2))
select id from gone`
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
      // An invitation works once, and does not open another tenant.
      create: async ({ email, passwordHash, invitation }, request) =>
        (
          await query(insert, [
            String(Object(invitation).id),
            tenantOf(request),
            email,
            passwordHash,
          ])
        )[0],
      update: async (user, after, before) => {
        const values = [after.email, after.passwordHash, user.id, before.email, before.passwordHash]
        return (await query(update, values))[0]
      },
    },
  })

  // In an app, both are for those who manage the members of a tenant.
  const schema = {
    body: {
      type: 'object',
      required: ['email'],
      properties: { email: { type: 'string', format: 'email' } },
    },
  }
  const managing = { config: { auth: { use: 'jwt' } }, schema } as const
  app.post<{ Body: { email: string } }>('/invitations', managing, async (request, reply) => {
    const { email } = request.body
    const [data] = await query(invite, [request.user.tenant, email])
    await app.authn.accounts.invite(email, request, { data })
    return reply.code(202).send({})
  })
  app.post<{ Body: { email: string } }>('/members/remove', managing, async (request, reply) => {
    const [member] = await query(remove, [request.user.tenant, request.body.email])
    if (member) await app.authn.sessions.revoke({ sub: member.id })
    return reply.code(204).send()
  })

  app.get('/me', { config: { auth: { use: ['jwt', 'apiKey'] } } }, ({ user }) => user)
  app.post('/keys', { config: { auth: { use: 'jwt' } } }, ({ user }) => {
    const expiresAt = new Date(Date.now() + 90 * 86_400_000)
    // The id again: the other tenant may have the same address.
    return app.authn.apiKeys.issue({ owner: String(user.id), name: 'job', scopes: [], expiresAt })
  })
  return app
}
