// Protected routes of this package and of its peers, side by side: see README.md.
import { runBoot, runRouteBoots } from './compare/boot.js'
import { drawChart } from './compare/chart.js'
import { checkAll } from './compare/check.js'
import { runCluster } from './compare/cluster.js'
import { resultsTable } from './compare/markdown.js'
import { growthOf, heapPerThousand } from './compare/memory.js'
import { runMicro } from './compare/micro.js'
import { installPeers } from './compare/peers.js'
import { comparison, machine, method, today, writeResults } from './compare/report.js'
import { runRounds, startLoad } from './compare/rounds.js'
import { scalingVariants } from './compare/scaling.js'
import { targetsOf, targetsTable } from './compare/targets.js'
import { quickVariants, variants } from './compare/variants.js'
import { numberFlags } from './support/flags.js'
import { judge } from './support/report.js'

// As it is in production: some peers write traces of their refusals otherwise.
process.env.NODE_ENV ??= 'production'

const args = process.argv.slice(2)
const isQuick = args.includes('--quick')
const flags = numberFlags(
  isQuick
    ? { rounds: 1, seconds: 0.05, repeats: 6, retries: 0, connections: 64 }
    : { rounds: 3, seconds: 0.1, repeats: 24, retries: 2, connections: 64 },
  args.filter((arg) => arg !== '--quick'),
)
const pace = { ...flags, warmUp: isQuick ? 0.4 : 1.5 }
/** What only has to show a tendency. */
const fewer = {
  ...pace,
  rounds: Math.ceil(flags.rounds / 2),
  repeats: Math.ceil(flags.repeats / 2),
}
const say = (text: string): void => void process.stderr.write(`${text}\n`)

installPeers()
// Each process is checked again before it is measured; this one is there to fail early.
if (!isQuick) {
  say('checking that all accept and refuse the same')
  await checkAll(variants)
}
const load = await startLoad(flags.connections)
// In the first one the load generator itself is compiled.
await runRounds(variants.slice(0, 1), load, { ...fewer, rounds: 1 })
const results = await runRounds(isQuick ? quickVariants : variants, load, pace)
const scaling = await runRounds(scalingVariants(isQuick), load, fewer)
say('several processes')
const cluster = await runCluster(load, { ...fewer, seconds: isQuick ? 0.3 : 1, warmUp: 1 })
say('memory')
const growth = await growthOf(load)
await load.end()
const heap = await heapPerThousand()
say('boot')
const boot = await runBoot(isQuick ? 2 : 9)
const routeBoots = await runRouteBoots(isQuick ? [10, 1000] : [10, 1000, 10_000])
say('libraries alone')
const micro = await runMicro(
  isQuick ? { rounds: 2, milliseconds: 15 } : { rounds: 7, milliseconds: 120 },
)

const kib = (bytes: number): string => (bytes / 1024).toFixed(0)
const mib = (bytes: number): string => (bytes / 2 ** 20).toFixed(1)
// What was measured in so short a time is held against nobody.
const targets = isQuick ? [] : targetsOf(results, { scaling, bootAdded: boot.added, growth })
const sections = [
  { title: 'What was measured', text: method(pace) },
  ...comparison(results),
  { title: 'Scaling', text: resultsTable(scaling, scaling[0]?.variant.name ?? '') },
  { title: 'Several processes (node:cluster)', text: cluster },
  { title: 'Boot', text: `${boot.markdown}\n\n${routeBoots}` },
  {
    title: 'Memory',
    text: `1,000 remembered tokens take ${kib(heap)} KiB. Heap before 100,000 requests with distinct tokens: ${mib(growth.before)} MiB; after: ${mib(growth.after)} MiB.`,
  },
  { title: 'Libraries alone', text: micro },
  ...(isQuick ? [] : [{ title: 'Targets', text: targetsTable(targets) }]),
]
const svg = await drawChart(results, `${machine()}; ${today()}`)
const written = writeResults(isQuick ? 'quick' : 'results', sections, svg)
for (const { title, text } of sections) console.log(`\n## ${title}\n\n${text}`)
console.log(`\nWritten to ${written}.`)
judge(targets)
