import { isDeepStrictEqual } from 'node:util'
import { defaults } from '../../options/defaults.js'
import { checkStorePrefix } from '../../stores/redis.js'
import type { Passkey } from '../../../types/passkeys.js'
import type * as Users from '../../../types/users.js'

/**
 * Keeps users in the memory of this process, for development and tests: a restart deletes all of them.
 * @param options - `prefix`: the name of the app. Default `fastify-authn`. `columns`: the names of columns of the app, which
 * are null in a new user without them. Default: any name is accepted
 * @throws ERR_AUTH_OPTION for a prefix that does not fit
 */
export function memoryUsers(
  options: { readonly prefix?: string; readonly columns?: readonly string[] } = {},
): Users.UserStoreFactory {
  const { prefix: given = defaults.memoryPrefix, columns = null } = options
  const prefix = checkStorePrefix(given, 'memoryUsers({ prefix })')
  const store = memoryStore(columns)
  return { prefix, isLocal: true, open: () => store }
}

interface Entry {
  /** A number, which is larger for a user who was created later. */
  readonly at: number
  row: Users.UserRow
  identities: readonly Users.UserIdentity[]
  passkeys: readonly Passkey[]
}

/** The methods are atomic, because they await nothing. What they return is copied. */
function memoryStore(columns: readonly string[] | null): Users.UserStore {
  let entries: readonly Entry[] = []
  let created = 0
  const of = (id: string) => entries.find(({ row }) => row.id === id)
  const withEmail = (email: string | null) =>
    email === null ? undefined : entries.find(({ row }) => row.email === email)
  const withIdentity = (issuer: string, subject: string) =>
    entries.find(({ identities }) => identities.some(isIdentity(issuer, subject)))
  const shown = (entry: Entry | undefined): Users.UserRow | null =>
    entry === undefined ? null : structuredClone(entry.row)
  const change = (entry: Entry | undefined, changes: object): boolean => {
    if (entry !== undefined) entry.row = structuredClone({ ...entry.row, ...changes })
    return entry !== undefined
  }
  return {
    columns: async () => columns,
    find: async (id) => shown(of(id)),
    findByEmail: async (email) => shown(withEmail(email)),
    findByIdentity: async (issuer, subject) => shown(withIdentity(issuer, subject)),
    async create({ columns: given, ...user }, identity) {
      const owner = identity && withIdentity(identity.issuer, identity.subject)
      if (of(user.id) ?? withEmail(user.email) ?? owner) return null
      const own = Object.fromEntries((columns ?? []).map((name) => [name, null]))
      const times = { secondFactor: null, disabledAt: null, createdAt: new Date() }
      const row = structuredClone({ ...own, ...given, ...user, ...times })
      const identities = identity === null ? [] : [{ ...identity, created: new Date() }]
      const entry: Entry = { at: (created += 1), row, identities, passkeys: [] }
      entries = [entry, ...entries]
      return shown(entry)
    },
    update: async (id, { columns: given, ...changes }) => change(of(id), { ...given, ...changes }),
    async swap(id, after, before) {
      const entry = of(id)
      const owner = withEmail(after.email ?? null) ?? entry
      const isSame = Object.entries(before).every(([name, value]) => entry?.row[name] === value)
      return owner === entry && isSame && change(entry, after)
    },
    async setDisabled(id, isDisabled) {
      const entry = of(id)
      if (entry === undefined) return null
      if ((entry.row.disabledAt !== null) === isDisabled) return false
      return change(entry, { disabledAt: isDisabled ? new Date() : null })
    },
    async remove(id) {
      const { length } = entries
      entries = entries.filter(({ row }) => row.id !== id)
      return entries.length < length
    },
    async list({ after, limit, email, disabled, role }) {
      const isCursor = email === undefined ? /^\d+$/.test(after ?? '') : after?.startsWith(email)
      if (after !== undefined && !isCursor) throw new RangeError('after: no cursor of this store')
      const keyOf = ({ at, row }: Entry) => (email === undefined ? -at : String(row.email))
      const start = email === undefined ? -Number(after) : String(after)
      const found = entries
        .filter(({ row }) => email === undefined || row.email?.startsWith(email))
        .filter(({ row }) => disabled === undefined || (row.disabledAt !== null) === disabled)
        .filter(({ row }) => role === undefined || row.roles.includes(role))
        .filter((entry) => after === undefined || keyOf(entry) > start)
        .toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
      const page = found.slice(0, limit)
      const last = found.length > limit ? page.at(-1) : undefined
      const next = last && String(email === undefined ? last.at : last.row.email)
      return { users: page.map(({ row }) => structuredClone(row)), next: next ?? null }
    },
    identities: async (id) => structuredClone(of(id)?.identities ?? []),
    async link(id, identity) {
      const { issuer, subject } = identity
      const [owner, entry] = [withIdentity(issuer, subject), of(id)]
      if (owner !== undefined || entry === undefined) return owner !== undefined && owner === entry
      entry.identities = [...entry.identities, { ...identity, created: new Date() }]
      return true
    },
    async unlink(id, issuer, subject, ways) {
      const isOther = (each: Users.UserIdentity): boolean => !isIdentity(issuer, subject)(each)
      return settle(of(id), (entry) => ({ identities: entry.identities.filter(isOther) }), ways)
    },
    passkeys: async (id) => structuredClone(of(id)?.passkeys ?? []),
    async addPasskey(id, passkey) {
      const entry = of(id)
      const isTaken = entries.some(({ passkeys }) => passkeys.some(hasId(passkey.id)))
      if (entry === undefined || isTaken) return false
      entry.passkeys = [...entry.passkeys, structuredClone(passkey)]
      return true
    },
    async swapPasskey(id, after, before) {
      const entry = of(id)
      const at = entry?.passkeys.findIndex((each) => isDeepStrictEqual(each, before)) ?? -1
      if (entry === undefined || at < 0) return false
      entry.passkeys = entry.passkeys.with(at, structuredClone(after))
      return true
    },
    async removePasskey(id, passkey, ways) {
      const isOther = (each: Passkey): boolean => !hasId(passkey)(each)
      return settle(of(id), (entry) => ({ passkeys: entry.passkeys.filter(isOther) }), ways)
    },
  }
}

const hasId =
  (id: string) =>
  (each: Passkey): boolean =>
    each.id === id

const isIdentity =
  (issuer: string, subject: string) =>
  (each: Users.UserIdentity): boolean =>
    each.issuer === issuer && each.subject === subject

/** Stores what is left of a user who has another way in. */
function settle(
  entry: Entry | undefined,
  rest: (entry: Entry) => Partial<Entry>,
  ways: Users.WaysIn | null,
): Users.Removed {
  if (entry === undefined) return 'unknown'
  const left = { ...entry, ...rest(entry) }
  const countOf = ({ identities, passkeys }: Entry): number => identities.length + passkeys.length
  if (countOf(left) === countOf(entry)) return 'unknown'
  const hasWay =
    ways === null ||
    (ways.password && left.row.password !== null) ||
    (ways.passkeys && left.passkeys.length > 0) ||
    left.identities.some(({ issuer }) => ways.issuers.includes(issuer))
  if (!hasWay) return 'last'
  Object.assign(entry, left)
  return 'removed'
}
