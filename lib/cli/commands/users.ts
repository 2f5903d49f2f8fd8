import { randomUUID } from 'node:crypto'
import { Argument, Option } from 'commander'
import type { Pool } from 'pg'
import { sqlSessions } from '../../sessions/index.js'
import { emailOf } from '../../mail/email.js'
import { sqlStateOf } from '../../stores/sql-errors.js'
import type { SqlOptions } from '../../stores/sql.js'
import { mostListed } from '../../users-table/api.js'
import { areRoles, isUserId, isUserName, nameRule, rolesRule } from '../../users-table/rules.js'
import { sqlUsers } from '../../users-table/stores/sql.js'
import { usersSchema } from '../../users-table/stores/sql-schema.js'
import { exits, fail, misuse, type Command, type Outcome } from '../command.js'
import { listOption, numberOption } from '../environment.js'
import { storeCommand, withStore, type StoreOptions } from '../store.js'
import { count, table } from '../text.js'
import { importFile, type ImportOptions } from '../users/import.js'
import { readAndHash } from './hash.js'
import type { UserFilter, UserRow, UserStore } from '../../../types/users.js'

/** The tables of an app with a prefix. */
interface Tables extends SqlOptions {
  readonly pool: Pool
  readonly registration: string
  readonly store: UserStore
}

const kind = {
  variable: 'AUTH_USERS',
  sql: (given: SqlOptions, pool: Pool) => {
    const factory = sqlUsers(given)
    const open = (registration: string): Tables => ({
      ...given,
      pool,
      registration,
      store: factory.open(),
    })
    return { open }
  },
}
const { details, options, schema } = storeCommand(kind, 'users', 'sessions.name', usersSchema)
/** Where no session is revoked, its registration has no meaning. */
const plain = options.filter((each) => each.long !== '--registration')
const registration = 'default'

const requireRoles = (roles: readonly string[]): readonly string[] =>
  areRoles(roles) ? roles : misuse(`roles: expected ${rolesRule}.`)

interface CreateOptions extends StoreOptions {
  readonly email: string
  readonly name?: string
  readonly role?: readonly string[]
}

const create: Command<CreateOptions> = {
  name: 'create',
  summary: 'create a user, such as the first admin; type the password, or pipe it in',
  details,
  options: [
    new Option('--email <address>', 'the e-mail address').makeOptionMandatory(),
    new Option('--name <name>', 'what the user is called'),
    listOption('--role <role>', 'a role, can be repeated; default: none'),
    ...plain,
  ],
  examples: ['npx fastify-authn users create --email ada@example.com --role admin --prefix shop'],
  exits: ['done', 'the address is taken, or the password cannot be hashed'],
  async run({ email: text, name = null, role = [], ...where }, _, io) {
    const email = emailOf(text) ?? misuse('--email: expected an e-mail address.')
    if (!isUserName(name)) misuse(`--name: expected ${nameRule}.`)
    const roles = requireRoles(role)
    const password = await readAndHash(io)
    const user = { id: randomUUID(), email, name, roles, password, columns: {} }
    const made = await withStore(kind, { ...where, registration }, ({ store }) =>
      store.create(user, null),
    )
    return made === null ? fail('the address is taken.') : { lines: [made.id], json: shown(made) }
  },
}

