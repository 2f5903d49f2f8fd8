import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { onceAMinute } from '../common/once-a-minute.js'
import { faultOf, isAuthenticationError, isUsageError, rejection } from '../errors/errors.js'
import { emailOf } from '../mail/email.js'
import { ownSqlState, wrappedIn } from '../stores/sql-errors.js'
import { kFindForLogin, kLoginName, refused } from '../users/user.js'
import { isUserId } from './rules.js'
import type { UserRow, UserStore, UserStoreFactory } from '../../types/users.js'
import type { UserService } from '../../types/user-service.js'

/** A store and its user service, which all registrations with this store share: their users are the same. */
export interface UserTable {
  readonly service: UserService<UserRow>
  /** Of the first registration. */
  log?: FastifyBaseLogger
  /** The apps whose registrations have this table, in this process. */
  readonly apps: Set<FastifyInstance>
  /** Calls the store. @throws (rejects) ERR_AUTH_STORE_UNAVAILABLE, AuthenticationFault ERR_AUTH_USERS */
  ask<T>(work: (store: UserStore) => Promise<T>): Promise<T>
}

const tables = new WeakMap<UserStoreFactory, UserTable>()

export function userTableOf(factory: UserStoreFactory): UserTable {
  const table = tables.get(factory) ?? openTable(factory)
  tables.set(factory, table)
  return table
}

function openTable(factory: UserStoreFactory): UserTable {
  const store = factory.open()
  const isLogDue = onceAMinute()
  const failed = (error: unknown): unknown => {
    if (isAuthenticationError(error) || isUsageError(error)) return error
    const { code, message } = problemOf(error)
    if (error instanceof TypeError || !isUnavailable(code))
      return faultOf('ERR_AUTH_USERS', new Error(`${message} (${code ?? 'TypeError'})`))
    if (isLogDue()) table.log?.error({ code, reason: message }, 'The store of users is unavailable')
    return rejection('auth.overloaded', { code: 'ERR_AUTH_STORE_UNAVAILABLE', retryAfter: 2 })
  }
  const find = async (name: string | number): Promise<UserRow | null> => {
    if (typeof name !== 'string') return null
    if (isUserId(name)) return table.ask((each) => each.find(name))
    const email = emailOf(name)
    return email === null ? null : table.ask((each) => each.findByEmail(email))
  }
  const service = {
    async findByUsername(name: string | number) {
      const user = await find(name)
      return user === null || user.disabledAt === null ? user : null
    },
    // An id is no name at a login: failures would be counted for it apart.
    [kLoginName]: emailOf,
    async [kFindForLogin](name: string | number) {
      const user = await find(name)
      if (user === null || user.disabledAt === null) return user
      // A store may return the same object again when the user is enabled.
      const copy = { ...user }
      refused.set(copy, 'auth.account-disabled')
      return copy
    },
    updatePasswordHash: (user: UserRow, password: string, previous: string) =>
      table.ask((each) => each.swap(user.id, { password }, { password: previous })),
  }
  const table: UserTable = {
    service,
    apps: new Set(),
    async ask(work) {
      try {
        return await work(store)
      } catch (error) {
        throw failed(error)
      }
    },
  }
  return table
}

/** Connection exception, insufficient resources, operator intervention. */
const isUnavailable = (code: string | undefined): boolean =>
  code === undefined || /^(?:08|53|57)/.test(code)

/**
 * What a log may have of an error: ORMs and drivers put values around it, and PostgreSQL at the end of some messages. Those
 * without a SQLSTATE are of connections.
 */
function problemOf(error: unknown) {
  const chain = wrappedIn(error)
  const found = chain.find(ownSqlState) ?? chain.findLast(({ message }) => message) ?? {}
  const code = ownSqlState(found)
  // The store has added the command that makes the tables.
  const message = (code === '42P01' ? chain[0] : found)?.message
  const cut = (typeof message === 'string' ? message : 'unknown error').replace(
    /(?:: "|=\(|\n).*$/s,
    ' …',
  )
  return { code, message: code === undefined ? cut.replace(/'.*$/s, '…') : cut }
}
