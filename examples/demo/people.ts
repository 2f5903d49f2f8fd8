import type { Users } from 'fastify-authn'
import type { TableUser } from 'fastify-authn/users'
import type { Database } from './database.js'

// Said once, and `request.user` has a type in every handler of the app.
declare module 'fastify-authn' {
  interface AuthUser extends TableUser {}
  /** What is in the table, and never in `request.user`: the hash, which a {@link newcomer} lacks. */
  interface StoredUser {
    password: string | null
  }
}

/** People that are there from the start. Their passwords are printed: they protect nothing. */
export const demoUsers = [
  {
    name: 'alice',
    email: 'alice@example.org',
    roles: ['admin', 'editor'],
    password: 'wonderland-1865',
  },
  { name: 'bob', email: 'bob@example.org', roles: ['author'], password: 'builder-1999' },
] as const

/** Whom only the provider knows, until the first login there: a user with neither an address nor a password. */
export const newcomer = 'dora'

/**
 * What every user may do with notes, and so all that an API key may be allowed: a key has its own scopes, as far as its
 * owner has them too (the option `access.scopesOf`).
 */
export const peopleScopes = ['notes:read', 'notes:write'] as const

/** Adds the demo users that are not there yet, each with an account at the provider and two notes. */
export async function seedUsers(users: Users, database: Database, issuer: string): Promise<void> {
  // The address of the provider, and so its issuer, is another one at each start.
  await database.query(
    `delete from demo_identities o using demo_identities n
     where n.subject = o.subject and n.created > o.created`,
  )
  await database.query('update demo_identities set issuer = $1', [issuer])
  for (const person of demoUsers) {
    const user = await users.create(person, null)
    // It is there already.
    if (user === null) continue
    await database.query(
      `with identity as (
         insert into demo_identities (issuer, subject, provider, user_id)
         values ($1, $2, 'demo', $3) on conflict do nothing
       )
       insert into demo_notes (owner_id, title, text, published) values
         ($3, 'Shopping', 'Tea, and no cake that says "eat me".', false),
         ($3, 'Hello', 'A note that anyone can read.', true)`,
      [issuer, person.name, user.id],
    )
  }
}
