import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import v8 from 'node:v8'
import type { Pool, PoolClient } from 'pg'
import { fail, misuse, type Io } from '../command.js'
import { codeOf } from '../input.js'
import { readLine, type Line } from './line.js'
import type { UserStore } from '../../../types/users.js'

export interface ImportOptions {
  readonly skip?: boolean
  readonly anyHash?: boolean
}

interface Tables {
  readonly prefix: string
  readonly pool: Pool
  readonly store: UserStore
}

const batchSize = 1000
const mostShown = 20
const longestLine = 2 ** 20
/** PostgreSQL knows no size of a table that was just filled, and would read all of it for each foreign key. */
const begin = 'BEGIN; SET LOCAL enable_seqscan = off'

/** Reads lines of JSON, checks them, and stores the users. */
export async function importFile(file: string, how: ImportOptions, tables: Tables, io: Io) {
  const isFile = file !== '-' && (await stat(file).catch(unreadable)).isFile()
  if (!isFile && !how.skip) {
    misuse(
      'a pipe cannot be read twice, to check all lines before the first is stored.',
      'Add --skip, which leaves out lines that cannot be stored.',
    )
  }
  // Otherwise V8 lets garbage grow to 100 MB before it collects any.
  v8.setFlagsFromString('--optimize-for-size')
  const columns = (await tables.store.columns()) ?? []
  const client = await tables.pool.connect()
  try {
    const pass = async (isStored: boolean) => {
      const stream = file === '-' ? io.stdin : createReadStream(file)
      const run = new Run(tables.prefix, client, isStored, io)
      await run.read(stream, (text) => readLine(text, columns, how.anyHash === true))
      return run
    }
    const checked = how.skip ? null : await pass(false)
    return checked !== null && checked.wrong > 0 ? checked.counts(0) : (await pass(true)).counts()
  } finally {
    client.release()
  }
}

const unreadable = (error: unknown): never => fail(`the file cannot be read (${codeOf(error)}).`)

/** One pass over the lines. Without `isStored`, each transaction is rolled back. */
class Run {
  wrong = 0
  readonly #problems: { line: number; reason: string }[] = []
  readonly #seen = new Set<string>()
  #imported = 0
  #present = 0

  constructor(
    readonly prefix: string,
    readonly client: PoolClient,
    readonly isStored: boolean,
    readonly io: Io,
  ) {}

  counts(imported = this.#imported) {
    const problems = this.#problems
    return { imported, present: this.#present, wrong: this.wrong, problems }
  }

  async read(
    stream: AsyncIterable<unknown>,
    parse: (text: string) => Line | string,
  ): Promise<void> {
    let batch = new Map<number, Line>()
    let at = 0
    for await (const text of linesOf(stream)) {
      at += 1
      if (text.trim() === '') continue
      const line = parse(text)
      const problem = typeof line === 'string' ? line : this.#again(line)
      if (typeof line === 'string' || problem !== null) this.#reject(at, String(problem))
      else batch.set(at, line)
      if (batch.size < batchSize) continue
      await this.#storeNew(batch)
      batch = new Map()
      this.#show(at)
    }
    await this.#storeNew(batch)
    this.#seen.clear()
    this.#show(at, '\n')
  }

  #show(at: number, end = ''): void {
    const { stderr } = this.io
    if (!('isTTY' in stderr) || stderr.isTTY !== true) return
    stderr.write(`\r${at} lines ${this.isStored ? 'stored' : 'checked'}${end}`)
  }

