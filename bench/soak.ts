// Mixed traffic at full speed for minutes: see README.md.
import { setTimeout as sleep } from 'node:timers/promises'
import bcrypt from 'bcrypt'
import type { AuthnStats } from 'fastify-authn'
import type { SoakCounts, SoakSettings } from './apps/soak.js'
import { Child } from './support/child.js'
import { Clients } from './support/clients.js'
import { numberFlags } from './support/flags.js'
import { describeMachine, watchOthers } from './support/machine.js'
import { judge, printTable, type Target } from './support/report.js'
import { trafficOf } from './support/traffic.js'

const { minutes, connections } = numberFlags({ minutes: 10, connections: 64 })

const password = 'correct horse battery staple'
/** The lowest cost of bcrypt: with a higher one, nearly all of the time would go to it. */
const cost = 4
const users = 200
const settings: SoakSettings = {
  app: 'soak',
  hashes: Array.from({ length: users }, () => bcrypt.hashSync(password, cost)),
  secret: 'bench-secret-bench-secret-bench-',
  authn: {
    // Low limits, so that some are refused, and a short window, so that this comes and goes.
    hashing: { cost, maxQueue: 24 },
    throttle: { perUsername: 5, perAddress: 10, window: 5 },
    credentialCache: { max: 150, ttl: 5 },
  },
}
const server = await Child.start('server', settings, { execArgv: ['--expose-gc'] })
const port = await server.ask<number>('port')
const others = watchOthers([server.pid])

interface Reading {
  readonly minute: number
  readonly heap: number
  readonly cells: readonly string[]
}

const mib = (bytes: number): number => bytes / 2 ** 20
const started = performance.now()
const clients = new Clients(
  port,
  connections,
  trafficOf({ users, secret: settings.secret, password }),
)

async function read(): Promise<Reading> {
  const { heapUsed, external, rss } = await server.ask<NodeJS.MemoryUsage>('memory')
  const minute = (performance.now() - started) / 60_000
  const cells = [
    minute.toFixed(2),
    ...[heapUsed, external, rss].map((bytes) => mib(bytes).toFixed(2)),
  ]
  return { minute, heap: mib(heapUsed), cells: [...cells, String(clients.answers)] }
}

console.log(`${minutes} minutes, ${connections} connections; ${describeMachine()}\n`)
const readings: Reading[] = []
const steps = Math.max(3, Math.round(minutes * 2))
for (let step = 1; step <= steps; step += 1) {
  await sleep(started + (minutes * 60_000 * step) / steps - performance.now())
  readings.push(await read())
}
const foreign = others()
await clients.stop()
// What those who hung up have left behind ends with the bcrypt runs under way.
await sleep(1000)

const counts = await server.ask<SoakCounts>('counts')
const stats = await server.ask<AuthnStats>('stats')
await server.ask('close')
await server.end()

printTable([
  ['minute', 'heap MiB', 'external', 'rss', 'answers'],
  ...readings.map(({ cells }) => cells),
])
const answered = (status: number): number => clients.answered.get(status) ?? 0
const statuses = [...clients.answered.keys()].sort((a, b) => a - b)
printTable([
  ['status', 'received by clients', 'sent by the server'],
  ...statuses.map((one) => [String(one), String(answered(one)), String(counts.sent[one] ?? 0)]),
])
console.log(
  `${clients.sent} requests, ${clients.answers} answers, ${clients.hungUp} hung up, ${clients.lost} lost;`,
  `server: ${counts.received} requests, ${counts.injected} injected faults, ${counts.errorLines} error lines,`,
  `${JSON.stringify(stats)}\n`,
)
for (const line of clients.wrong) console.log(`wrong reply: ${line}`)

/** What the server counts and the clients do not can only be due to those who hung up. */
function agree(name: string, ofServer: number, ofClients: number): Target[] {
  const surplus = ofServer - ofClients
  return [
    { name: `${name}: server less clients`, found: surplus, bound: 0, kind: 'least' },
    { name: `${name}: server less clients`, found: surplus, bound: clients.hungUp, kind: 'most' },
  ]
}
const first = readings.find(({ minute }) => minute >= Math.min(1, minutes / 3)) as Reading
const last = readings.at(-1) as Reading
const zero = (name: string, found: number): Target => ({
  name,
  found: Math.abs(found),
  bound: 0,
  kind: 'most',
})
judge([
  zero('wrong replies', clients.wrong.length),
  zero('lost requests', clients.lost),
  zero('sent - answered - hung up', clients.sent - clients.answers - clients.hungUp),
  zero('injected faults - 500s sent', counts.injected - (counts.sent[500] ?? 0)),
  zero('injected faults - error lines', counts.injected - counts.errorLines),
  zero('bcrypt runs under way at the end', stats.hashing.running + stats.hashing.waiting),
  ...agree('requests', counts.received, clients.answers),
  ...agree('500', counts.injected, answered(500)),
  ...agree('throttled', stats.throttled, answered(429)),
  ...agree('overloaded', stats.hashing.refused, answered(503)),
  // A minute is what it takes until everything is compiled and all tables are full.
  ...(minutes < 2
    ? []
    : [
        {
          name: 'heap: end / first minute',
          found: last.heap / first.heap,
          bound: 1.1,
          kind: 'most' as const,
        },
      ]),
])
console.log(
  `Others used ${foreign?.toFixed(2) ?? 'an unknown number of'} cores; ${describeMachine()}`,
)
