import { connect, type Socket } from 'node:net'

/** How a good reply begins. */
const ok = Buffer.from('HTTP/1.1 200')

/**
 * A connection that sends one request after the other and counts the replies, for measurements in which the
 * load generator must not be the bottleneck: without streams, and with one buffer for all that it reads.
 */
export class KeepAlive {
  readonly #socket: Socket
  readonly #next: () => string
  readonly #replied: (isOk: boolean) => void
  /** How long a reply is: all replies to one kind of request are equally long. */
  #length = 0
  #pending = ''

  static open(
    port: number,
    next: () => string,
    replied: (isOk: boolean) => void,
  ): Promise<KeepAlive> {
    return new Promise((resolve, reject) => {
      const connection = new KeepAlive(port, next, replied)
      connection.#socket.once('error', reject)
      connection.#socket.once('connect', () => resolve(connection))
    })
  }

  private constructor(port: number, next: () => string, replied: (isOk: boolean) => void) {
    this.#next = next
    this.#replied = replied
    this.#socket = connect({
      port,
      host: '127.0.0.1',
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafe(16_384),
        callback: (size, buffer) => this.#read(size, buffer as Buffer),
      },
    })
  }

  send(): void {
    this.#socket.write(this.#next(), 'latin1')
  }

  close(): void {
    this.#socket.destroy()
  }

  /** @returns true, which means: go on reading */
  #read(size: number, buffer: Buffer): boolean {
    const isWhole = this.#pending === '' && size === this.#length
    const isOk = isWhole
      ? buffer.compare(ok, 0, ok.length, 0, ok.length) === 0
      : this.#readPart(buffer.toString('latin1', 0, size))
    if (isOk === null) return true
    this.#replied(isOk)
    this.send()
    return true
  }

  /** @returns null as long as the reply is not complete */
  #readPart(text: string): boolean | null {
    this.#pending += text
    const head = this.#pending.indexOf('\r\n\r\n')
    if (head === -1) return null
    const length = /\r\ncontent-length: (\d+)/i.exec(this.#pending.slice(0, head))?.[1]
    if (length === undefined) throw new Error(`A reply without content-length: ${this.#pending}`)
    const whole = head + 4 + Number(length)
    if (this.#pending.length < whole) return null
    const isOk = this.#pending.startsWith(String(ok))
    this.#length = whole
    this.#pending = ''
    return isOk
  }
}
