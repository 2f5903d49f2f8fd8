import { runnerOf, type RunScript, type ScriptClient } from '../../stores/redis.js'
import { scripts, type ScriptName } from './redis-scripts.js'

/** The members of an ioredis client that are used, be it for one server or a cluster. */
export interface RedisClient extends ScriptClient {
  readonly options?: { readonly keyPrefix?: string | Buffer | undefined }
  duplicate(): RedisSubscriber
}

/** The members of its second connection that are used. */
interface RedisSubscriber {
  on(event: string, listener: () => void): unknown
  subscribe(channel: string): Promise<unknown>
  disconnect(): void
}

/** The keys of one registration in Redis. */
export class RedisKeys {
  readonly run: RunScript<ScriptName>
  readonly #client: RedisClient
  readonly #root: string

  constructor(client: RedisClient, root: string) {
    this.run = runnerOf(client, root, scripts)
    this.#client = client
    this.#root = root
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
