import { createHash } from 'node:crypto'
import { ifUnset, wrongOption } from '../errors/errors.js'

/** The members of an ioredis client that run scripts, be it for one server or a cluster. */
export interface ScriptClient {
  readonly status?: string
  evalsha(digest: string, keys: number, ...values: string[]): Promise<unknown>
  eval(script: string, keys: number, ...values: string[]): Promise<unknown>
}

export type RunScript<Name extends string> = (
  name: Name,
  ...values: readonly (string | number)[]
) => Promise<unknown>

/** The states of a client that has lost its connection. Before the first connection, commands wait for it. */
const lost: ReadonlySet<string | undefined> = new Set(['reconnecting', 'close', 'end'])

/** Runs Lua scripts, whose text is only sent to a server without it. @param root - `KEYS[1]` of all scripts */
export function runnerOf<Name extends string>(
  client: ScriptClient,
  root: string,
  scripts: Readonly<Record<Name, string>>,
): RunScript<Name> {
  const digestOf = (script: string): string => createHash('sha1').update(script).digest('hex')
  const digests = new Map(Object.values<string>(scripts).map((each) => [each, digestOf(each)]))
  return async (name, ...values) => {
    const { status } = client
    // ioredis would keep the command until there is a connection again.
    if (lost.has(status)) throw new Error(`the Redis client is not ready, but ${status}`)
    const script = scripts[name]
    const texts = values.map(String)
    try {
      return await client.evalsha(digests.get(script) as string, 1, root, ...texts)
    } catch (error) {
      if (!String((error as Error).message).startsWith('NOSCRIPT')) throw error
      return client.eval(script, 1, root, ...texts)
    }
  }
}

export function openRedis<Client>(
  client: unknown,
  options: { readonly prefix?: unknown } | undefined,
  factory: string,
  methods: readonly string[],
): { readonly client: Client; readonly prefix: string } {
  const members = Object(client) as Record<string, unknown>
  if (methods.some((method) => typeof members[method] !== 'function')) {
    wrongOption(
      `${factory}(client): found no client of ioredis, which has the methods ${methods.join(', ')}. Expected: ${factory}(new Redis(url), { prefix: 'shop' }).`,
    )
  }
  const prefix = checkStorePrefix(options?.prefix, `${factory}(client, { prefix })`)
  return { client: client as Client, prefix }
}

export function checkStorePrefix(prefix: unknown, where: string): string {
  if (typeof prefix === 'string' && /^[\w.:-]{1,64}$/.test(prefix)) return prefix
  return wrongOption(
    `${where}: found ${JSON.stringify(prefix)}${prefix === undefined ? ifUnset : ''}, expected the name of the app, 1 to 64 letters, digits and _ . : -, as in { prefix: 'shop' }.`,
  )
}