const list: Command<StoreOptions & UserFilter> = {
  name: 'list',
  summary: 'list users, the newest first, or by address',
  details,
  options: [
    new Option('--email <start>', 'the beginning of addresses'),
    new Option('--disabled', 'only users who are disabled'),
    new Option('--role <role>', 'only users with this role'),
    numberOption('--limit <n>', 'users of a page; default 50', 1, mostListed),
    new Option('--after <cursor>', 'the end of the page before'),
    ...plain,
  ],
  examples: ['npx fastify-authn users list --role admin --prefix shop --env .env'],
  exits: ['done', 'the store cannot be reached'],
  async run({ email, disabled, role, limit = 50, after, prefix }) {
    const start = email?.trim().toLowerCase()
    const { users: found, next } = await withStore(kind, { prefix, registration }, ({ store }) =>
      store.list({ email: start, disabled, role, limit, after }).catch((error: unknown) => {
        if (error instanceof RangeError) misuse('--after: expected what the page before has shown.')
        throw error
      }),
    )
    const rows = found.map((user) => [
      user.id,
      user.email ?? 'no address',
      user.name ?? '',
      user.roles.join(' ') || 'no roles',
      user.disabledAt === null ? '' : `disabled ${dateOf(user.disabledAt)}`,
    ])
    const lines = rows.length > 0 ? table(rows) : ['No users.']
    const aside = next === null ? [] : [`There are more: --after ${next}`]
    return { lines, aside, json: { users: found.map(shown), next } }
  },
}

const who = new Argument('<user>', 'the id or the e-mail address')

/** Works with a user. @throws CliError where there is none */
function withUser<Result>(
  where: StoreOptions,
  text: unknown,
  work: (user: UserRow, tables: Tables) => Promise<Result>,
): Promise<Result> {
  const id = String(text).toLowerCase()
  const email = emailOf(String(text))
  return withStore(kind, where, async (tables) => {
    const { store } = tables
    const byEmail = async () => (email === null ? null : store.findByEmail(email))
    const user = isUserId(id) ? await store.find(id) : await byEmail()
    return user === null ? fail('there is no such user.') : work(user, tables)
  })
}

/** @returns null where the tables are missing */
async function ifThere<Result>(work: Promise<Result>): Promise<Result | null> {
  return work.catch((error: unknown) => {
    if (sqlStateOf(error) !== '42P01') throw error
    return null
  })
}

/** Revokes the sessions of a user in all registrations. @returns null where the tables are missing */
async function logOut({ id }: UserRow, tables: Tables): Promise<number | null> {
  const { pool, prefix } = tables
  const found = await ifThere(
    // Also those where this user has no session now: an e-mail to log in may be on its way.
    pool.query<{ name: string }>(
      `SELECT registration AS name FROM ${prefix}_sessions UNION SELECT registration FROM ${prefix}_user_revocations`,
    ),
  )
  if (found === null) return null
  let revoked = 0
  for (const name of new Set([tables.registration, ...found.rows.map((row) => row.name)])) {
    const sessions = sqlSessions(tables).open(name)
    revoked += (await sessions.revoke({ sub: id }, 0, 'command line')).length
  }
  return revoked
}

const elsewhere = 'Sessions in Redis, in another database or with another prefix are not revoked.'

function done(what: string, user: UserRow, counts: readonly (number | null)[]): Outcome {
  const isMissing = counts.includes(null)
  const revoked = counts.reduce<number>((sum, each) => sum + (each ?? 0), 0)
  return {
    lines: [`${what}, ${count(revoked, 'session')} revoked.`],
    aside: [
      ...(isMissing ? ['The tables of the sessions are not in this database.'] : []),
      elsewhere,
    ],
    json: { id: user.id, sessions: isMissing ? null : revoked },
  }
}

function change(
  name: string,
  summary: string,
  work: (user: UserRow, tables: Tables) => Promise<Outcome>,
): Command<StoreOptions> {
  return {
    name,
    summary,
    details,
    arguments: [who],
    options,
    examples: [`npx fastify-authn users ${name} ada@example.com --prefix shop --env .env`],
    exits: ['done', 'there is no such user, or the store cannot be reached'],
    run: (where, [text]) => withUser(where, text, work),
  }
}

const disable = change(
  'disable',
  'disable a user, and revoke the sessions',
  async (user, tables) => {
    await tables.store.setDisabled(user.id, true)
    return done('Disabled', user, [await logOut(user, tables)])
  },
)

const enable = change('enable', 'let a disabled user log in again', async (user, tables) => {
  // A session may have begun while the user was disabled.
  const revoked = await logOut(user, tables)
  await tables.store.setDisabled(user.id, false)
  return done('Enabled', user, [revoked])
})

