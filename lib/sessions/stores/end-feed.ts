import { inTime } from './patience.js'
import type { SessionEnd, SessionWatcher } from '../../../types/sessions.js'

/** What a store has told of ends. */
export interface EndPage {
  readonly ends: readonly SessionEnd[]
  /** The clock of the store. */
  readonly now: number
  /** Where the next question goes on. */
  readonly cursor: string
}

/** Milliseconds between two questions: with the time of an answer, less than the second in which ends must be known. */
const pause = 500
/** Milliseconds from a hint to the question, so that many hints at once become one question. */
const gathering = 50

/**
 * Tells a watcher what any process has ended, by asking the store for it every half second. One question also says that
 * the store is there; where it fails, the next one that succeeds asks for everything again.
 */
export class EndFeed {
  readonly #name: string
  readonly #ask: (cursor: string | null) => Promise<EndPage>
  #watcher: SessionWatcher | null = null
  #cursor: string | null = null
  /** Whether the watcher knows everything; null before it has been told anything. */
  #caughtUp: boolean | null = null
  #timer: NodeJS.Timeout | undefined
  #isAsking = false
  #hinted = false
  /** Whether the store has not answered the last question yet, also where nobody waits for that any more. */
  #isUnanswered = false

  /**
   * @param name - of the store, for errors
   * @param ask - reads the ends since a cursor, or with null all that still matter
   */
  constructor(name: string, ask: (cursor: string | null) => Promise<EndPage>) {
    this.#name = name
    this.#ask = ask
  }

  start(watcher: SessionWatcher): void {
    this.#watcher = watcher
    this.#askIn(0)
  }

  /** Something may have ended just now: asks at once. */
  hint(): void {
    if (this.#watcher === null) return
    if (this.#isAsking) this.#hinted = true
    else this.#askIn(gathering)
  }

  stop(): void {
    this.#watcher = null
    clearTimeout(this.#timer)
  }

  #askIn(milliseconds: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#turn(), milliseconds)
    // An app that has nothing else to do may end.
    this.#timer.unref()
  }

  async #turn(): Promise<void> {
    this.#isAsking = true
    this.#hinted = false
    let page: EndPage | null = null
    let failure: unknown
    try {
      page = await inTime(this.#name, () => this.#askOnce())
    } catch (error) {
      failure = error
    }
    this.#isAsking = false
    if (this.#watcher === null) return
    if (page === null) this.#lose(failure, this.#watcher)
    else this.#tell(page, this.#watcher)
    this.#askIn(this.#hinted ? gathering : pause)
  }

  /** A store that does not answer is not asked again: its connections are also those of the app. */
  async #askOnce(): Promise<EndPage> {
    if (this.#isUnanswered) throw new Error(`${this.#name} has not answered yet`)
    this.#isUnanswered = true
    try {
      return await this.#ask(this.#cursor)
    } finally {
      this.#isUnanswered = false
    }
  }

  #tell({ ends, now, cursor }: EndPage, watcher: SessionWatcher): void {
    this.#cursor = cursor
    if (ends.length > 0) watcher.ended(ends, now)
    if (this.#caughtUp === true) return
    this.#caughtUp = true
    watcher.caughtUp()
  }

  #lose(error: unknown, watcher: SessionWatcher): void {
    this.#cursor = null
    if (this.#caughtUp === false) return
    this.#caughtUp = false
    watcher.lost(error)
  }
}
