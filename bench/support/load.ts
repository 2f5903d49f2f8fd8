import { Connection } from './connection.js'

/** Requests without end, from many connections at once, each with one request at a time. */
export class Load {
  /** How many replies there were, by status; 0 for connections that were closed instead. */
  readonly replies = new Map<number, number>()
  readonly #connections: Connection[] = []
  #stopped = false

  static async start(
    port: number,
    connections: number,
    next: (connection: number) => string,
  ): Promise<Load> {
    const load = new Load()
    const opened = Array.from({ length: connections }, () => Connection.open(port))
    load.#connections.push(...(await Promise.all(opened)))
    load.#connections.forEach((connection, index) => void load.#send(connection, index, next))
    return load
  }

  /** Replies with one of some statuses. */
  count(...statuses: number[]): number {
    return statuses.reduce((sum, status) => sum + (this.replies.get(status) ?? 0), 0)
  }

  /** @throws when there were replies that a measurement does not know how to count */
  expectOnly(...statuses: number[]): void {
    for (const [status, count] of this.replies) {
      if (!statuses.includes(status)) throw new Error(`${count} replies with ${status}`)
    }
  }

  stop(): void {
    this.#stopped = true
    for (const connection of this.#connections) connection.close()
  }

  async #send(
    connection: Connection,
    index: number,
    next: (connection: number) => string,
  ): Promise<void> {
    while (!this.#stopped) {
      const reply = await connection.request(next(index))
      if (this.#stopped) return
      const status = reply?.status ?? 0
      this.replies.set(status, (this.replies.get(status) ?? 0) + 1)
      if (reply === null) return
    }
  }
}
