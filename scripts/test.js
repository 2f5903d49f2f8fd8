// `npm test`: builds, checks types, lint and format, compiles the tests once, and runs them. It tells the
// seconds of each step, and stops after a group of steps one of which has failed.
//
//   npm test                              everything
//   npm test -- test/flows/login.test.ts  these tests only, after all the other steps
import { runNode, severalAtATime } from './processes.js'

const tests = process.argv
  .slice(2)
  .map((word) => word.replace(/^(?:\.\/)?test\/(.*)\.ts$/, '.tests/test/$1.js'))

/** The steps of a group run two at a time: one for each core of a small machine. */
const groups = [
  {
    'build, under TypeScript 6': 'scripts/build.js --check',
    // With more room for its garbage, prettier takes a sixth less of the processor.
    format:
      '--max-semi-space-size=64 node_modules/prettier/bin/prettier.cjs --check --log-level warn .',
    'compile the tests': 'scripts/compile-tests.js',
  },
  {
    'TypeScript 7': 'scripts/typecheck.js',
    lint: 'node_modules/oxlint/bin/oxlint --type-aware',
  },
  { tests: `scripts/run-tests.js ${tests.join(' ') || '--coverage'}` },
]

for (const group of groups) {
  await severalAtATime(2, Object.keys(group), async (name) => {
    const { code, seconds } = await runNode(group[name].split(' '), { stdio: 'inherit' })
    console.log(`${code === 0 ? 'ok' : 'FAILED'}: ${name} (${seconds} s)`)
    if (code !== 0) process.exitCode = 1
  })
  if (process.exitCode) break
}