  #reject(line: number, reason: string): void {
    this.wrong += 1
    if (this.wrong <= mostShown) this.#problems.push({ line, reason })
  }

  #again({ user: { id, email }, identities, hasId }: Line): string | null {
    const keys = identities.map(({ issuer, subject }) => `${issuer}\n${subject}`)
    const all = [...(hasId ? [id] : []), ...(email === null ? [] : [email]), ...keys]
    const isFree = new Set(all).size === all.length && !all.some((key) => this.#seen.has(key))
    if (!isFree) return 'the id, address or an identity is in the file twice'
    for (const key of all) this.#seen.add(key)
    return null
  }

  async #storeNew(batch: ReadonlyMap<number, Line>): Promise<void> {
    const users = `${this.prefix}_users`
    const keys = [...batch].map(([line, { user, identities }]) => {
      return { line, id: user.id, email: user.email, identities }
    })
    await this.client.query(begin)
    // Each look-up is a subquery of its own: without statistics, PostgreSQL may join in an order that reads whole tables.
    const { rows } = await this.client.query<{ line: number; isOther: boolean }>(
      `
WITH line AS MATERIALIZED (
  SELECT * FROM jsonb_to_recordset($1::jsonb) AS l(line int, id uuid, email text, identities jsonb)
), owner AS MATERIALIZED (
  SELECT line, email AS wanted, (SELECT u.id FROM ${users} u WHERE u.id = line.id) AS id FROM line
  UNION ALL SELECT line, email, (SELECT u.id FROM ${users} u WHERE u.email = line.email) FROM line
  UNION ALL SELECT line, email, (
    SELECT i.user_id FROM ${this.prefix}_identities i WHERE i.issuer = k.issuer AND i.subject = k.subject
  ) FROM line, jsonb_to_recordset(identities) AS k(issuer text, subject text)
), known AS MATERIALIZED (
  SELECT line, wanted, id, (SELECT u.email FROM ${users} u WHERE u.id = owner.id) AS email
  FROM owner WHERE id IS NOT NULL
)
SELECT line, count(DISTINCT id) > 1 OR coalesce(bool_or(email <> wanted), false) AS "isOther"
FROM known GROUP BY line`,
      [JSON.stringify(keys)],
    )
    await this.client.query('COMMIT')
    const known = new Set(rows.map(({ line }) => line))
    for (const { line, isOther } of rows) {
      if (isOther) this.#reject(line, 'its id or an identity is that of another user')
      else this.#present += 1
    }
    // Lines without a column have its default, so that each set of columns has a statement of its own.
    const bySet = new Map<string, [number, Line][]>()
    for (const entry of batch) {
      if (known.has(entry[0])) continue
      const names = Object.keys(entry[1].user).toSorted().join()
      const lines = bySet.get(names) ?? []
      lines.push(entry)
      bySet.set(names, lines)
    }
    for (const lines of bySet.values()) await this.#insert(lines)
  }

  /** Where PostgreSQL rejects lines, halves are tried until it is clear which. */
  async #insert(lines: readonly [number, Line][]): Promise<void> {
    const { client, prefix } = this
    const names = Object.keys(lines[0]?.[1].user ?? {}).map((name) => client.escapeIdentifier(name))
    const users = lines.map(([, { user }]) => user)
    const identities = lines.flatMap(([, line]) =>
      line.identities.map((each) => ({ ...each, user_id: line.user.id })),
    )
    try {
      await client.query(begin)
      await client.query(
        `
WITH added AS (
  INSERT INTO ${prefix}_users (${names.join()})
  SELECT ${names.join()} FROM jsonb_populate_recordset(NULL::${prefix}_users, $1::jsonb)
)
INSERT INTO ${prefix}_identities (user_id, provider, issuer, subject)
SELECT * FROM jsonb_to_recordset($2::jsonb) AS i(user_id uuid, provider text, issuer text, subject text)`,
        [JSON.stringify(users), JSON.stringify(identities)],
      )
      await client.query(this.isStored ? 'COMMIT' : 'ROLLBACK')
      this.#imported += lines.length
    } catch (error) {
      await client.query('ROLLBACK')
      const { code, constraint, column } = error as Partial<Record<string, string>>
      // The data, a constraint, a limit of size, or a trigger of the app.
      if (!/^(?:22|23|54|P0)/.test(String(code))) throw error
      if (lines.length === 1) {
        const reason = [`SQLSTATE ${code}`, constraint ?? column ?? []].flat().join(', ')
        this.#reject(Number(lines[0]?.[0]), `PostgreSQL rejects it (${reason})`)
        return
      }
      const half = Math.ceil(lines.length / 2)
      await this.#insert(lines.slice(0, half))
      await this.#insert(lines.slice(half))
    }
  }
}

/** The lines of UTF-8. `node:readline` would also break them at U+2028, which JSON may have in a string. */
async function* linesOf(stream: AsyncIterable<unknown>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8')
  let rest = ''
  const chunks = stream[Symbol.asyncIterator]()
  for (;;) {
    const { done, value } = await chunks.next().catch(unreadable)
    const lines =
      `${rest}${decoder.decode(value as Uint8Array | undefined, { stream: !done })}`.split('\n')
    rest = done ? '' : String(lines.pop())
    if (rest.length > longestLine)
      fail('a line is longer than 1 MiB. Expected one JSON object in each line.')
    yield* lines
    if (done) return
  }
}
