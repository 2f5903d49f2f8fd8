import { withTimeout } from '../../common/timeout.js'
import type { Revocation, SessionWatcher } from '../../../types/sessions.js'

export interface RevocationPage {
  readonly revocations: readonly Revocation[]
  /** The clock of the store. */
  readonly now: number
  /** Where the next poll goes on. */
  readonly cursor: string
}

/** Milliseconds between two polls: short enough for a process to know all revocations within a second. */
const pause = 500
/** Milliseconds between a call of `hint` and the poll that it causes, so that a burst causes one poll. */
const gathering = 50
/** Milliseconds after which a store that does not answer counts as unavailable. */
const patience = 2000
/** Milliseconds after which it is asked again. It may never answer: the connection may be dead. */
const longest = 5000

/**
 * Reports to a watcher what any process has revoked, by polling the store every half second. After a poll that has
 * failed, the next one reads all revocations again.
 */
export class RevocationPoller {
  readonly #poll: (cursor: string | null) => Promise<RevocationPage>
  #watcher: SessionWatcher | null = null
  #cursor: string | null = null
  /** What the watcher got last: `caughtUp` or `lost`; null before the first. */
  #isCaughtUp: boolean | null = null
  #timer: NodeJS.Timeout | undefined
  #isWaiting = false
  #isHinted = false

  /** @param poll - reads the revocations since a cursor, or with null all that have not expired */
  constructor(poll: (cursor: string | null) => Promise<RevocationPage>) {
    this.#poll = poll
  }

  start(watcher: SessionWatcher): void {
    this.#watcher = watcher
    this.#pollIn(0)
  }

  /** Something may have been revoked just now: polls at once. */
  hint(): void {
    if (this.#watcher === null) return
    if (this.#isWaiting) this.#isHinted = true
    else this.#pollIn(gathering)
  }

  stop(): void {
    this.#watcher = null
    clearTimeout(this.#timer)
  }

  #pollIn(milliseconds: number): void {
    clearTimeout(this.#timer)
    // An app that has nothing else to do may exit.
    this.#timer = setTimeout(() => void this.#turn(), milliseconds).unref()
  }

  async #turn(): Promise<void> {
    this.#isWaiting = true
    this.#isHinted = false
    const late = (): Error => new Error(`no answer in ${patience} ms`)
    const slow = setTimeout(() => this.#lose(late()), patience).unref()
    try {
      this.#report(await withTimeout(this.#poll(this.#cursor), longest, late))
    } catch (error) {
      this.#lose(error)
    }
    clearTimeout(slow)
    this.#isWaiting = false
    if (this.#watcher !== null) this.#pollIn(this.#isHinted ? gathering : pause)
  }

  #report({ revocations, now, cursor }: RevocationPage): void {
    this.#cursor = cursor
    if (revocations.length > 0) this.#watcher?.revoked(revocations, now)
    if (this.#isCaughtUp !== true) this.#watcher?.caughtUp()
    this.#isCaughtUp = true
  }

  #lose(error: unknown): void {
    this.#cursor = null
    if (this.#isCaughtUp !== false) this.#watcher?.lost(error)
    this.#isCaughtUp = false
  }
}
