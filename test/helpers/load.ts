import { EventEmitter } from 'node:events'
import os from 'node:os'
import { syncBuiltinESMExports } from 'node:module'
import { setTimeout as later } from 'node:timers/promises'
import bcrypt from 'bcrypt'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Test } from 'tap'
import { defaults } from '../../lib/options/defaults.js'
import { listen, send, type AnyResponse } from './flows.js'
import { realNow, until } from './until.js'

export { until } from './until.js'

/** The messages of rejections that ask the client to wait. */
export const busy = 'The server is busy. Please try again later.'
export const tooMany = 'Too many failed attempts. Please try again later.'
export const busyInGerman = 'Der Server ist ausgelastet. Bitte versuchen Sie es später erneut.'
export const tooManyInGerman =
  'Zu viele fehlgeschlagene Versuche. Bitte versuchen Sie es später erneut.'

/** Lets everything go on that can, without anything from outside. */
export async function settle(turns = 3): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) {
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
}

/** One call of bcrypt. */
export interface BcryptRun {
  readonly kind: 'compare' | 'hash'
  readonly password: string
  /** The hash that it is compared with, or the cost of a new one. */
  readonly against: string | number
  /** Ends a held run; default: with what bcrypt finds. */
  finish(result?: unknown): void
  /** Ends a held run as a broken bcrypt would. */
  fail(error: unknown): void
}

type Work = (password: string, against: never) => Promise<unknown>

/** Counts the runs of the `bcrypt` package until the test ends, and holds them where it is told to. */
export function watchBcrypt(t: Test, held = false) {
  const runs: BcryptRun[] = []
  const running = new Set<BcryptRun>()
  let peak = 0
  let holding = held

  const watched =
    (kind: BcryptRun['kind'], work: Work, now: (run: BcryptRun) => unknown): Work =>
    (password, against) =>
      new Promise((resolve, reject) => {
        const run: BcryptRun = {
          kind,
          password,
          against,
          finish: (...result) => {
            running.delete(run)
            resolve(result.length > 0 ? result[0] : now(run))
          },
          fail: (error) => {
            running.delete(run)
            reject(error)
          },
        }
        runs.push(run)
        running.add(run)
        peak = Math.max(peak, running.size)
        if (holding) return
        work(password, against).then(run.finish, run.fail)
      })

  const original = { compare: bcrypt.compare, hash: bcrypt.hash }
  const replace = (compare: unknown, hash: unknown): void =>
    void Object.assign(bcrypt, { compare, hash })
  replace(
    watched('compare', original.compare as Work, ({ password, against }) =>
      bcrypt.compareSync(password, against as string),
    ),
    watched('hash', original.hash as Work, ({ password, against }) =>
      bcrypt.hashSync(password, against),
    ),
  )
  const watch = {
    runs,
    /** Those under way. */
    get running() {
      return [...running]
    },
    /** Most that were under way at once. */
    get peak() {
      return peak
    },
    /** `true` keeps every run under way until it is told to end; `false` also ends those that are. */
    hold: (next: boolean) => {
      holding = next
      if (!next) for (const run of running) run.finish()
    },
    /** The passwords of the runs so far. */
    passwords: () => runs.map(({ password }) => password),
  }
  t.teardown(() => {
    watch.hold(false)
    replace(original.compare, original.hash)
  })
  return watch
}

/** A machine with so many cores, and so many threads in the pool of libuv, until the test ends. */
export function pretendMachine(t: Test, cores: number, poolSize: string | undefined): void {
  const cpus = os.availableParallelism
  const { UV_THREADPOOL_SIZE: present } = process.env
  const setPool = (size: string | undefined): void => {
    if (size === undefined) delete process.env.UV_THREADPOOL_SIZE
    else process.env.UV_THREADPOOL_SIZE = size
  }
  os.availableParallelism = () => cores
  syncBuiltinESMExports()
  setPool(poolSize)
  t.teardown(() => {
    os.availableParallelism = cpus
    syncBuiltinESMExports()
    setPool(present)
  })
}

/** A clock that can be set forward: `performance.now`, until the test ends. */
export function movableClock(t: Test): { advance(milliseconds: number): Promise<void> } {
  let ahead = 0
  t.intercept(performance, 'now', { value: () => realNow() + ahead, configurable: true })
  return {
    async advance(milliseconds) {
      ahead += milliseconds
      // lru-cache reads the clock once a millisecond at most.
      await later(5)
    },
  }
}

