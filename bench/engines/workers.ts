// An experiment: bcrypt in worker threads of the lowest priority instead of the thread pool of libuv.
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import bcrypt from 'bcrypt'

interface Job {
  readonly password: string
  readonly hash: string
  readonly resolve: (matches: boolean) => void
  readonly reject: (error: Error) => void
}

const idle: Worker[] = []
const waiting: Job[] = []
let started = 0

/** Replaces `bcrypt.compare`, which the package looks up at each call, for the rest of the process. */
export function install(): void {
  const compare = (password: string, hash: string): Promise<boolean> =>
    new Promise((resolve, reject) => {
      waiting.push({ password, hash, resolve, reject })
      assign()
    })
  Object.assign(bcrypt, { compare })
}

function assign(): void {
  if (waiting.length === 0) return
  const isFull = started >= availableParallelism()
  const worker = idle.pop() ?? (isFull ? undefined : startWorker())
  if (worker === undefined) return
  const job = waiting.shift() as Job
  const fail = (error: Error): void => {
    started -= 1
    job.reject(error)
    assign()
  }
  worker.once('error', fail)
  worker.once('message', (matches: boolean) => {
    worker.off('error', fail)
    idle.push(worker)
    job.resolve(matches)
    assign()
  })
  worker.postMessage({ password: job.password, hash: job.hash }, [])
}

/** Lazily: an app that checks no password needs none. */
function startWorker(): Worker {
  started += 1
  const worker = new Worker(new URL('./worker.js', import.meta.url))
  worker.unref()
  return worker
}
