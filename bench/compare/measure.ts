import { setTimeout as sleep } from 'node:timers/promises'
import type { LoadCount, LoadOrder } from '../children/load.js'
import type { Child } from '../support/child.js'
import { watchOthers } from '../support/machine.js'
import { check } from './check.js'
import { startServer, type Server } from './server.js'
import { requestsOf, type Variant } from './variants.js'

/** How often, and for how long, is measured. */
export interface Pace {
  /** How often each variant has its turn, with processes of its own each time. */
  readonly rounds: number
  /** Of one measurement. */
  readonly seconds: number
  /** How often a variant is measured in a turn. */
  readonly repeats: number
  /** Seconds for each route until everything is compiled; longer where requests take long. */
  readonly warmUp: number
}

/** Requests to a server, as often as it answers. */
export interface Stream {
  readonly server: Server
  readonly texts: readonly string[]
}

/** What one turn of a variant has shown; rates are requests a second of processor time. */
export interface Turn {
  readonly open: readonly number[]
  readonly protected: readonly number[]
  /** Each rate by the mean of those of the baseline before and after it. */
  readonly ratios: readonly number[]
  /** Cores that others used meanwhile. */
  readonly foreign: number | null
}

/** From the connecting of the clients until the traffic is even, in milliseconds. */
const connecting = 50

/** Measures a variant between measurements of its baseline, each in a process of its own. */
export async function takeTurn(variant: Variant, load: Child, pace: Pace): Promise<Turn> {
  const { node, baseline } = variant
  const server = await startServer(variant.app, { node })
  const other = await startServer(baseline.app, { node })
  try {
    await check(variant, server)
    const guarded = { server, texts: requestsOf(variant) }
    const open = { server: other, texts: requestsOf(baseline) }
    const others = watchOthers([server.pid, load.pid, other.pid])
    return { ...(await alternate(open, guarded, load, pace)), foreign: others() }
  } finally {
    await server.end()
    await other.end()
  }
}

/**
 * Two streams in turn: the first one before, between and after the measurements of the second one. Many
 * short measurements, since a shared machine is faster and slower from one second to the next.
 */
export async function alternate(
  open: Stream,
  guarded: Stream,
  load: Child,
  { seconds, repeats, warmUp }: Pace,
): Promise<Omit<Turn, 'foreign'>> {
  await warm(guarded, load, warmUp)
  await warm(open, load, warmUp)
  const streams = { open, guarded }
  for (const [name, { server, texts }] of Object.entries(streams)) {
    await load.ask('prepare', { name, port: server.port, texts })
  }
  const rateOf = async (name: keyof typeof streams): Promise<number> => {
    await load.ask('use', name)
    await sleep(connecting)
    return rateOfSample(streams[name], load, seconds)
  }
  const rates = { open: [await rateOf('open')], protected: [] as number[] }
  const ratios: number[] = []
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const rate = await rateOf('guarded')
    const [before = NaN, after] = [rates.open.at(-1), await rateOf('open')]
    rates.protected.push(rate)
    rates.open.push(after)
    ratios.push((2 * rate) / (before + after))
  }
  await load.ask('stop')
  return { ...rates, ratios }
}

/** After so many requests, V8 has compiled all code on the way of a request. */
const warmRequests = 4000

/** Sends requests until everything is compiled, within bounds. */
export async function warm({ server, texts }: Stream, load: Child, seconds: number): Promise<void> {
  const begun = performance.now()
  const elapsed = (): number => (performance.now() - begun) / 1000
  await load.ask('start', { port: server.port, texts } satisfies LoadOrder)
  const isWarm = async (): Promise<boolean> => {
    const { right } = await load.ask<LoadCount>('count')
    return right >= warmRequests || elapsed() > 3 * seconds + 0.3
  }
  do await sleep(20)
  while (elapsed() < seconds || !(await isWarm()))
  await load.ask('stop')
}

/** @returns requests per second of processor time of the server */
async function rateOfSample({ server }: Stream, load: Child, seconds: number): Promise<number> {
  const begun = await read(server, load)
  await sleep(seconds * 1000)
  const ended = await read(server, load)
  if (ended.wrong > 0) throw new Error(`${ended.wrong} replies were rejections or errors`)
  return ((ended.right - begun.right) / (ended.cpu - begun.cpu)) * 1e6
}

async function read(server: Server, load: Child): Promise<LoadCount & { readonly cpu: number }> {
  const [cpu, count] = await Promise.all([server.cpu(), load.ask<LoadCount>('count')])
  return { ...count, cpu }
}
