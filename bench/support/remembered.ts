import { setTimeout as sleep } from 'node:timers/promises'
import type { FloodSettings } from '../apps/flood.js'
import { Child } from './child.js'
import { basicHeader, requestText } from './connection.js'
import { password } from './credentials.js'
import { Load } from './load.js'
import { watchOthers } from './machine.js'
import type { PhaseOptions } from './phase.js'
import { median } from './report.js'
import { undisturbed } from './rounds.js'

/** Requests a second of processor time of the server. */
export interface Remembered {
  readonly open: number
  readonly basic: number
  /** What Basic reaches of the open route. */
  readonly ratio: number
  readonly foreign: number | null
}

/**
 * Compares Basic, when its credentials are remembered, with an open route of the same app.
 *
 * Idle cores halt, and whoever wakes one is charged for it: a faster server would have to wake the load
 * generator less often. So the load generator stays awake.
 */
export async function runRemembered(rounds: number, options: PhaseOptions): Promise<Remembered> {
  const settings: FloodSettings = { app: 'flood', hashes: options.hashes, authn: {} }
  const server = await Child.start('server', settings)
  let awake = true
  const stayAwake = (): void => void (awake && setImmediate(stayAwake))
  stayAwake()
  try {
    const port = await server.ask<number>('port')
    // Everything is compiled in the first one.
    await runRound(server, port, options)
    const found: Remembered[] = []
    for (let round = 0; round < rounds; round += 1) {
      process.stderr.write(`remembered, round ${round + 1} of ${rounds}\n`)
      found.push(await undisturbed(() => runRound(server, port, options), options))
    }
    return {
      open: median(found.map(({ open }) => open)),
      basic: median(found.map(({ basic }) => basic)),
      ratio: median(found.map(({ ratio }) => ratio)),
      foreign: Math.max(...found.map(({ foreign }) => foreign ?? NaN)),
    }
  } finally {
    awake = false
    await server.end()
  }
}

/** The open route before and after, so that a drift of the machine is no gain of either. */
async function runRound(server: Child, port: number, options: PhaseOptions): Promise<Remembered> {
  const others = watchOthers([server.pid])
  const open = requestText('GET', '/open')
  const before = await pace(server, port, open, options)
  const authorization = basicHeader('user0', password)
  const basic = await pace(server, port, requestText('GET', '/basic', authorization), options)
  const after = await pace(server, port, open, options)
  const mean = (before + after) / 2
  return { open: mean, basic, ratio: basic / mean, foreign: others() }
}

async function pace(
  server: Child,
  port: number,
  text: string,
  { seconds, connections }: PhaseOptions,
): Promise<number> {
  const load = await Load.start(port, connections, () => text)
  await sleep(500)
  const [count, cpu] = [load.count(200), await server.ask<number>('cpu')]
  await sleep((seconds * 1000) / 2)
  const spent = (await server.ask<number>('cpu')) - cpu
  const answered = load.count(200) - count
  load.stop()
  load.expectOnly(200)
  return (answered / spent) * 1e6
}
