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
/** Requests in the making, by the name that they were announced under. */
const streams = new Map<string, Stream>()
let open: KeepAlive[] = []
let current: Stream | undefined
let isAwake = false
const count = { right: 0, wrong: 0 }

function replied(isOk: boolean): void {
  if (isOk) count.right += 1
  else count.wrong += 1
}

/** A stream goes on where it was left. */
interface Stream {
  readonly port: number
  readonly next: () => string
}

function streamOf({ port, texts }: LoadOrder): Stream {
  let turn = 0
  const next = (): string => {
    turn = turn + 1 < texts.length ? turn + 1 : 0
    return texts[turn] as string
  }
  return { port, next }
}

async function run(stream: Stream): Promise<void> {
  const isConnected = current?.port === stream.port
  current = stream
  if (!isAwake) stayAwake()
  if (isConnected) return
  hangUp()
  const next = (): string => (current ?? stream).next()
  open = await Promise.all(
    Array.from({ length: connections }, () => KeepAlive.open(stream.port, next, replied)),
  )
  for (const connection of open) connection.send()
}

function start(order: LoadOrder): Promise<void> {
  return run(streamOf(order))
}

/** Announces requests, so that {@link use} can change to them within a moment. */
function prepare({ name, ...order }: LoadOrder & { readonly name: string }): void {
  streams.set(name, streamOf(order))
}

function use(name: string): Promise<void> {
  return run(streams.get(name) as Stream)
}

function hangUp(): void {
  for (const connection of open) connection.close()
  open = []
}

function stop(): void {
  hangUp()
  current = undefined
  streams.clear()
  count.right = 0
  count.wrong = 0
}

/**
 * An idle core halts, and whoever wakes it is charged for that: a faster server less often than a slower one. So this
 * process never idles while it sends.
 */
function stayAwake(): void {
  isAwake = current !== undefined
  if (isAwake) setImmediate(stayAwake)
}

answer({ ready: () => true, start, prepare, use, count: (): LoadCount => count, stop })
