// `npm start`: builds what the demo needs where it has changed, and runs the demo in this process, so that
// signals reach it. A wrong or busy port is said before anything is built.
import { statSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = new URL('../', import.meta.url)
const sources = ['lib', 'types', 'locales', 'scripts', 'package.json']
/** What `npm ci` writes last. */
const installed = 'node_modules/.package-lock.json'

await import('./build-demo.js')
const { tryPort } = await import(new URL('examples/demo/dist/port.js', root))
const { explain } = await import(new URL('examples/demo/dist/errors.js', root))
try {
  await tryPort(process.env)
} catch (error) {
  console.error(`\nThe demo cannot start. ${explain(error)}\n`)
  process.exit(1)
}
if (newest([...sources, installed]) > newest(['dist/esm', 'dist/cjs'])) {
  console.log('Building…')
  // The demo needs no declarations.
  process.argv.push('--code-only')
  await import('./build.js')
}
console.log('Starting…')
await import(new URL('examples/demo/dist/main.js', root))

/** When the newest of these files and folders, and of what is in them, was written; 0 where there is none. */
function newest(names) {
  const times = names.flatMap((name) => {
    const file = fileURLToPath(new URL(name, root))
    const stats = statSync(file, { throwIfNoEntry: false })
    if (stats === undefined) return []
    const inside = stats.isDirectory() ? readdirSync(file).map((entry) => `${name}/${entry}`) : []
    return [stats.mtimeMs, newest(inside)]
  })
  return Math.max(0, ...times)
}
