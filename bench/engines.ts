// The thread pool of libuv behind the queue against worker threads of the lowest priority: see README.md.
import { hashesOf } from './support/credentials.js'
import { numberFlags } from './support/flags.js'
import { describeMachine } from './support/machine.js'
import type { Variant } from './support/phase.js'
import { judge } from './support/report.js'
import { printSummaries, runRounds, targetsOf, type Summary } from './support/rounds.js'

const { rounds, ...flags } = numberFlags({ seconds: 8, rounds: 3, connections: 64, retries: 0 })

const authn = { credentialCache: { max: 1 } }
const workers = new URL('engines/workers.js', import.meta.url).href
const variants: readonly Variant[] = [
  { name: 'idle', load: 'none', authn },
  { name: 'logins, libuv', load: 'login', authn },
  { name: 'logins, workers', load: 'login', authn, engine: workers },
  { name: 'Basic, libuv', load: 'basic', authn },
  { name: 'Basic, workers', load: 'basic', authn, engine: workers },
]

const { connections, seconds } = flags
console.log(`${connections} connections, ${rounds} rounds of ${seconds} s; ${describeMachine()}\n`)
const options = { ...flags, hashes: await hashesOf(2 * connections) }
const summaries = await runRounds(variants, rounds, options)
const [, idle, ...floods] = summaries as [Summary, Summary, ...Summary[]]
printSummaries(summaries)
console.log(`${describeMachine()}\n`)
judge(floods.flatMap((flood) => targetsOf(flood, idle)))
