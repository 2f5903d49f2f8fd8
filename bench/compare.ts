// Protected routes of this package and of its peers, side by side: see README.md.
import { runBoot } from './compare/boot.js'
import { checkAll } from './compare/check.js'
import { filling, growthOf } from './compare/memory.js'
import { installNodes } from './compare/nodes.js'
import { installPeers } from './compare/peers.js'
import { comparison, method, writeResults } from './compare/report.js'
import { runRounds, startLoad } from './compare/rounds.js'
import { shareTargets, targetsOf, targetsTable } from './compare/targets.js'
import { mainVariants, otherVariants, variantsWith, type Variant } from './compare/variants.js'
import { numberFlags } from './support/flags.js'
import { judge } from './support/report.js'

// As it is in production: some peers write traces of their rejections otherwise.
process.env.NODE_ENV ??= 'production'

const args = process.argv.slice(2)
const at = args.indexOf('--only')
/** A part of a name: no other variants are measured. */
const only = at === -1 ? undefined : String(args.splice(at, 2)[1])
const flags = numberFlags(
  { rounds: 6, seconds: 0.1, repeats: 12, retries: 2, connections: 64 },
  args,
)
const pace = { ...flags, warmUp: 1 }
/** Fewer repeats, for tables that only show a tendency. */
const fewer = { ...pace, rounds: Math.ceil(flags.rounds / 3) }
const say = (text: string): void => void process.stderr.write(`${text}\n`)

if (only !== undefined) {
  await runOnly(variantsWith(only))
  process.exit()
}
installPeers()
installNodes()
// Each process is checked again before it is measured; this one is there to fail early.
say('checking that all accept and refuse the same')
await checkAll([...mainVariants, ...otherVariants])
const load = await startLoad(flags.connections)
// In the first one the load generator itself is compiled.
await runRounds(mainVariants.slice(0, 1), load, { ...fewer, rounds: 1 })
const results = [
  ...(await runRounds(mainVariants, load, pace)),
  ...(await runRounds(otherVariants, load, fewer)),
]
say('memory')
const growth = await growthOf(load)
await load.end()
say('boot')
const boot = await runBoot(31)

const mib = (bytes: number): string => (bytes / 2 ** 20).toFixed(1)
const targets = targetsOf(results, { bootRatio: boot.ratio, growth })
const sections = [
  { title: 'What was measured', text: method(pace, fewer) },
  { title: 'Targets', text: targetsTable(targets) },
  ...comparison(results),
  { title: 'Boot', text: boot.markdown },
  {
    title: 'Memory',
    text: `Heap after ${filling.toLocaleString('en')} requests with distinct tokens: ${mib(growth.before)} MiB; after 100,000 more: ${mib(growth.after)} MiB.`,
  },
]
const written = writeResults(sections)
for (const { title, text } of sections) console.log(`\n## ${title}\n\n${text}`)
console.log(`\nWritten to ${written}.`)
judge(targets)

/** Measures some variants, prints what was found, and writes nothing. */
async function runOnly(variants: readonly Variant[]): Promise<void> {
  if (variants.length === 0) throw new TypeError(`--only ${only}: no variant is called so`)
  if (variants.some(needsPeers)) installPeers()
  installNodes()
  const load = await startLoad(flags.connections)
  await runRounds(variants.slice(0, 1), load, { ...pace, rounds: 1, repeats: 1 })
  const results = await runRounds(variants, load, pace)
  await load.end()
  for (const { title, text } of comparison(results)) console.log(`\n## ${title}\n\n${text}`)
  console.log(`\n${pace.rounds} rounds of ${pace.repeats} measurements.\n`)
  judge(shareTargets(results))
}

function needsPeers({ app, baseline }: Variant): boolean {
  return [app, baseline.app].some(({ peer }) => peer !== 'ours' && peer !== 'bare')
}
