import Fastify, { type FastifyInstance } from 'fastify'
import { authn, type AccountMail } from 'fastify-authn'

declare module 'fastify-authn' {
  interface AuthUser {
    id: number
    email: string
  }
}

export const schema = `create table users (
  id bigint generated always as identity primary key,
  email text not null unique,
  password text not null
);
create table memberships (
  user_id bigint not null references users on delete cascade,
  organization text not null,
  role text not null,
  primary key (user_id, organization)
);
create table invitations (
  id bigint generated always as identity primary key,
  organization text not null,
  email text not null,
  role text not null,
  expires_at timestamptz not null default now() + interval '7 days'
)`

interface Person {
  readonly id: number
  readonly email: string
  readonly password: string
}

/** Your query function: it resolves to rows. */
export type Query = <Row = Person>(sql: string, values: unknown[]) => Promise<Row[]>

const byName = 'select * from users where id::text = $1 or email = lower($1)'
const update = `update users set email = $1, password = $2
where id = $3 and email = $4 and password = $5 returning id`
const invite = `insert into invitations (organization, email, role) values ($1, lower($2), $3)
returning id`
/** The invitation is deleted, so it works once. */
const invited = `with invited as (
  delete from invitations where id::text = $1 and email = $2 and expires_at > now()
  returning organization, role
)`
const signUp = `${invited}, made as (
  insert into users (email, password) select $2, $3 from invited on conflict do nothing returning id
), member as (insert into memberships select id, organization, role from made, invited)
select id from made`
const accept = `${invited} insert into memberships select $3, organization, role from invited
on conflict (user_id, organization) do update set role = excluded.role returning organization`

interface Invitation {
  Params: { organization: string }
  Body: { email: string; role: string }
}
const body = {
  type: 'object',
  required: ['email', 'role'],
  properties: { email: { type: 'string', format: 'email' }, role: { enum: ['member', 'admin'] } },
}

export async function buildApp(
  secret: string,
  query: Query,
  sendMail: (mail: Pick<AccountMail, 'kind' | 'to' | 'token'>) => unknown,
): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(authn, {
    userService: { findByUsername: async (name) => (await query(byName, [String(name)]))[0] },
    jwt: { secret },
    login: { usernameField: 'email', subject: ({ id }) => id },
    sessions: true,
    access: {
      // The roles in the organization that the address of the route names.
      async rolesOf({ id }, request) {
        const { organization = '' } = Object(request.params) as { organization?: string }
        // It is read before the schema of the route is checked.
        if (!/^[\w-]+$/.test(organization)) return []
        const mine = 'select role from memberships where user_id = $1 and organization = $2'
        const rows = await query<{ role: string }>(mine, [id, organization])
        return rows.flatMap(({ role }) => (role === 'admin' ? ['admin', 'member'] : [role]))
      },
    },
    accounts: {
      url: 'https://shop.example/account',
      sendMail,
      signUp: false,
      create: async ({ email, passwordHash, invitation }) =>
        (await query(signUp, [String(Object(invitation).id), email, passwordHash]))[0],
      update: async (user, after, before) => {
        const values = [after.email, after.passwordHash, user.id, before.email, before.passwordHash]
        return (await query(update, values))[0]
      },
    },
  })

  app.post<Invitation>(
    '/organizations/:organization/invitations',
    { config: { auth: { role: 'admin' } }, schema: { body } },
    async (request, reply) => {
      const { email, role } = request.body
      const values = [request.params.organization, email, role]
      const [data] = await query(invite, values)
      const isNew = await app.authn.accounts.invite(email, request, { data })
      // Whoever has an account logs in, and accepts it there: the id is no secret, since the address has to be theirs.
      if (!isNew) await sendMail({ kind: 'invitation', to: email, token: String(data?.id) })
      // The same for both, so that it does not tell who has an account.
      return reply.code(202).send({})
    },
  )
  app.post<{ Params: { id: string } }>(
    '/invitations/:id/accept',
    { config: { auth: true }, schema: { params: { properties: { id: { pattern: '^\\d+$' } } } } },
    async ({ user, params }, reply) => {
      const [joined] = await query<object>(accept, [params.id, user.email, user.id])
      return joined ?? reply.code(404).send({ error: 'There is no such invitation.' })
    },
  )
  app.get<{ Params: { organization: string } }>(
    '/organizations/:organization/members',
    { config: { auth: { role: 'member' } } },
    ({ params }) =>
      query<object>(
        'select email, role from memberships join users on id = user_id where organization = $1',
        [params.organization],
      ),
  )
  return app
}