const remove = change(
  'remove',
  'delete a user, with sessions and API keys',
  async (user, tables) => {
    const { store, pool, prefix } = tables
    const before = await logOut(user, tables)
    await store.remove(user.id)
    // A login may have been under way.
    const outcome = done('Removed', user, [before, await logOut(user, tables)])
    const keys = await ifThere(
      pool.query(`DELETE FROM ${prefix}_api_keys WHERE owner = $1`, [user.id]),
    )
    const deleted = keys?.rowCount ?? null
    const said = deleted === null ? 'none in this database' : `${count(deleted, 'key')} deleted`
    const aside = [
      ...(outcome.aside ?? []),
      `API keys: ${said}. Keys in other stores are not deleted.`,
    ]
    return { ...outcome, aside, json: { ...outcome.json, apiKeys: deleted } }
  },
)

const roles: Command<StoreOptions & { readonly none?: boolean }> = {
  name: 'roles',
  summary: 'set the roles of a user, or print them',
  details,
  arguments: [who, new Argument('[role...]', 'all roles that the user has from now on')],
  options: [new Option('--none', 'take all roles away'), ...plain],
  examples: ['npx fastify-authn users roles ada@example.com admin support --prefix shop'],
  exits: ['done', 'there is no such user, or the store cannot be reached'],
  async run({ none, prefix }, [text, ...given]) {
    if (none && given.length > 0) misuse('expected either roles, or --none.')
    const next = requireRoles(given)
    const isSet = none === true || next.length > 0
    return withUser({ prefix, registration }, text, async ({ id, roles: stored }, { store }) => {
      if (isSet) await store.update(id, { roles: next, columns: {} })
      const now = isSet ? next : stored
      return { lines: now.length > 0 ? now : ['No roles.'], json: { id, roles: now } }
    })
  },
}

const importUsers: Command<StoreOptions & ImportOptions> = {
  name: 'import',
  summary: 'store users of another system, with their password hashes',
  details: `${details}
Each line of the file is a JSON object: { id, email, passwordHash, name, roles, createdAt, identities: [{ provider, issuer, subject }] }, and columns of your own.
All lines are checked before the first is stored. Users who are there are skipped, so that it can be run again.`,
  arguments: [new Argument('<file>', 'JSON lines; - for a pipe, with --skip')],
  options: [
    new Option('--skip', 'leave out lines that cannot be stored'),
    new Option('--any-hash', 'also hashes that only an entry of hashing.migrateFrom verifies'),
    ...plain,
  ],
  examples: ['npx fastify-authn users import users.jsonl --prefix shop --env .env'],
  exits: ['done', 'lines cannot be stored, or the store cannot be reached'],
  async run({ prefix, ...how }, [file], io) {
    const { problems, wrong, ...counts } = await withStore(
      kind,
      { prefix, registration },
      (tables) => importFile(String(file), how, tables, io),
    )
    const { imported, present } = counts
    const rest = wrong > problems.length ? [`${wrong - problems.length} more.`] : []
    return {
      exit: wrong > 0 && !how.skip ? exits.no : exits.done,
      lines: [
        `${count(imported, 'user')} imported, ${present} were there before, ${count(wrong, 'line')} left out.`,
      ],
      aside: [...problems.map(({ line, reason }) => `line ${line}: ${reason}`), ...rest],
      json: { ...counts, wrong, problems },
    }
  },
}

const all = [schema, create, list, disable, enable, roles, remove, importUsers] as Command[]

export const users: Command = {
  name: 'users',
  summary: 'print the SQL for users; create, list, disable, remove or import them',
  subcommands: all,
  examples: all.flatMap(({ examples }) => examples),
  exits: roles.exits,
}

const dateOf = (date: Date): string => date.toISOString().slice(0, 10)

function shown({ password: _hash, secondFactor: _factor, ...user }: UserRow): object {
  return user
}
