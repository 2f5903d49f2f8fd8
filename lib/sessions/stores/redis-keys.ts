import { createHash } from 'node:crypto'
import { scripts, type ScriptName } from './redis-scripts.js'

/** The members of an ioredis client that are used, be it for one server or a cluster. */
export interface RedisClient {
  readonly status?: string
  readonly options?: { readonly keyPrefix?: string | Buffer | undefined }
  evalsha(digest: string, keys: number, ...values: string[]): Promise<unknown>
  eval(script: string, keys: number, ...values: string[]): Promise<unknown>
  duplicate(): RedisSubscriber
}

/** The members of its second connection that are used. */
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

/** The states of a client that has lost its connection. Before the first connection, commands wait for it. */
const lost: ReadonlySet<string | undefined> = new Set(['reconnecting', 'close', 'end'])

/** The keys of one registration in Redis. */
export class RedisKeys {
  readonly #client: RedisClient
  readonly #root: string

  constructor(client: RedisClient, root: string) {
    this.#client = client
    this.#root = root
  }

  /** Runs a script, whose text is only sent to a server that has not cached it. */
  async run(name: ScriptName, ...values: readonly (string | number)[]): Promise<unknown> {
    const { status } = this.#client
    // ioredis would keep the command until there is a connection again.
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
   * Calls a function for every revocation that Redis publishes, on a connection of its own. While that is lost, so are
   * the messages.
   *
   * @returns a function that closes it
   */
  listen(hint: () => void): () => void {
    const subscriber = this.#client.duplicate()
    const { keyPrefix = '' } = this.#client.options ?? {}
    // ioredis adds the prefix of the client to keys, but not to names of channels.
    const channel = `${keyPrefix.toString()}${this.#root}:revoked`
    const ignore = (): void => undefined
    // Without a listener an error would end the process. The client of the app has the same errors.
    subscriber.on('error', ignore)
    subscriber.on('message', hint)
    const subscribe = (): void => void subscriber.subscribe(channel).then(hint, ignore)
    subscriber.on('ready', subscribe)
    // With lazyConnect it connects at its first command.
    subscribe()
    return () => subscriber.disconnect()
  }
}
