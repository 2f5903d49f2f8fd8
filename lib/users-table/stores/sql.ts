import { openSql, type Row, type RowsOf, type SqlOptions } from '../../stores/sql.js'
import { isUserId } from '../rules.js'
import { sqlStatements } from './sql-statements.js'
import { identityOf, userOf } from './sql-rows.js'
import type { Passkey } from '../../../types/passkeys.js'
import type {
  Removed,
  UserRow,
  UserSecrets,
  UserStore,
  UserStoreFactory,
  WaysIn,
} from '../../../types/users.js'

/**
 * Keeps users in PostgreSQL 13 or later, in tables that `npx fastify-authn users schema` prints.
 * @param options - `query`: runs one statement, as `pool.query` of `pg` and `db.query` of PGlite do, on any connection.
 * `prefix`: the name of the app, with which the names of the tables begin: at most 40 characters of a-z, 0-9 and _, the
 * first of them no digit
 * @throws ERR_AUTH_OPTION for a prefix that does not fit, or if `query` is no function
 * @example
 * sqlUsers({ query: (text, params) => pool.query(text, params), prefix: 'shop' })
 */
export function sqlUsers(options: SqlOptions): UserStoreFactory {
  const { prefix, rows } = openSql(options, { factory: 'sqlUsers', command: 'users' })
  const store = storeOver(rows, prefix)
  return { prefix, isLocal: false, open: () => store }
}

/** The cursor of a list: when the last user of the page before was created, in microseconds, and the id of that user. */
const cursor = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)\.([\da-f-]{36})$/

function storeOver(rows: RowsOf, prefix: string): UserStore {
  const sql = sqlStatements(prefix)
  const one = async (text: string, ...params: (string | null)[]): Promise<UserRow | null> => {
    const [row] = await rows(text, params)
    return row === undefined ? null : userOf(row)
  }
  const isDone = async (text: string, ...params: (string | null)[]): Promise<boolean> =>
    (await rows(text, params)).length > 0
  const findByEmail = (email: string) => one(sql.findByEmail, email)
  const findByIdentity = (issuer: string, subject: string) =>
    one(sql.findByIdentity, issuer, subject)
  const removal = async (text: string, ...params: (string | null)[]): Promise<Removed> => {
    const [row] = await rows(text, params)
    return (row?.result ?? 'unknown') as Removed
  }
  return {
    columns: async () => (await rows(sql.columns, [])).map(({ name }) => String(name)),
    find: (id) => one(sql.find, id),
    findByEmail,
    findByIdentity,
    async create({ columns, ...user }, identity) {
      const row = JSON.stringify({ ...columns, ...user })
      const names = [...Object.keys(user), ...Object.keys(columns)]
      try {
        if (identity === null) return await one(sql.create(names), row)
        const { issuer, subject, provider } = identity
        return await one(sql.createWith(names), row, issuer, subject, provider)
      } catch (error) {
        // Another statement has taken the address or the identity at the same moment.
        const { email, id } = user
        const found = [await one(sql.find, id), email && (await findByEmail(email))]
        if (identity !== null) found.push(await findByIdentity(identity.issuer, identity.subject))
        if (found.some(Boolean)) return null
        throw error
      }
    },
    update: (id, { columns, ...changes }) => {
      const names = [...Object.keys(changes), ...Object.keys(columns)]
      return isDone(sql.update(names), id, JSON.stringify({ ...columns, ...changes }))
    },
    async swap(id, after, before) {
      const params = [id, ...membersOf(after), ...membersOf(before)]
      try {
        return await isDone(sql.swap(namesOf(after), namesOf(before)), ...params)
      } catch (error) {
        const owner = after.email ? await findByEmail(after.email) : null
        if (owner !== null && owner.id !== id) return false
        throw error
      }
    },
    async setDisabled(id, isDisabled) {
      const [row] = await rows(sql.setDisabled(isDisabled), [id])
      return row === undefined ? null : row.changed === true || row.changed === 't'
    },
    remove: (id) => isDone(sql.remove, id),
    async list({ after, limit, email, disabled, role }) {
      const [, time, id] = (email === undefined && cursor.exec(after ?? '')) || []
      const isCursor =
        email === undefined ? isTime(time) && isUserId(String(id)) : after?.startsWith(email)
      if (after !== undefined && !isCursor) throw new RangeError('after: no cursor of this store')
      const asked = { time, id, email, after: email === undefined ? undefined : after, role }
      const { text, params } = sql.list(asked, disabled, limit + 1)
      const found = await rows(text, params)
      const users = found.slice(0, limit).map((row) => userOf(row))
      const last = found[limit - 1]
      const isMore = found.length > limit && last !== undefined
      const next =
        email === undefined
          ? `${String(last?.fastify_authn_cursor)}.${String(last?.id)}`
          : String(last?.email)
      return { users, next: isMore ? next : null }
    },
    identities: async (id) => (await rows(sql.identities, [id])).map(identityOf),
    link: (id, { issuer, subject, provider }) => isDone(sql.link, id, issuer, subject, provider),
    unlink: (id, issuer, subject, ways) =>
      removal(sql.unlink, id, JSON.stringify(ways), issuer, subject),
    passkeys: async (id) => (await rows(sql.passkeys, [id])).map(passkeyOf),
    addPasskey: (id, passkey) => isDone(sql.addPasskey, id, passkey.id, JSON.stringify(passkey)),
    swapPasskey: (id, after, before) =>
      isDone(sql.swapPasskey, id, before.id, JSON.stringify(after), JSON.stringify(before)),
    removePasskey: (id, passkey, ways: WaysIn | null) =>
      removal(sql.removePasskey, id, JSON.stringify(ways), passkey),
  }
}

/** Whether PostgreSQL can read a time of a cursor: there is no 30 February, and no year 0. */
function isTime(time: string | undefined): boolean {
  const date = new Date(`${time?.slice(0, 23)}Z`)
  const isReal = !Number.isNaN(date.getTime()) && date.getUTCFullYear() > 0
  return isReal && time?.slice(0, 23) === date.toISOString().slice(0, 23)
}

const members = ['email', 'password', 'secondFactor'] as const
const namesOf = (secrets: UserSecrets) => members.filter((name) => secrets[name] !== undefined)
const membersOf = (secrets: UserSecrets): (string | null)[] =>
  namesOf(secrets).map((name) => secrets[name] ?? null)
const passkeyOf = ({ data }: Row): Passkey => JSON.parse(String(data)) as Passkey
