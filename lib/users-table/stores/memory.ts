import { isDeepStrictEqual } from 'node:util'
import { defaults } from '../../options/defaults.js'
import { checkStorePrefix } from '../../stores/redis.js'
import type { Passkey } from '../../../types/passkeys.js'
import type {
  Removed,
  UserIdentity,
  UserRow,
  UserStore,
  UserStoreFactory,
  WaysIn,
} from '../../../types/users.js'

/**
 * Keeps users in the memory of this process, for development and tests: a restart deletes all of them.
 * @param options - `prefix`: the name of the app. Default `fastify-authn`. `columns`: the names of columns of the app, which
 * are null in a new user without them. Default: any name is accepted
 * @throws ERR_AUTH_OPTION for a prefix that does not fit
 */
export function memoryUsers(
  options: { readonly prefix?: string; readonly columns?: readonly string[] } = {},
): UserStoreFactory {
  const { prefix: given = defaults.memoryPrefix, columns = null } = options
  const prefix = checkStorePrefix(given, 'memoryUsers({ prefix })')
  const store = memoryStore(columns)
  return { prefix, isLocal: true, open: () => store }
}

interface Entry {
  /** The place in the order in which users were created. */
  readonly at: number
  row: UserRow
  identities: readonly UserIdentity[]
  passkeys: readonly Passkey[]
}

