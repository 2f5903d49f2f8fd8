import { createHash } from 'node:crypto'
import { scripts, type ScriptName } from './redis-scripts.js'

/** What is used of a client of ioredis, be it of one server or of a cluster. */
export interface RedisClient {
  readonly status?: string
  readonly options?: { readonly keyPrefix?: string | Buffer | undefined }
  evalsha(digest: string, keys: number, ...values: string[]): Promise<unknown>
  eval(script: string, keys: number, ...values: string[]): Promise<unknown>
  duplicate(): RedisSubscriber
}

/** What is used of its second connection. */
interface RedisSubscriber {
  on(event: string, listener: () => void): unknown
  subscribe(channel: string): Promise<unknown>
  disconnect(): void
}

const digests = Object.fromEntries(
  Object.entries(scripts).map(([name, text]) => [
    name,
    createHash('sha1').update(text).digest('hex'),
  ]),
) as Readonly<Record<ScriptName, string>>

/** The states of a client that has lost its connection. Before its first one, ioredis waits for it. */
const lost: ReadonlySet<string | undefined> = new Set(['reconnecting', 'close', 'end'])

/** The keys of one registration in Redis. */
export class RedisKeys {
  readonly #client: RedisClient
  readonly #root: string

  constructor(client: RedisClient, root: string) {
    this.#client = client
    this.#root = root
  }

  /** Runs a script. It is sent as a whole only to a server that does not know it yet. */
  async run(name: ScriptName, ...values: readonly (string | number)[]): Promise<unknown> {
    const { status } = this.#client
    // Otherwise ioredis would keep the command until there is a connection again.
    if (lost.has(status)) throw new Error(`the Redis client is not ready, but ${status}`)
    const texts = values.map(String)
    try {
      return await this.#client.evalsha(digests[name], 1, this.#root, ...texts)
    } catch (error) {
      if (!String((error as Error).message).startsWith('NOSCRIPT')) throw error
      return this.#client.eval(scripts[name], 1, this.#root, ...texts)
    }
  }

  /**
   * Calls a function for every revocation that Redis publishes, on a connection of its own. Messages are lost while that
   * is away.
   *
   * @returns what closes it
   */
  listen(hint: () => void): () => void {
    const subscriber = this.#client.duplicate()
    const { keyPrefix = '' } = this.#client.options ?? {}
    // Scripts see their keys with the prefix of the client. Names of channels do not get it.
    const channel = `${keyPrefix.toString()}${this.#root}:revoked`
    const ignore = (): void => undefined
    // Without a listener an error would end the process. The app's own client reports the same ones.
    subscriber.on('error', ignore)
    subscriber.on('message', hint)
    const subscribe = (): void => void subscriber.subscribe(channel).then(hint, ignore)
    subscriber.on('ready', subscribe)
    // With lazyConnect it connects for a first command only.
    subscribe()
    return () => subscriber.disconnect()
  }
}
