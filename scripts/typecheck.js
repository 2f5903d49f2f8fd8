// Type-checks the package, its tests, the examples, the demo and the benchmarks under both compilers that people use.
import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const { resolve } = createRequire(import.meta.url)
const root = fileURLToPath(new URL('../', import.meta.url))
// The second one has no entry point for this file among its exports.
const compilers = {
  6: resolve('typescript/bin/tsc'),
  7: fileURLToPath(new URL('../node_modules/typescript7/bin/tsc', import.meta.url)),
}

for (const [version, tsc] of Object.entries(compilers)) {
  for (const project of ['.', 'examples', 'examples/demo', 'bench']) {
    console.log(`TypeScript ${version}: ${project}`)
    const args = [tsc, '--noEmit', '--pretty', '-p', project]
    try {
      execFileSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
    } catch {
      // The compiler has said why.
      process.exit(1)
    }
  }
}
