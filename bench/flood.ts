// What a flood of password checks does to an app: see README.md.
import { hashesOf } from './support/credentials.js'
import { numberFlags } from './support/flags.js'
import { describeMachine } from './support/machine.js'
import type { Variant } from './support/phase.js'
import { judge } from './support/report.js'
import { printSummaries, runRounds, targetsOf, type Summary } from './support/rounds.js'

const { rounds, ...flags } = numberFlags({ seconds: 5, rounds: 3, connections: 64, retries: 0 })

/** One entry, so that Basic always meets credentials for the first time. */
const first = { credentialCache: { max: 1 } }
const none = { ...first, hashing: { concurrency: 1024, maxQueue: 1024 } }
const variants: readonly Variant[] = [
  { name: 'idle', load: 'none', authn: first },
  { name: 'logins', load: 'login', authn: first },
  { name: 'Basic', load: 'basic', authn: first },
  { name: 'logins, no queue', load: 'login', authn: none },
]

const { connections, seconds } = flags
console.log(`${connections} connections, ${rounds} rounds of ${seconds} s; ${describeMachine()}\n`)
const options = { ...flags, hashes: await hashesOf(2 * connections) }
const summaries = await runRounds(variants, rounds, options)
const [, idle, logins, basic] = summaries as [Summary, Summary, Summary, Summary]

printSummaries(summaries)
console.log(`${describeMachine()}\n`)
judge([...targetsOf(logins, idle), ...targetsOf(basic, idle)])
