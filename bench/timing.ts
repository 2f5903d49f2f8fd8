// Whether the time of a rejection tells which users exist: see README.md.
import bcrypt from 'bcrypt'
import type { ServerSettings } from './children/server.js'
import { Child } from './support/child.js'
import { basicHeader, Connection, requestText } from './support/connection.js'
import { cost } from './support/credentials.js'
import { numberFlags } from './support/flags.js'
import { describeMachine, watchOthers } from './support/machine.js'
import { judge, median, printTable, quantile } from './support/report.js'

const { samples } = numberFlags({ samples: 150 })

const username = 'user0'
/** 72 bytes, all that bcrypt reads: a longer password that begins like this matches the hash, and has to be refused. */
const longest = 'x'.repeat(72)
const credentials = {
  'unknown user': { username: 'nobody', password: 'a wrong password' },
  'wrong password': { username, password: 'a wrong password' },
  '100 bytes': { username, password: 'y'.repeat(100) },
  '100 bytes, 72 of them right': { username, password: longest.padEnd(100, 'y') },
}
type Name = keyof typeof credentials
const names = Object.keys(credentials) as Name[]
const routes = ['login', 'Basic'] as const

const settings: ServerSettings = { hashes: [await bcrypt.hash(longest, cost)], authn: {} }
const server = await Child.start('server', settings)
const others = watchOthers([server.pid])
const connection = await Connection.open(await server.ask<number>('port'))

async function time(route: (typeof routes)[number], name: Name): Promise<number> {
  const { username, password } = credentials[name]
  const text =
    route === 'login'
      ? requestText('POST', '/login', {}, { username, password })
      : requestText('GET', '/basic', basicHeader(username, password))
  const started = performance.now()
  const reply = await connection.request(text)
  const elapsed = performance.now() - started
  if (reply?.status !== 401) throw new Error(`${route}, ${name}: ${reply?.status}`)
  return elapsed
}

console.log(`${samples} samples each; ${describeMachine()}\n`)
const cases = routes.flatMap((route) =>
  names.map((name) => ({ route, name, times: [] as number[] })),
)
for (let sample = -2; sample < samples; sample += 1) {
  // Another order each time, so that none always comes after the same one.
  for (const one of cases.toSorted(() => Math.random() - 0.5)) {
    const elapsed = await time(one.route, one.name)
    if (sample >= 0) one.times.push(elapsed)
  }
}
const foreign = others()
connection.close()
await server.end()

printTable([
  ['', 'median ms', 'p25', 'p75'],
  ...cases.map(({ route, name, times }) => [
    `${route}, ${name}`,
    ...[median(times), quantile(times, 0.25), quantile(times, 0.75)].map((ms) => ms.toFixed(2)),
  ]),
])
console.log(
  `Others used ${foreign?.toFixed(2) ?? 'an unknown number of'} cores; ${describeMachine()}\n`,
)
judge(
  routes.map((route) => {
    const medians = cases.filter((one) => one.route === route).map(({ times }) => median(times))
    const found = Math.max(...medians) / Math.min(...medians)
    return { name: `${route}: slowest / fastest median`, found, bound: 1.1, kind: 'most' as const }
  }),
)
