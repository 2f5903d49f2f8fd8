// Notes which parts of lib/ a process runs, for `tap report`: node --import ./scripts/coverage.js program.js
// The file of the variable COVERAGE_FILE gets it, in the format of NODE_V8_COVERAGE. That one would note every
// package too, and in every process that a test starts.
import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'

const file = process.env.COVERAGE_FILE
delete process.env.COVERAGE_FILE
const lib = new URL('../.tests/lib/', import.meta.url).href

if (file !== undefined) {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  process.on('exit', () => {
    session.post('Profiler.takePreciseCoverage', (_error, { result }) => {
      const ours = result.filter(({ url }) => url.startsWith(lib))
      writeFileSync(file, JSON.stringify({ result: ours }))
    })
  })
}
