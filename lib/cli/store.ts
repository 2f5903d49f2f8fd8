import { createRequire } from 'node:module'
import path from 'node:path'
import { unescape } from 'node:querystring'
import { pathToFileURL } from 'node:url'
import { Option } from 'commander'
import type { Pool } from 'pg'
import { isUsageError } from '../errors/errors.js'
import { defaults } from '../options/defaults.js'
import { checkSqlPrefix, type SqlOptions, type SqlQuery } from '../stores/sql.js'
import { CliError, fail, misuse, type Command } from './command.js'
import { envOption } from './environment.js'

export interface StoreKind<Store> {
  /** The start of the variables that name one: `<name>_REDIS_URL` and `<name>_DATABASE_URL`. */
  readonly variable: string
  /** Without it, the variable of the sessions in PostgreSQL counts where its own is not set. */
  redis?(client: object, options: { prefix: string }): { open(registration: string): Store }
  sql(options: SqlOptions, pool: Pool): { open(registration: string): Store }
}

/** A factory over a connection of its own, for one command. The errors of the client say more than those of the store. */
async function connect<Store>(
  kind: StoreKind<Store>,
  isRedis: boolean,
  url: string,
  prefix: string,
) {
  if (isRedis && kind.redis !== undefined) {
    const { Redis } = await packageOf<typeof import('ioredis')>('ioredis')
    const client = new Redis(url, { retryStrategy: () => null })
    return { factory: kind.redis(client, { prefix }), client, close: () => client.disconnect() }
  }
  const { default: pg } = await packageOf<typeof import('pg')>('pg')
  const client = new pg.Pool({ connectionString: url, max: 1, connectionTimeoutMillis: 2000 })
  const query: SqlQuery = (text, params) => client.query(text, params)
  return { factory: kind.sql({ query, prefix }, client), client, close: () => client.end() }
}

function variablesOf({ variable, redis }: StoreKind<unknown>): [string, string] {
  const own = `${variable}_DATABASE_URL`
  return redis === undefined ? [own, 'AUTH_SESSIONS_DATABASE_URL'] : [`${variable}_REDIS_URL`, own]
}

export interface StoreOptions {
  readonly prefix: string
  readonly registration: string
}

const prefixOption = new Option(
  '--prefix <prefix>',
  'the prefix of the store in the app',
).makeOptionMandatory()

/** Makes what all commands over a store share. @param option - the option of the plugin that names a registration */
export function storeCommand(
  kind: StoreKind<unknown>,
  name: string,
  option: string,
  schemaOf: (prefix: string) => string,
) {
  const packages = kind.redis === undefined ? 'pg' : 'ioredis or pg'
  const details = `Uses the store that ${variablesOf(kind).join(' or ')} names, with the ${packages} that is installed in the current folder.`
  const registrationOption = new Option('--registration <name>', `the option ${option} of the app`)
  const options = [prefixOption, registrationOption.default(defaults.store.name), envOption]
  const schema = schemaCommand(`${name} schema`, 'print the SQL of the tables', schemaOf)
  return { details, options, schema }
}

export function schemaCommand(
  words: string,
  summary: string,
  schemaOf: (prefix: string) => string,
): Command<StoreOptions> {
  return {
    name: 'schema',
    summary: `${summary} for PostgreSQL`,
    options: [prefixOption],
    examples: [`npx fastify-authn ${words} --prefix shop | psql app`],
    exits: ['done', 'the prefix is not a plain identifier'],
    run({ prefix }) {
      const sql = schemaOf(checkSqlPrefix(prefix, 'option --prefix', '--prefix shop'))
      return { lines: [sql], json: { sql } }
    },
  }
}

/** Lets a command work with the store that the environment names. @throws CliError when none is, or it fails */
export async function withStore<Store, Result>(
  kind: StoreKind<Store>,
  { prefix, registration }: StoreOptions,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const names = variablesOf(kind).join(' and ')
  const [variable, second] = variablesOf(kind).filter((each) => process.env[each])
  if (second !== undefined && kind.redis !== undefined)
    misuse(`${names} are both set. Set only one of them.`)
  if (variable === undefined) {
    return fail(
      `no store is named: ${names} are not set.`,
      'Set one, such as redis://localhost:6379 or postgres://user@localhost/app, or name a file that does: --env .env',
    )
  }
  const url = String(process.env[variable])
  if (!storeUrl.test(url) || !URL.canParse(url)) {
    // The errors of the packages would quote parts of the password.
    fail(
      `${variable} is not the URL of a store.`,
      'Expected redis://user:password@host:6379 or postgres://user:password@host:5432/app. Characters such as / @ ? # in a password have to be percent-encoded: %2F %40 %3F %23',
    )
  }
  let opened: Awaited<ReturnType<typeof connect<Store>>> | undefined
  let lastError: unknown
  try {
    opened = await connect(kind, variable.endsWith('REDIS_URL'), url, prefix)
    opened.client.on('error', (error: unknown) => (lastError = error))
    return await work(opened.factory.open(registration))
  } catch (error) {
    if (error instanceof CliError) throw error
    if (isUsageError(error)) misuse(error.message.replace('fastify-authn: ', ''))
    // Errors of connections have a code, and sometimes no message.
    const { code, message } = (lastError ?? error) as Partial<NodeJS.ErrnoException>
    const reason = withoutPasswords([code, message].filter(Boolean).join(': '), new URL(url))
    return fail(`the store that ${variable} names cannot be used: ${reason}`)
  } finally {
    // The work is done, or has failed for a reason of its own.
    await Promise.resolve(opened?.close()).catch(() => undefined)
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

/** An `@` may stand before the host only: after a second one, the supposed host may be a part of the password. */
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
