import { createRequire } from 'node:module'
import path from 'node:path'
import { unescape } from 'node:querystring'
import { pathToFileURL } from 'node:url'
import { redisSessions, sqlSessions } from '../sessions/index.js'
import { fail, misuse } from './command.js'
import type { SessionStore } from '../../types/sessions.js'

/** What is used of ioredis and of pg, whose errors say more than that there is no answer. */
interface Client {
  on(event: 'error', listener: (error: unknown) => void): void
}
interface Redis extends Client {
  disconnect(): void
}
interface Pool extends Client {
  query(text: string, params: unknown[]): Promise<{ rows: unknown[] }>
  end(): Promise<void>
}

/** A store that has been opened for one command, over a connection of its own. */
interface Opened {
  readonly store: SessionStore
  readonly client: Client
  close(): void | Promise<void>
}

type Open = (url: string, prefix: string, registration: string) => Promise<Opened>

const openRedis: Open = async (url, prefix, registration) => {
  const { Redis } = await packageOf<{ Redis: new (...args: unknown[]) => Redis }>('ioredis')
  const client = new Redis(url, { retryStrategy: () => null })
  const store = redisSessions(client, { prefix }).open(registration)
  return { store, client, close: () => client.disconnect() }
}

const openDatabase: Open = async (url, prefix, registration) => {
  const { Pool } = (await packageOf<{ default: { Pool: new (options: object) => Pool } }>('pg'))
    .default
  const client = new Pool({ connectionString: url, max: 1, connectionTimeoutMillis: 2000 })
  const query = (text: string, params: unknown[]) => client.query(text, params)
  const store = sqlSessions({ query, prefix }).open(registration)
  return { store, client, close: () => client.end() }
}

/** The variables that name a store, and how it is opened. */
const openers = new Map([
  ['AUTH_SESSIONS_REDIS_URL', openRedis],
  ['AUTH_SESSIONS_DATABASE_URL', openDatabase],
])
export const storeVariables: readonly string[] = [...openers.keys()]

/**
 * Lets a command work with the store that the environment names.
 *
 * @throws CliError when none is named, or it cannot be reached
 */
export async function withStore<Result>(
  { prefix, registration }: { prefix: string; registration: string },
  work: (store: SessionStore) => Promise<Result>,
): Promise<Result> {
  const [found, other] = [...openers].filter(([variable]) => process.env[variable])
  const names = storeVariables.join(' and ')
  if (found === undefined) {
    return fail(
      `no store is named: ${names} are not set.`,
      'Set one, such as redis://localhost:6379 or postgres://user@localhost/app, or name a file that does: --env .env',
    )
  }
  if (other !== undefined) misuse(`${names} are both set. Which one is it?`)
  const [variable, open] = found
  const url = String(process.env[variable])
  if (!storeUrl.test(url) || !URL.canParse(url)) {
    // What the packages say of such a value would quote parts of the password.
    fail(
      `${variable} is not the URL of a store.`,
      'Expected redis://user:password@host:6379 or postgres://user:password@host:5432/app. Characters such as / @ ? # in a password have to be percent-encoded: %2F %40 %3F %23',
    )
  }
  let opened: Opened | undefined
  let lastError: unknown
  try {
    opened = await open(url, prefix, registration)
    opened.client.on('error', (error) => {
      lastError = error
    })
    return await work(opened.store)
  } catch (error) {
    const reason = withoutPasswords(reasonOf(lastError ?? error), new URL(url))
    return fail(`the store that ${variable} names cannot be used: ${reason}`)
  } finally {
    await opened?.close()
  }
}

/** A package of the app in whose folder the command runs. */
async function packageOf<Module>(name: string): Promise<Module> {
  const load = createRequire(path.join(process.cwd(), 'package.json'))
  let file: string
  try {
    file = load.resolve(name)
  } catch {
    throw new Error(
      `the package ${name} is not installed here. Run the command in the folder of the app, or: npm install ${name}`,
    )
  }
  return (await import(pathToFileURL(file).href)) as Module
}

/** Errors of connections have a code, and sometimes no message. */
function reasonOf(error: unknown): string {
  const { code, message } = error as Partial<NodeJS.ErrnoException>
  return [code, message].filter(Boolean).join(': ')
}

/** With an `@` before the host only: after it, what is taken for the host may be a part of the password. */
const storeUrl = /^(?:rediss?|postgres(?:ql)?):\/\/(?:[^@/?#]*@)?[^@]*$/

/** Masks the password of a URL, also one in a parameter, as it is written and decoded. */
function withoutPasswords(text: string, { password, search }: URL): string {
  const inSearch = [...search.matchAll(/pass[^=&]*=([^&]*)/gi)].map(([, value]) => String(value))
  return [password, ...inSearch]
    .flatMap((each) => [each, unescape(each), unescape(each.replaceAll('+', ' '))])
    .filter((each) => each !== '')
    .toSorted((one, other) => other.length - one.length)
    .reduce((masked, secret) => masked.replaceAll(secret, '***'), text)
}
