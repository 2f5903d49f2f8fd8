import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerSettings } from '../children/server.js'
import { Child } from './child.js'
import { credentials } from './credentials.js'
import { Load } from './load.js'
import { watchOthers } from './machine.js'

/** An app and what happens to it. */
export interface Variant {
  readonly name: string
  readonly load: 'none' | 'login' | 'basic'
  readonly authn: ServerSettings['authn']
}

export interface PhaseOptions {
  readonly seconds: number
  readonly connections: number
  readonly hashes: readonly string[]
  /** How often a phase is run again when others have disturbed it. */
  readonly retries: number
}

export interface Latencies {
  readonly open: readonly number[]
  readonly file: readonly number[]
  readonly dns: readonly number[]
}

/** What one phase has shown. */
export interface Sample {
  /** Judged requests a second. */
  readonly rate: number
  /** Requests that were refused because of the load. */
  readonly refused: number
  /** In milliseconds; infinite for what was not answered within 2 s of the last probe. */
  readonly latencies: Latencies
  /** Cores that others used meanwhile. */
  readonly foreign: number | null
  /** Resident memory of the server at the end, MiB. */
  readonly rss: number
}

/** Milliseconds before measuring: in the first second V8 compiles the code, in the next one the queue fills. */
const warmUp = 2000

/** The statuses of right and wrong passwords. */
const judged = [200, 401]
const overloaded = 503

/** Runs an app of its own in one variant: first without probes, for the rate, then with probes. */
export async function runPhase(variant: Variant, options: PhaseOptions): Promise<Sample> {
  const { seconds, connections, hashes } = options
  const { authn, load: kind } = variant
  const server = await Child.start('server', { hashes, authn } satisfies ServerSettings)
  const port = await server.ask<number>('port')
  const probe = await Child.start('probe', { port })
  try {
    const next = credentials(hashes.length, kind === 'basic' ? 'basic' : 'login')
    const load = await Load.start(port, kind === 'none' ? 0 : connections, next)
    await sleep(warmUp)
    const others = watchOthers([server.pid, probe.pid])
    const isIdle = kind === 'none'
    const rate = isIdle ? NaN : await countPerSecond(seconds, () => load.count(...judged))
    await probe.ask('begin')
    await sleep(seconds * 1000)
    // The load goes on until the last probe is answered, or given up.
    const latencies = await probe.ask<Latencies>('end')
    const foreign = others()
    load.stop()
    load.expectOnly(...judged, overloaded)
    const rss = await server.ask<number>('rss')
    return { rate, refused: load.count(overloaded), latencies, foreign, rss: rss / 2 ** 20 }
  } finally {
    await Promise.all([server.end(), probe.end()])
  }
}

/** Runs bcrypt alone. */
export async function runBare({ seconds, hashes }: PhaseOptions): Promise<Sample> {
  const child = await Child.start('bare', { hash: hashes[0] })
  try {
    await sleep(warmUp / 2)
    const others = watchOthers([child.pid])
    const rate = await countPerSecond(seconds, () => child.ask<number>('count'))
    const latencies = { open: [], file: [], dns: [] }
    return { rate, refused: 0, latencies, foreign: others(), rss: NaN }
  } finally {
    await child.end()
  }
}

async function countPerSecond(
  seconds: number,
  count: () => number | Promise<number>,
): Promise<number> {
  const [before, started] = [await count(), performance.now()]
  await sleep(seconds * 1000)
  const [after, ended] = [await count(), performance.now()]
  return ((after - before) / (ended - started)) * 1000
}
