import { randomUUID } from 'node:crypto'
import { isPlain } from '../../common/objects.js'
import { emailOf } from '../../mail/email.js'
import { resolveHashing } from '../../passwords/hashing.js'
import { readHash } from '../../passwords/verify.js'
import {
  areRoles,
  isOwnColumn,
  isUserId,
  isUserName,
  nameRule,
  rolesRule,
} from '../../users-table/rules.js'
import { isUsableName } from '../../users/user.js'
import { quoted } from '../text.js'
import type { Identity } from '../../../types/users.js'

/** A user as a line of a file has it. */
export interface Line {
  /** By the columns of the table. */
  readonly user: {
    readonly id: string
    readonly email: string | null
    readonly [column: string]: unknown
  }
  readonly identities: readonly Identity[]
  /** Otherwise the id was made here. */
  readonly hasId: boolean
}

const hashing = resolveHashing({})
const date = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d))?$/
const isText = (value: unknown): value is string => typeof value === 'string' && isUsableName(value)

/** @returns what is wrong with a line, without a value of it @param columns - those that the app has added */
export function readLine(
  text: string,
  columns: readonly string[],
  anyHash: boolean,
): Line | string {
  const value: unknown = jsonOf(text.replace(/^\ufeff/, ''))
  if (!isPlain(value)) return 'it is no JSON object'
  if (text.includes('\ufffd')) return 'it is not UTF-8, or has the character U+FFFD'
  const {
    id = null,
    email = null,
    passwordHash = null,
    name = null,
    roles,
    createdAt,
    identities,
    ...own
  } = value
  const unknown = Object.keys(own).find((each) => isOwnColumn(each) || !columns.includes(each))
  if (unknown !== undefined) return `${quoted(unknown)} is no column that the app has added`
  const uuid = typeof id === 'string' ? id.toLowerCase() : null
  if (id !== null && (uuid === null || !isUserId(uuid))) return 'id: expected a UUID'
  const address = typeof email === 'string' ? emailOf(email) : null
  if (email !== null && address === null) return 'email: expected an address, or null'
  const accounts = readIdentities(identities ?? [])
  if (accounts === null) {
    return 'identities: expected an array of { provider, issuer, subject }, which are text'
  }
  if (uuid === null && address === null && accounts.length === 0) {
    return 'expected an id, an email or identities'
  }
  if (!isUserName(name)) return `name: expected ${nameRule}`
  if (!areRoles(roles ?? [])) {
    return `roles: expected ${rolesRule}`
  }
  const start = createdAt ?? new Date().toISOString()
  if (typeof start !== 'string' || !date.test(start)) {
    return 'createdAt: expected an ISO date, with a time zone if it has a time'
  }
  const read = passwordHash === null ? null : readHash(passwordHash, hashing)
  if (read?.hash === null && !(anyHash && isText(passwordHash))) {
    return `passwordHash: ${read.reason}${anyHash ? '' : '. With --any-hash, other hashes are stored too'}`
  }
  const user = {
    ...own,
    id: uuid ?? randomUUID(),
    email: address,
    name,
    roles: roles ?? [],
    password: passwordHash,
    // A date alone would be one of the time zone of the connection.
    created_at: start.length > 10 ? start : `${start}T00:00Z`,
  }
  return { user, identities: accounts, hasId: uuid !== null }
}

/** @returns undefined for what is no JSON */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {}
  return undefined
}

function readIdentities(value: unknown): Identity[] | null {
  if (!Array.isArray(value)) return null
  const read = value.map((each) => {
    const { provider, issuer, subject } = Object(each) as Record<string, unknown>
    return [provider, issuer, subject].every(isText) ? { provider, issuer, subject } : null
  })
  return read.includes(null) ? null : (read as Identity[])
}
