// Sends requests without end and counts the replies.
import { answer, settingsOf } from '../support/child.js'
import { KeepAlive } from '../support/keep-alive.js'

/** What to send, over and over: the connections take the requests in turn. */
export interface LoadOrder {
  readonly port: number
  readonly texts: readonly string[]
}

export interface LoadCount {
  readonly right: number
  /** Replies with another status than 200. */
  readonly wrong: number
}

const { connections } = settingsOf<{ connections: number }>()
let open: KeepAlive[] = []
const count = { right: 0, wrong: 0 }

function replied(isOk: boolean): void {
  if (isOk) count.right += 1
  else count.wrong += 1
}

async function start({ port, texts }: LoadOrder): Promise<void> {
  let turn = 0
  const next = (): string => {
    turn = turn + 1 < texts.length ? turn + 1 : 0
    return texts[turn] as string
  }
  open = await Promise.all(
    Array.from({ length: connections }, () => KeepAlive.open(port, next, replied)),
  )
  for (const connection of open) connection.send()
}

function stop(): void {
  for (const connection of open) connection.close()
  open = []
  count.right = 0
  count.wrong = 0
}

// An idle core halts, and whoever wakes it is charged for that: a faster server less often than a slower one.
// So this process never idles.
function stayAwake(): void {
  setImmediate(stayAwake)
}
stayAwake()

answer({ ready: () => true, start, count: (): LoadCount => count, stop })
