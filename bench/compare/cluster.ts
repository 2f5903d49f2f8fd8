import type { Child } from '../support/child.js'
import { table, thousands } from './markdown.js'
import { sampleOf, warm, type Pace, type Sample } from './measure.js'
import { spreadOf } from './rounds.js'
import { clusterRequests } from './scaling.js'
import { startServer } from './server.js'
import { authnFor } from './variants.js'

const counts = [1, 2]

/** One port, one and two processes, on whatever cores the system gives them. */
export async function runCluster(load: Child, { rounds, seconds, warmUp }: Pace): Promise<string> {
  const found = counts.map((): Sample[] => [])
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, processes] of counts.entries()) {
      const settings = { authn: authnFor('HS256'), processes }
      const server = await startServer({ peer: 'cluster', settings }, { pinned: false })
      const stream = { server, texts: clusterRequests() }
      await warm(stream, load, warmUp)
      found[index]?.push(await sampleOf(stream, load, seconds))
      await server.end()
    }
  }
  return table(
    ['processes', 'requests/s', 'requests per CPU second'],
    found.map((samples, index) => [
      String(counts[index]),
      thousands(spreadOf(samples.map(({ throughput }) => throughput)).median),
      thousands(spreadOf(samples.map(({ rate }) => rate)).median),
    ]),
  )
}
