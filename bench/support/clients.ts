import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Connection } from './connection.js'
import type { Exchange } from './traffic.js'

/** A reply that does not come within this is lost, in milliseconds. */
const patience = 20_000

/** Clients that send requests without end, check the replies, and sometimes hang up instead of waiting. */
export class Clients {
  sent = 0
  hungUp = 0
  /** Requests whose connection the server closed, or that it did not answer in time. */
  lost = 0
  readonly answered = new Map<number, number>()
  /** The first of the wrong replies, for the report. */
  readonly wrong: string[] = []
  readonly #port: number
  readonly #next: () => Exchange
  readonly #running: Promise<void>[]
  #stopped = false

  constructor(port: number, connections: number, next: () => Exchange) {
    this.#port = port
    this.#next = next
    this.#running = Array.from({ length: connections }, () => this.#run())
  }

  get answers(): number {
    return [...this.answered.values()].reduce((sum, count) => sum + count, 0)
  }

  /** Waits for the replies that are missing. */
  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#running)
  }

  async #run(): Promise<void> {
    let connection = await Connection.open(this.#port)
    while (!this.#stopped) {
      const exchange = this.#next()
      if (randomInt(100) < 2) await this.#hangUp(connection, exchange)
      else await this.#exchange(connection, exchange)
      if (connection.closed) connection = await Connection.open(this.#port)
    }
    connection.close()
  }

  async #exchange(connection: Connection, { kind, text, statuses, body }: Exchange): Promise<void> {
    this.sent += 1
    const late = setTimeout(() => connection.close(), patience)
    const reply = await connection.request(text)
    clearTimeout(late)
    if (reply === null) {
      this.lost += 1
      return
    }
    this.answered.set(reply.status, (this.answered.get(reply.status) ?? 0) + 1)
    const isRight =
      statuses.includes(reply.status) && (reply.status !== 200 || reply.body.includes(body))
    if (!isRight && this.wrong.length < 10) {
      this.wrong.push(`${kind}: ${reply.status} ${reply.body}`)
    }
  }

  /** Before the request is whole, while it is worked on, or after that. */
  async #hangUp(connection: Connection, { text }: Exchange): Promise<void> {
    this.sent += 1
    this.hungUp += 1
    const isCut = randomInt(4) === 0
    void connection.request(isCut ? text.slice(0, randomInt(text.length)) : text)
    await sleep(randomInt(20))
    connection.close()
  }
}