/** The methods are atomic, because they await nothing. What they return is copied. */
function memoryStore(columns: readonly string[] | null): UserStore {
  const entries = new Map<string, Entry>()
  const all = (): Entry[] => [...entries.values()]
  const withEmail = (email: string) => all().find(({ row }) => row.email === email)
  const withIdentity = (issuer: string, subject: string) =>
    all().find(({ identities }) => identities.some(isOf(issuer, subject)))
  const withPasskey = (id: string) => all().find(({ passkeys }) => passkeys.some(hasId(id)))
  const shown = (entry: Entry | undefined): UserRow | null =>
    entry === undefined ? null : structuredClone(entry.row)
  /** @returns whether there is such a user */
  const change = (id: string, apply: (entry: Entry) => void): boolean => {
    const entry = entries.get(id)
    if (entry !== undefined) apply(entry)
    return entry !== undefined
  }
  let created = 0
  return {
    columns: async () => columns,
    find: async (id) => shown(entries.get(id)),
    findByEmail: async (email) => shown(withEmail(email)),
    findByIdentity: async (issuer, subject) => shown(withIdentity(issuer, subject)),
    async create({ columns: given, ...user }, identity) {
      const isTaken =
        entries.has(user.id) ||
        (user.email !== null && withEmail(user.email) !== undefined) ||
        (identity !== null && withIdentity(identity.issuer, identity.subject) !== undefined)
      if (isTaken) return null
      const own = Object.fromEntries((columns ?? []).map((name) => [name, null]))
      const times = { secondFactor: null, disabledAt: null, createdAt: new Date() }
      const row = structuredClone({ ...own, ...given, ...user, ...times })
      const identities = identity === null ? [] : [{ ...identity, created: new Date() }]
      const entry: Entry = { at: (created += 1), row, identities, passkeys: [] }
      entries.set(user.id, entry)
      return shown(entry)
    },
    update: async (id, { columns: given, ...changes }) =>
      change(id, (entry) => {
        entry.row = structuredClone({ ...entry.row, ...given, ...changes })
      }),
    async swap(id, after, before) {
      const entry = entries.get(id)
      if (entry === undefined) return false
      const isSame = Object.entries(before).every(([name, value]) => entry.row[name] === value)
      const { email = null } = after
      const owner = email === null ? undefined : withEmail(email)
      if (!isSame || (owner !== undefined && owner !== entry)) return false
      entry.row = { ...entry.row, ...after }
      return true
    },
    async setDisabled(id, isDisabled) {
      const entry = entries.get(id)
      if (entry === undefined) return null
      if ((entry.row.disabledAt !== null) === isDisabled) return false
      entry.row = { ...entry.row, disabledAt: isDisabled ? new Date() : null }
      return true
    },
    remove: async (id) => entries.delete(id),
    async list({ after, limit, email, disabled, role }) {
      if (after !== undefined && email === undefined && !/^\d+$/.test(after))
        throw new RangeError('after: no cursor of this store')
      const keyOf = ({ row, at }: Entry) => (email === undefined ? at : String(row.email))
      const isAfter = (entry: Entry): boolean => {
        if (after === undefined) return true
        return email === undefined ? entry.at < Number(after) : String(keyOf(entry)) > after
      }
      const matching = all().filter((entry) => {
        const { row } = entry
        const isListed = email === undefined || row.email?.startsWith(email) === true
        const isAsked = disabled === undefined || (row.disabledAt !== null) === disabled
        return isListed && isAsked && (role === undefined || row.roles.includes(role))
      })
      const sorted = matching
        .filter(isAfter)
        .toSorted((one, other) =>
          email === undefined ? other.at - one.at : keyOf(one) < keyOf(other) ? -1 : 1,
        )
      const page = sorted.slice(0, limit)
      const last = page.at(-1)
      const next = last !== undefined && sorted.length > limit ? String(keyOf(last)) : null
      return { users: page.map((entry) => structuredClone(entry.row)), next }
    },
    identities: async (id) => [...(entries.get(id)?.identities ?? [])],
    async link(id, identity) {
      const { issuer, subject } = identity
      const owner = withIdentity(issuer, subject)
      const entry = entries.get(id)
      if (owner !== undefined || entry === undefined) return owner !== undefined && owner === entry
      entry.identities = [...entry.identities, { ...identity, created: new Date() }]
      return true
    },
    async unlink(id, issuer, subject, ways) {
      const entry = entries.get(id)
      const left = entry?.identities.filter((each) => !isOf(issuer, subject)(each)) ?? []
      if (entry === undefined || left.length === entry.identities.length) return 'unknown'
      return settle({ ...entry, identities: left }, ways, entry)
    },
    passkeys: async (id) => structuredClone(entries.get(id)?.passkeys ?? []),
    async addPasskey(id, passkey) {
      if (withPasskey(passkey.id) !== undefined) return false
      return change(id, (entry) => {
        entry.passkeys = [...entry.passkeys, structuredClone(passkey)]
      })
    },
    async swapPasskey(id, after, before) {
      const entry = entries.get(id)
      const stored = entry?.passkeys.find(hasId(before.id))
      if (entry === undefined || !isDeepStrictEqual(stored, before)) return false
      entry.passkeys = entry.passkeys.map((each) =>
        each === stored ? structuredClone(after) : each,
      )
      return true
    },
    async removePasskey(id, passkey, ways) {
      const entry = entries.get(id)
      const left = entry?.passkeys.filter((each) => each.id !== passkey) ?? []
      if (entry === undefined || left.length === entry.passkeys.length) return 'unknown'
      return settle({ ...entry, passkeys: left }, ways, entry)
    },
  }
}

const hasId =
  (id: string) =>
  (each: { readonly id: string }): boolean =>
    each.id === id

const isOf =
  (issuer: string, subject: string) =>
  (each: UserIdentity): boolean =>
    each.issuer === issuer && each.subject === subject

/** Stores what is left of a user who has another way in. */
function settle(left: Entry, ways: WaysIn | null, entry: Entry): Removed {
  const { row, identities, passkeys } = left
  const hasWay =
    ways === null ||
    (ways.password && row.password !== null) ||
    (ways.passkeys && passkeys.length > 0) ||
    identities.some(({ issuer }) => ways.issuers.includes(issuer))
  if (!hasWay) return 'last'
  Object.assign(entry, { identities, passkeys })
  return 'removed'
}
