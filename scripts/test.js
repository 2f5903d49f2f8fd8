// `npm test`: compiles the tests and runs them, while types, lint, exports and format are checked.
//
//   npm test                              what a change needs most often
//   npm test -- test/login/login.test.ts  these tests only
//   npm run test:all                      also what `leftOut` names
import { parseArgs } from 'node:util'
import { runNode, severalAtATime } from './processes.js'

const { values, positionals } = parseArgs({
  options: { all: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const chosen = positionals.map((word) =>
  word.replace(/^(?:\.\/)?((?:test|examples)\/.*)\.ts$/, '.tests/$1.js'),
)
const isQuick = !values.all && chosen.length === 0
const tests = values.all ? ['--all', '--coverage'] : isQuick ? ['--quick'] : chosen
const leftOut =
  'docs, demo, examples, editors, build, coverage, and tests that need Redis, PostgreSQL, Chromium, nginx or Caddy'
/** The project and the files that can be checked without a built package. */
const quick = {
  types: '.',
  lint: 'lib types locales test scripts --ignore-pattern=test/types',
  format: 'lib types locales test scripts *.md',
}

await steps(2, {
  'compile the tests': 'scripts/compile-tests.js',
  ...(values.all && { 'build, under TypeScript 6': 'scripts/build.js --check' }),
  ...(chosen.length > 0 && { build: 'scripts/build.js' }),
})
if (!process.exitCode) {
  await Promise.all([
    steps(1, { tests: `scripts/run-tests.js ${tests.join(' ')}` }),
    steps(1, {
      types: `scripts/typecheck.js ${isQuick ? quick.types : ''}`,
      lint: `node_modules/oxlint/bin/oxlint --type-aware ${isQuick ? quick.lint : ''}`,
      'unused exports': 'node_modules/knip/bin/knip.js',
      // With more room for its garbage, prettier takes a sixth less of the processor.
      format: `--max-semi-space-size=64 node_modules/prettier/bin/prettier.cjs --check --cache --cache-location=.cache/prettier --log-level warn ${isQuick ? quick.format : '.'}`,
    }),
  ])
}
if (isQuick) console.log(`left to npm run test:all: ${leftOut}`)

/** Runs scripts, so many of them at a time, and tells the seconds of each. */
async function steps(count, scripts) {
  await severalAtATime(count, Object.keys(scripts), async (name) => {
    const { code, seconds } = await runNode(scripts[name].trim().split(' '), { stdio: 'inherit' })
    console.log(`${code === 0 ? 'ok' : 'FAILED'}: ${name} (${seconds} s)`)
    if (code !== 0) process.exitCode = 1
  })
}
