// Asks a server for its open routes at fixed times, whether or not it has answered before: what other
// clients see during a flood.
import { Agent, get } from 'node:http'
import { setPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { answer, settingsOf } from '../support/child.js'

/** What is asked for, and how often, in milliseconds. */
const probes = { open: 10, file: 50, dns: 50 } as const
/** How long to wait for answers that are missing at the end, in milliseconds. */
const patience = 2000

const { port } = settingsOf<{ port: number }>()
const agent = new Agent({ keepAlive: true, maxSockets: Infinity })

/** In milliseconds, infinite for what is not answered yet. */
let latencies = { open: [] as number[], file: [] as number[], dns: [] as number[] }
let counting = false

function ask(name: keyof typeof probes): void {
  const own = latencies[name]
  const index = counting ? own.push(Infinity) - 1 : null
  const started = performance.now()
  get({ port, host: '127.0.0.1', path: `/${name}`, agent }, (response) => {
    response.resume()
    response.on('end', () => {
      if (response.statusCode !== 200) throw new Error(`/${name} gave ${response.statusCode}`)
      if (index !== null) own[index] = performance.now() - started
    })
  })
}

try {
  // What is measured is how long the server takes, not how long this process waits for a core.
  setPriority(-20)
} catch {
  console.warn('The probe has no right to a higher priority: latencies contain its own waiting')
}

answer({
  ready: () => true,
  begin: async () => {
    for (const name of Object.keys(probes) as (keyof typeof probes)[]) {
      setInterval(() => ask(name), probes[name])
    }
    // What is compiled in the first second does not count.
    await sleep(1000)
    latencies = { open: [], file: [], dns: [] }
    counting = true
  },
  end: async () => {
    counting = false
    const deadline = performance.now() + patience
    const isMissing = (): boolean => Object.values(latencies).flat().includes(Infinity)
    while (isMissing() && performance.now() < deadline) await sleep(20)
    return latencies
  },
})