/** Time-outs of five seconds end after a fifth of one. @returns the times for which something waits */
export function shortFiveSeconds(t: Test): number[] {
  const limits: number[] = []
  const { setTimeout: wait } = globalThis
  t.intercept(globalThis, 'setTimeout', {
    value(work: () => void, milliseconds: number, ...rest: []) {
      limits.push(milliseconds)
      return wait(work, milliseconds === 5000 ? 200 : milliseconds, ...rest)
    },
  })
  return limits
}

/** A request as the parts below Fastify see it. */
export function fakeRequest(ip = '127.0.0.1') {
  const socket = Object.assign(new EventEmitter(), { destroyed: false })
  const { lines, log } = fakeLog()
  return {
    request: { ip, log, headers: {}, raw: { socket } } as unknown as FastifyRequest,
    socket,
    lines,
    /** Its client goes away. */
    leave() {
      socket.destroyed = true
      socket.emit('close')
    },
  }
}
export type FakeRequest = ReturnType<typeof fakeRequest>

/** A logger that remembers what it is told. */
export function fakeLog() {
  const lines: { level: string; args: unknown[] }[] = []
  const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'].map((level) => [
    level,
    (...args: unknown[]): void => void lines.push({ level, args }),
  ])
  return { lines, log: Object.fromEntries(levels) as FastifyInstance['log'] }
}

/** What becomes of a promise: it can be asked at any time. */
export interface Fate {
  state: 'pending' | 'resolved' | 'rejected'
  value: unknown
}

export function fateOf(promise: Promise<unknown>): Fate {
  const fate: Fate = { state: 'pending', value: undefined }
  promise.then(
    (value) => Object.assign(fate, { state: 'resolved', value }),
    (error: unknown) => Object.assign(fate, { state: 'rejected', value: error }),
  )
  return fate
}

interface Login {
  readonly url?: string
  readonly remoteAddress?: string
  readonly headers?: Record<string, string>
}

/** A login over inject(). */
export async function login(
  app: FastifyInstance,
  username: string,
  password: string,
  { url = '/login', remoteAddress = '127.0.0.1', headers = {} }: Login = {},
): Promise<AnyResponse> {
  return app.inject({
    method: 'POST',
    url,
    remoteAddress,
    headers,
    payload: { username, password },
  })
}

/** How many responses there are of each status. */
export function tally(responses: readonly AnyResponse[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { statusCode } of responses) counts[statusCode] = (counts[statusCode] ?? 0) + 1
  return counts
}

/**
 * Two requests wait for the same answer of another server, and the client of the first one goes away.
 * @returns what the second one gets
 */
export async function leaveOneOfTwo(
  t: Test,
  app: FastifyInstance,
  [leaving, staying]: readonly [Record<string, string>, Record<string, string>],
  { isAsked, answer }: { readonly isAsked: () => boolean; readonly answer: () => unknown },
): Promise<AnyResponse> {
  let arrived = 0
  let left = 0
  app.server.on('request', ({ socket }) => {
    arrived += 1
    socket.once('close', () => (left += 1))
  })
  const port = await listen(app)
  const client = new AbortController()
  const hanging = send(port, { path: '/', headers: leaving, signal: client.signal })
  await until(isAsked, 'it was asked')
  const patient = send(port, { path: '/', headers: staying })
  await until(() => arrived === 2, 'both wait')
  client.abort()
  await t.rejects(hanging, { name: 'AbortError' })
  await until(() => left === 1, 'the server knows that one has left')
  answer()
  return patient
}

/** The seconds of a `Retry-After` header (RFC 9110 §10.2.3), or NaN. */
export function retryAfterOf({ headers }: AnyResponse): number {
  const { 'retry-after': value } = headers
  return typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : Number.NaN
}

/** Sets how many passwords the apps that this test starts from here on hash at once: else, it depends on the machine. */
export function hashAtOnce(t: Test, count: number): void {
  const { concurrency } = defaults.hashing
  defaults.hashing.concurrency = count
  t.teardown(() => (defaults.hashing.concurrency = concurrency))
}
