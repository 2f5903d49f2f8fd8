import { Child } from '../support/child.js'
import { pin } from '../support/pin.js'
import { nodeProgram, type Major } from './nodes.js'
import type { App } from './variants.js'

/** A server under test. */
export interface Server {
  readonly pid: number
  readonly port: number
  /** @returns microseconds of the processor that it has used so far */
  cpu(): Promise<number>
  /** Asks it something that only some know. */
  ask<T>(question: string): Promise<T>
  end(): Promise<void>
}

const peers = new URL('../../bench/peers/', import.meta.url)

/** @returns the address of a module of `bench/peers` */
export function peerAddress(name: string): URL {
  return new URL(`${name}.mjs`, peers)
}

/** How long a server may take to start, in seconds. */
const patience = 30

/**
 * MiB of heap to begin with. Otherwise the first full collection of a process may fall into its first requests, whatever
 * the framework, and then `process.nextTick` of Node 24 takes another path in V8, which made each request of a bare Fastify
 * 40 % slower for as long as the process lived.
 */
const roomy = '--initial-heap-size=256'

interface ServerOptions {
  readonly node: Major
  readonly pinned?: boolean
  readonly execArgv?: string[]
}

/** Starts a server on its core, or on all of them where it has to use several. */
export async function startServer(
  { peer, settings }: App,
  { node, pinned = true, execArgv = [roomy] }: ServerOptions,
): Promise<Server> {
  const late = setTimeout(() => {
    throw new Error(`${peer} has not started within ${patience} s`)
  }, patience * 1000)
  const child = await Child.start(peerAddress(peer), settings, {
    execArgv,
    execPath: nodeProgram(node),
  })
  clearTimeout(late)
  if (pinned) pin(child.pid, 'server')
  const port = await child.ask<number>('port')
  return {
    pid: child.pid,
    port,
    cpu: () => child.ask<number>('cpu'),
    ask: (question) => child.ask(question),
    end: () => child.end(),
  }
}
