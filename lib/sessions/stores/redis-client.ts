import { createHash } from 'node:crypto'
import { scripts, type ScriptName } from './redis-scripts.js'

/** What is used of a client of ioredis, be it of one server or of a cluster. */
export interface RedisClient {
  readonly status?: string
  readonly options?: { readonly keyPrefix?: string | Buffer | undefined }
  connect?(): Promise<unknown>
  on?(event: string, listener: (...values: never[]) => void): unknown
  off?(event: string, listener: (...values: never[]) => void): unknown
  evalsha(digest: string, keys: number, ...values: string[]): Promise<unknown>
  eval(script: string, keys: number, ...values: string[]): Promise<unknown>
  duplicate(): RedisSubscriber
}

/** What is used of its second connection. */
interface RedisSubscriber extends RedisClient {
  subscribe(channel: string): Promise<unknown>
  disconnect(): void
}

const digests = Object.fromEntries(
  Object.entries(scripts).map(([name, text]) => [
    name,
    createHash('sha1').update(text).digest('hex'),
  ]),
) as Readonly<Record<ScriptName, string>>

/** The states of a client before its first connection. */
const beginnings = new Set(['wait', 'connecting', 'connect'])

/** The keys of one registration in Redis. */
export class RedisKeys {
  readonly #client: RedisClient
  readonly #root: string
  #opening: Promise<void> | null = null

  constructor(client: RedisClient, root: string) {
    this.#client = client
    this.#root = root
  }

  /** Runs a script. It is sent as a whole only to a server that does not know it yet. */
  async run(name: ScriptName, ...values: readonly (string | number)[]): Promise<unknown> {
    await this.#ready()
    const texts = values.map(String)
    try {
      return await this.#client.evalsha(digests[name], 1, this.#root, ...texts)
    } catch (error) {
      if (!String((error as Error).message).startsWith('NOSCRIPT')) throw error
      return this.#client.eval(scripts[name], 1, this.#root, ...texts)
    }
  }

  /**
   * Calls a function for every end that Redis tells on a connection of its own. Messages are lost while that is away.
   *
   * @returns what closes it
   */
  listen(hint: () => void): () => void {
    const subscriber = this.#client.duplicate()
    const { keyPrefix = '' } = this.#client.options ?? {}
    // Scripts see their keys with the prefix of the client. Names of channels do not get it.
    const channel = `${keyPrefix.toString()}${this.#root}:ends`
    const subscribe = (): void => void subscriber.subscribe(channel).then(hint, () => undefined)
    // Without a listener an error would end the process. The app's own client reports the same ones.
    subscriber.on?.('error', () => undefined)
    subscriber.on?.('ready', subscribe)
    subscriber.on?.('message', hint)
    if (subscriber.status === 'wait') subscriber.connect?.().catch(() => undefined)
    return () => subscriber.disconnect()
  }

  /**
   * A client that has lost its connection says so at once, instead of keeping commands until it has one again. One that
   * is about to get its first connection is waited for.
   */
  async #ready(): Promise<void> {
    const { status = 'ready' } = this.#client
    if (beginnings.has(status)) await (this.#opening ??= this.#open(status))
    const { status: now = 'ready' } = this.#client
    if (now !== 'ready') throw new Error(`the client of Redis is not ready, but ${now}`)
  }

  #open(status: string): Promise<void> {
    const client = this.#client
    return new Promise((resolve) => {
      const settled = (): void => {
        for (const event of ['ready', 'close', 'end']) client.off?.(event, settled)
        this.#opening = null
        resolve()
      }
      for (const event of ['ready', 'close', 'end']) client.on?.(event, settled)
      // With lazyConnect it waits for a first command, which is not sent before it is ready.
      if (status === 'wait') client.connect?.().catch(() => undefined)
    })
  }
}
