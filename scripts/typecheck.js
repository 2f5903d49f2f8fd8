// Type-checks what is published under both compilers that people use, and everything else under the newer one, at once,
// or under the one that is named: node scripts/typecheck.js 7
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))
/** What the compilers remember of a run: only what has changed since is checked in the next one. */
const cache = 'node_modules/.cache/typecheck'
const compilers = { 6: 'typescript', 7: 'typescript7' }
const projects = {
  6: ['tsconfig.declarations.json'],
  7: ['.', 'examples', 'examples/demo', 'bench'],
}
const wanted = process.argv[2]

const results = await Promise.all(
  Object.keys(compilers)
    .filter((version) => wanted === undefined || version === wanted)
    .map(check),
)
process.exitCode = results.length > 0 && results.every(Boolean) ? 0 : 1

async function check(version) {
  const tsc = fileURLToPath(
    new URL(`../node_modules/${compilers[version]}/bin/tsc`, import.meta.url),
  )
  for (const project of projects[version]) {
    const start = performance.now()
    const seen = `${cache}/TypeScript ${version}, ${project.replace('/', ' ')}.tsbuildinfo`
    const remember = ['--incremental', '--tsBuildInfoFile', seen]
    const check = ['--noEmit', '--emitDeclarationOnly', 'false', '--noCheck', 'false']
    const args = [tsc, ...check, '--pretty', ...remember, '-p', project]
    const [code] = await once(
      spawn(process.execPath, args, { cwd: root, stdio: 'inherit' }),
      'close',
    )
    const seconds = ((performance.now() - start) / 1000).toFixed(1)
    console.log(`TypeScript ${version}: ${project} (${seconds} s)`)
    // The compiler has said why.
    if (code !== 0) return false
  }
  return true
}
