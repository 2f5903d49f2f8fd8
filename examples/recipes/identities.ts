import { Pool } from 'pg'

export const schema = `
  create table users (
    id bigint generated always as identity primary key,
    email text unique,
    password text
  );
  create table identities (
    issuer text,
    subject text,
    user_id bigint not null references users on delete cascade,
    primary key (issuer, subject)
  );`

export const pool = new Pool()
// Without this, the process ends when PostgreSQL restarts.
pool.on('error', (error) => console.error('PostgreSQL:', error.message))
/** The first row, or undefined. */
export const one = async (sql: string, values: unknown[]) => (await pool.query(sql, values)).rows[0]

const known = 'select user_id from identities where issuer = $1 and subject = $2'

/**
 * The id of the user who has an account at a provider: a new user if no user has it.
 *
 * @param email - of a new user, if the provider has verified it; it is left out if another user has it
 */
export async function userOf(
  issuer: string,
  subject: string,
  email?: string | null,
): Promise<string | undefined> {
  const row =
    (await one(known, [issuer, subject])) ??
    // Of two logins at the same moment, one inserts both rows, and the other one waits for it and inserts none.
    (await one(
      `with identity as (
         insert into identities values ($1, $2, nextval(pg_get_serial_sequence('users', 'id')))
         on conflict do nothing returning user_id
       )
       insert into users (id, email) overriding system value
       select user_id, (select lower($3) where not exists (select from users where email = lower($3)))
       from identity returning id as user_id`,
      [issuer, subject, email],
    )) ??
    (await one(known, [issuer, subject]))
  return row?.user_id
}

/** Links an account at a provider to a user. Undefined if another user has it. */
export const linkIdentity = (issuer: string, subject: string, userId: unknown) =>
  one(
    `insert into identities values ($1, $2, $3)
     on conflict (issuer, subject) do update set user_id = excluded.user_id
     where identities.user_id = excluded.user_id returning user_id`,
    [issuer, subject, userId],
  )

/** Takes an account at a provider from its user. Undefined if the user has no other way to log in. */
export const unlinkIdentity = (issuer: string, subject: string, userId: unknown) =>
  one(
    // The lock makes a second one that runs at the same moment see what is left.
    `with mine as (select from identities where user_id = $3 for update)
     delete from identities using users
     where issuer = $1 and subject = $2 and user_id = $3 and users.id = $3
       and (users.password is not null or (select count(*) from mine) > 1)
     returning user_id`,
    [issuer, subject, userId],
  )
