import type { AccountsOptions, ApiKeys } from 'fastify-authn'
import type { Database } from './database.js'
import type { createMailbox } from './mailbox.js'

/** The option `accounts`, over the table of users. */
export function accountOptions(
  database: Database,
  apiKeys: ApiKeys,
  { sendMail }: ReturnType<typeof createMailbox>,
): AccountsOptions {
  return {
    // The mailbox shows links without host and port, which are not known yet.
    url: 'http://localhost/app',

    async create({ email, passwordHash }) {
      // Sessions, tokens and API keys are those of a name, so a name must never go to another person. With the id in it,
      // which is never used again, it is unique; without an @, it is nobody's address.
      const created = await database.query(
        `with next as (select nextval(pg_get_serial_sequence('demo_users', 'id')) as id)
         insert into demo_users (id, name, email, role, password) overriding system value
         select id, $1 || '-' || id, $2, 'author', $3 from next
         on conflict do nothing returning id`,
        [nameOf(email), email, passwordHash],
      )
      return created.length > 0
    },

    async update({ id }, after, before) {
      const updated = await database.query(
        `update demo_users set email = $4, password = $5
         where id = $1 and email is not distinct from $2 and password is not distinct from $3
         returning id`,
        [id, before.email, before.passwordHash, after.email, after.passwordHash],
      )
      return updated.length > 0
    },

    async remove({ id, name }) {
      // alice and bob are added again at the next start: their old keys must not work then.
      for (const key of await apiKeys.list(name)) await apiKeys.revoke(key.id, { owner: name })
      // Notes go with their owner.
      await database.query('delete from demo_users where id = $1', [id])
    },

    sendMail,
  }
}

/** The beginning of a name, from what is before the @. */
function nameOf(email: string): string {
  const [local = ''] = email.split('@')
  return (
    local
      .match(/[a-z0-9]+/g)
      ?.join('-')
      .slice(0, 24) ?? 'user'
  )
}
