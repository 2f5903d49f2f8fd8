import type { Passkey, PasskeysOptions, SecondFactorOptions, UserService } from 'fastify-authn'
import { secondFactorKey } from './keys.js'
import type { Settings } from './config.js'
import type { Database } from './database.js'

/** Users of the page, with the field that the option `secondFactor` reads. The other logins of the demo know no codes. */
export function withFactors(users: UserService, database: Database): UserService {
  return {
    ...users,
    async findByUsername(username, request) {
      const user = await users.findByUsername(username, request)
      if (!user) return user
      const [row] = await database.query<{ secondFactor: string | null }>(
        'select second_factor as "secondFactor" from demo_users where id = $1',
        [user.id],
      )
      return row && { ...user, ...row }
    },
  }
}

/** The options `secondFactor` and `passkeys`, over the database. */
export async function factorOptions(settings: Settings, database: Database) {
  const secondFactor: SecondFactorOptions = {
    key: await secondFactorKey(settings),
    issuer: 'fastify-authn demo',
    page: '/app/',
    async update({ id }, after, before) {
      const updated = await database.query(
        'update demo_users set second_factor = $1 where id = $2 and second_factor is not distinct from $3 returning id',
        [after, id, before],
      )
      return updated.length > 0
    },
  }
  const passkeys: PasskeysOptions = {
    // Passkeys belong to a domain, so not to 127.0.0.1. With PORT=0 the port is not known yet, and they do not work.
    origin: `http://localhost:${settings.port}`,
    name: 'fastify-authn demo',
    list: async ({ id }) => {
      const rows = await database.query<{ data: Passkey }>(
        'select data from demo_passkeys where owner_id = $1',
        [id],
      )
      return rows.map(({ data }) => data)
    },
    async add({ id }, passkey) {
      const added = await database.query(
        'insert into demo_passkeys values ($1, $2, $3) on conflict do nothing returning id',
        [passkey.id, id, JSON.stringify(passkey)],
      )
      return added.length > 0
    },
    async update(_user, after, before) {
      const updated = await database.query(
        'update demo_passkeys set data = $1::jsonb where id = $2 and data = $3::jsonb returning id',
        [JSON.stringify(after), before.id, JSON.stringify(before)],
      )
      return updated.length > 0
    },
    async remove({ id: owner }, id) {
      await database.query('delete from demo_passkeys where id = $1 and owner_id = $2', [id, owner])
    },
  }
  return { secondFactor, passkeys }
}
