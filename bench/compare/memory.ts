import { setTimeout as sleep } from 'node:timers/promises'
import type { LoadCount, LoadOrder } from '../children/load.js'
import type { Child } from '../support/child.js'
import { authnFor, requestsFor } from './variants.js'
import { majors } from './nodes.js'
import { startServer } from './server.js'
import { distinctTokens } from './tokens.js'

/** Heap after garbage collection, in bytes. */
export interface Growth {
  readonly before: number
  readonly after: number
}

/** Requests that fill the token cache, which holds up to 50,000 tokens by default. */
export const filling = 60_000

/** What 100,000 requests, each with a token of its own, leave behind when the token cache is full. */
export async function growthOf(load: Child): Promise<Growth> {
  const texts = requestsFor(
    '/protected',
    distinctTokens('HS256', filling + 100_000).map((token) => `Bearer ${token}`),
  )
  const settings = { authn: authnFor('HS256') }
  const options = { node: majors[0], execArgv: ['--expose-gc'] }
  const server = await startServer({ peer: 'ours', settings }, options)
  const heap = async (): Promise<number> =>
    (await server.ask<NodeJS.MemoryUsage>('memory')).heapUsed
  await send(load, { port: server.port, texts: texts.slice(0, filling) })
  const before = await heap()
  await send(load, { port: server.port, texts: texts.slice(filling) })
  const after = await heap()
  await server.end()
  return { before, after }
}

/** Sends all of them at least once. */
async function send(load: Child, order: LoadOrder): Promise<void> {
  await load.ask('start', order)
  while ((await load.ask<LoadCount>('count')).right < order.texts.length) await sleep(20)
  await load.ask('stop')
  // The clients have hung up. What the server kept for them is freed in the next turns of its event loop.
  await sleep(200)
}
