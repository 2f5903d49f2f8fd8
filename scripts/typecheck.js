// Type-checks everything under TypeScript 7, or the projects that are named. What is published is checked under
// TypeScript 6 too, as it is built: scripts/build.js --check.
import { runNode } from './processes.js'

const named = process.argv.slice(2)
const projects =
  named.length > 0 ? named : ['.', 'examples', 'examples/demo', 'examples/recipes', 'bench']

for (const project of projects) {
  // What the compiler remembers of a run: only what has changed since is checked in the next one, also after `npm ci`.
  const seen = `.cache/typecheck/${project.replace('/', ' ')}.tsbuildinfo`
  const args = ['--noEmit', '--pretty', '--incremental', '--tsBuildInfoFile', seen, '-p', project]
  const { code, seconds } = await runNode(['node_modules/typescript7/bin/tsc', ...args], {
    stdio: 'inherit',
  })
  console.log(`TypeScript 7: ${project} (${seconds} s)`)
  // The compiler has said why.
  if (code !== 0) process.exitCode = 1
}
