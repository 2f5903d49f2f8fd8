interface Counter {
  points: number
  readonly expires: number
}

type Result = [error: null, value: string | number | null]

/**
 * As much of a client of ioredis as the throttle uses, with a store that can be made to fail in every way
 * that a real one has. The real one is in throttle/redis.test.ts.
 */
export class FakeRedis {
  /** As ioredis names it. */
  status = 'ready'
  mode: 'answers' | 'rejects' | 'rejects writes' | 'hangs' = 'answers'
  readonly counters = new Map<string, Counter>()
  readonly commands: string[] = []
  /** Ends, with a failure, what hangs. */
  readonly hanging: ((error: Error) => void)[] = []

  /** In ioredis it adds a method; here that is {@link rlflxIncr}. */
  defineCommand(_name: string, _options: object): void {
    this.commands.length = 0
  }

  async rlflxIncr([key, points, seconds]: readonly string[]): Promise<[number, number]> {
    await this.#answer('incr', key)
    const present = this.#read(String(key))
    const counter = present ?? { points: 0, expires: Date.now() + Number(seconds) * 1000 }
    counter.points += Number(points)
    this.counters.set(String(key), counter)
    return [counter.points, counter.expires - Date.now()]
  }

  /** The transaction in which a counter and its time are read. */
  multi(): object {
    let key = ''
    const exec = async (): Promise<Result[]> => {
      await this.#answer('get', key)
      const counter = this.#read(key)
      if (counter === undefined)
        return [
          [null, null],
          [null, -2],
        ]
      return [
        [null, String(counter.points)],
        [null, counter.expires - Date.now()],
      ]
    }
    const chain = {
      get(name: string) {
        key = name
        return chain
      },
      pttl: () => chain,
      exec,
    }
    return chain
  }

  async del(key: string): Promise<number> {
    await this.#answer('del', key)
    return this.counters.delete(key) ? 1 : 0
  }

  #read(key: string): Counter | undefined {
    const counter = this.counters.get(key)
    return counter !== undefined && counter.expires > Date.now() ? counter : undefined
  }

  async #answer(command: string, key: string | undefined): Promise<void> {
    this.commands.push(`${command} ${key}`)
    if (this.mode === 'rejects') throw new Error('OOM command not allowed')
    if (this.mode === 'rejects writes' && command !== 'get') throw readOnly(command, key)
    if (this.mode !== 'hangs') return
    await new Promise((_, reject) => this.hanging.push(reject))
  }
}

/** As ioredis makes it: with the command. */
function readOnly(name: string, key: string | undefined): Error {
  const message = "READONLY You can't write against a read only replica."
  return Object.assign(new Error(message), { command: { name, args: [key] } })
}
