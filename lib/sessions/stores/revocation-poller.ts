import { withTimeout } from '../../common/timeout.js'
import type { Revocation, SessionWatcher, StoreTime } from '../../../types/sessions.js'

export interface RevocationPage extends StoreTime {
  readonly revocations: readonly Revocation[]
  readonly cursor: string
}

/** Milliseconds between two polls: short enough for a process to know all revocations within a second. */
const pause = 500
/** Milliseconds between a call of `hint` and the poll that it causes, so that a burst causes one poll. */
const gathering = 50
/** Milliseconds after which a poll is given up: the connection may be dead. */
const patience = 5000

/**
 * Reports to a watcher what any process has revoked, by polling the store every half second. After a poll that has
 * failed, the next one reads all revocations again.
 * @param poll - reads the revocations since a cursor, or with null all that have not expired
 */
export function revocationPoller(poll: (cursor: string | null) => Promise<RevocationPage>) {
  let watcher: SessionWatcher | undefined
  let cursor: string | null = null
  /** True after `caughtUp`, false after `lost`. */
  let isCaughtUp: boolean | undefined
  let timer: NodeJS.Timeout | undefined
  let isPolling = false
  let isHinted = false

  function pollIn(milliseconds: number): void {
    clearTimeout(timer)
    timer = setTimeout(() => void turn(), milliseconds).unref()
  }

  async function turn(): Promise<void> {
    isPolling = true
    isHinted = false
    try {
      const late = (): Error => new Error(`no answer in ${patience} ms`)
      const page = await withTimeout(poll(cursor), patience, late)
      ;({ cursor } = page)
      if (page.revocations.length > 0) watcher?.revoked(page.revocations, page.now)
      if (isCaughtUp !== true) watcher?.caughtUp()
      isCaughtUp = true
    } catch (error) {
      cursor = null
      if (isCaughtUp !== false) watcher?.lost(error)
      isCaughtUp = false
    }
    isPolling = false
    if (watcher !== undefined) pollIn(isHinted ? gathering : pause)
  }

  return {
    start(to: SessionWatcher): void {
      watcher = to
      pollIn(0)
    },
    hint(): void {
      if (isPolling) isHinted = true
      else if (watcher !== undefined) pollIn(gathering)
    },
    stop(): void {
      watcher = undefined
      clearTimeout(timer)
    },
  }
}
