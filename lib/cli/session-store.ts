import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { redisSessions, sqlSessions } from '../sessions/index.js'
import { fail, misuse } from './command.js'
import { isError } from '../common/objects.js'
import type { Environment } from '../options/environment.js'
import type { SessionStore } from '../../types/sessions.js'

/** A store that has been opened for one command, over a connection of its own. */
interface Opened {
  readonly store: SessionStore
  /** What the connection last reported, which says more than that there is no answer. */
  readonly trouble: () => unknown
  close(): void | Promise<void>
}

type Open = (url: string, prefix: string | undefined, name: string) => Promise<Opened>

/** What is used of ioredis and of pg, which are packages of the app. */
interface Redis {
  on(event: 'error', listener: (error: unknown) => void): void
  disconnect(): void
}
interface Pool extends Redis {
  query(text: string, params: unknown[]): Promise<{ rows: unknown[] }>
  end(): Promise<void>
}

const openRedis: Open = async (url, prefix, name) => {
  const { Redis } = await packageOf<{ Redis: new (...args: unknown[]) => Redis }>('ioredis')
  const client = new Redis(url, { retryStrategy: () => null })
  return {
    store: redisSessions(client, { prefix }).open(name),
    trouble: lastError(client),
    close: () => client.disconnect(),
  }
}

const openDatabase: Open = async (url, prefix, name) => {
  const { Pool } = (await packageOf<{ default: { Pool: new (options: object) => Pool } }>('pg'))
    .default
  const pool = new Pool({ connectionString: url, max: 1, connectionTimeoutMillis: 2000 })
  return {
    store: sqlSessions({ query: (text, params) => pool.query(text, params), prefix }).open(name),
    trouble: lastError(pool),
    close: () => pool.end(),
  }
}

/** The variables that name a store, and how it is opened. */
export const storeVariables: Readonly<Record<string, Open>> = Object.assign(Object.create(null), {
  AUTH_SESSIONS_REDIS_URL: openRedis,
  AUTH_SESSIONS_DATABASE_URL: openDatabase,
})

/**
 * Lets a command work with the store that the environment names.
 *
 * @throws CliError when none is named, or it cannot be reached
 */
export async function withStore<Result>(
  env: Environment,
  { prefix, name }: { prefix: string | undefined; name: string },
  work: (store: SessionStore) => Promise<Result>,
): Promise<Result> {
  const names = Object.keys(storeVariables)
  const [variable, other] = names.filter((each) => (env[each] ?? '') !== '')
  if (variable === undefined) {
    return fail(
      `no store is named: ${names.join(' and ')} are not set.`,
      'Set one, such as redis://localhost:6379 or postgres://user@localhost/app, or name a file that does: --env .env',
    )
  }
  if (other !== undefined) misuse(`${names.join(' and ')} are both set. Which one is it?`)
  const opened = await (storeVariables[variable] as Open)(String(env[variable]), prefix, name)
  try {
    return await work(opened.store)
  } catch (error) {
    const reason = reasonOf(opened.trouble() ?? error)
    return fail(`the store that ${variable} names does not answer as it should: ${reason}`)
  } finally {
    await opened.close()
  }
}

/** A package of the app in whose folder the command runs. */
async function packageOf<Module>(name: string): Promise<Module> {
  const load = createRequire(path.join(process.cwd(), 'package.json'))
  let file: string
  try {
    file = load.resolve(name)
  } catch {
    return fail(
      `the package ${name} is not installed here.`,
      `Run the command in the folder of the app that has it, or install it: npm install ${name}`,
    )
  }
  return (await import(pathToFileURL(file).href)) as Module
}

function lastError(client: Redis): () => unknown {
  let last: unknown
  client.on('error', (error) => {
    last = error
  })
  return () => last
}

/** Errors of connections have a code, and sometimes no message. */
function reasonOf(error: unknown): string {
  const { code, message } = isError(error) ? (error as NodeJS.ErrnoException) : {}
  const parts = [code, message].filter((part) => part !== undefined && part !== '')
  return parts.join(': ') || 'unknown reason'
}
