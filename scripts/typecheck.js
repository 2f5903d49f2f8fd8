// Type-checks everything under TypeScript 7. What is published is checked under TypeScript 6 too, as it is
// built: scripts/build.js --check.
import { runNode } from './processes.js'

const projects = ['.', 'examples', 'examples/demo', 'examples/recipes', 'bench']

for (const project of projects) {
  // What the compiler remembers of a run: only what has changed since is checked in the next one.
  const seen = `node_modules/.cache/typecheck/${project.replace('/', ' ')}.tsbuildinfo`
  const args = ['--noEmit', '--pretty', '--incremental', '--tsBuildInfoFile', seen, '-p', project]
  const { code, seconds } = await runNode(['node_modules/typescript7/bin/tsc', ...args], {
    stdio: 'inherit',
  })
  console.log(`TypeScript 7: ${project} (${seconds} s)`)
  // The compiler has said why.
  if (code !== 0) process.exitCode = 1
}
