import { fork, type ChildProcess } from 'node:child_process'

interface Question {
  readonly id: number
  readonly question: string
  readonly argument?: unknown
}

interface Answer {
  readonly id: number
  readonly answer: unknown
}

/** How a child is started. */
interface ChildOptions {
  readonly execArgv?: string[]
  /** The program; default: this process's own Node.js. */
  readonly execPath?: string
}

/** A child process that answers questions over IPC. It ends with its parent, whatever happens to that. */
export class Child {
  readonly #process: ChildProcess
  readonly #open = new Map<number, (answer: unknown) => void>()
  readonly #exit: Promise<void>
  #asked = 0

  /** Starts a module of `bench/children`, or the one at an address, and waits until it answers. */
  static async start(
    name: string | URL,
    settings: unknown,
    { execArgv = [], execPath = process.execPath }: ChildOptions = {},
  ): Promise<Child> {
    const child = new Child(name, settings, { execArgv, execPath })
    await child.ask('ready')
    return child
  }

  private constructor(name: string | URL, settings: unknown, program: ChildOptions) {
    const file = name instanceof URL ? name : new URL(`../children/${name}.js`, import.meta.url)
    this.#process = fork(file, [JSON.stringify(settings)], {
      ...program,
      serialization: 'advanced',
    })
    this.#process.on('message', ({ id, answer }: Answer) => {
      this.#open.get(id)?.(answer)
      this.#open.delete(id)
    })
    this.#exit = new Promise((resolve) => {
      this.#process.on('exit', (code) => {
        if (this.#open.size === 0) return resolve()
        throw new Error(`${String(name)} ended with ${code} before it had answered`)
      })
    })
  }

  get pid(): number {
    return this.#process.pid ?? 0
  }

  ask<T>(question: string, argument?: unknown): Promise<T> {
    this.#asked += 1
    const id = this.#asked
    return new Promise((resolve) => {
      this.#open.set(id, (answer) => resolve(answer as T))
      this.#process.send({ id, question, argument } satisfies Question)
    })
  }

  /** Ends the process at once, without waiting for hashing that is under way. */
  async end(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#exit
  }
}

/** The settings that the parent gave to this child. */
export function settingsOf<T>(): T {
  return JSON.parse(process.argv[2] ?? '{}') as T
}

/** The answers of a child, by the name of the question. Some questions have an argument. */
export type Answers = Readonly<Record<string, (argument: never) => unknown>>

/** Answers the questions of the parent, from now on. */
export function answer(answers: Answers): void {
  process.on('disconnect', () => process.exit())
  const send = async ({ id, question, argument }: Question): Promise<void> => {
    process.send?.({ id, answer: await answers[question]?.(argument as never) } satisfies Answer)
  }
  process.on('message', (question: Question) => void send(question))
}
