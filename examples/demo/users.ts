import { hashPassword, type StoredUser, type UserService } from 'fastify-authn'
import type { Database } from './database.js'

// Said once, and `request.user` has a type in every handler of the app.
declare module 'fastify-authn' {
  interface AuthUser {
    id: number
    name: string
    /** Null until {@link newcomer} has set one. */
    email: string | null
    /** The field that marks with `role` look at by default: see the option `access`. */
    role: string | null
  }
  /** What is in the database, and never in `request.user`: the bcrypt hash. */
  interface StoredUser {
    /** Null until {@link newcomer} has set one. */
    password: string | null
  }
}

/** People that are there from the start. Their passwords are printed: they protect nothing. */
export const demoUsers = [
  { name: 'alice', email: 'alice@example.org', role: 'editor', password: 'wonderland-1865' },
  { name: 'bob', email: 'bob@example.org', role: 'author', password: 'builder-1999' },
] as const

/** Whom only the provider knows, until the first login there: a user with neither an address nor a password. */
export const newcomer = 'dora'

/** Adds the newcomer, once. */
export async function addNewcomer(database: Database): Promise<void> {
  await database.query(
    "insert into demo_users (name, role) values ($1, 'author') on conflict do nothing",
    [newcomer],
  )
  await database.query(
    'insert into demo_identities select name, id from demo_users where name = $1 on conflict do nothing',
    [newcomer],
  )
}

/**
 * What every user may do with notes, and so all that an API key may be allowed: a key has its own scopes, as far as its
 * owner has them too (the option `access.scopesOf`).
 */
export const peopleScopes = ['notes:read', 'notes:write'] as const

/**
 * The name of a user in tokens and sessions, whether the user has logged in by name or by address: an address may change, and
 * go to another person.
 */
export const subject = (user: StoredUser): string => user.name

/** Finds the users of Basic, of tokens, of logins and of mails in the database: by name or address. */
export function createUserService(database: Database): UserService {
  return {
    async findByUsername(username) {
      const [user] = await database.query<StoredUser>(
        'select id, name, email, role, password from demo_users where name = $1 or email = lower($1)',
        [String(username)],
      )
      return user
    },
    // Called when a password was right and its hash is weaker than new ones: see `hashing.cost`.
    async updatePasswordHash({ id }, passwordHash, previousHash) {
      // Changes nothing when the password has been changed meanwhile.
      await database.query('update demo_users set password = $2 where id = $1 and password = $3', [
        id,
        passwordHash,
        previousHash,
      ])
    },
  }
}

/** Adds the demo users that are not there yet, each with two notes. */
export async function seedUsers(database: Database, cost: number): Promise<void> {
  for (const { name, email, role, password } of demoUsers) {
    const present = await database.query(
      'update demo_users set role = coalesce(role, $2) where name = $1 returning 1',
      [name, role],
    )
    if (present.length > 0) continue
    // In one statement, and so all or nothing, also when two demos start on one database.
    await database.query(
      `with person as (
         insert into demo_users (name, email, role, password) values ($1, $2, $3, $4)
         on conflict do nothing returning id
       )
       insert into demo_notes (owner_id, title, text, published)
       select id, title, text, published from person, (values
         ('Shopping', 'Tea, and no cake that says "eat me".', false),
         ('Hello', 'A note that anyone can read.', true)
       ) as note (title, text, published)`,
      [name, email, role, await hashPassword(password, { cost })],
    )
  }
}
