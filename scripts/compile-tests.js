// Compiles lib/, the tests and what they import, once, into .tests/, a tree of the same paths, with .js in place of .ts,
// with source maps by which coverage counts lines of lib/*.ts. What scripts/run-tests.js runs is .tests/run/: few
// programs of many tests that take nothing of each other, and one for each other test, because every program of its own
// costs half a second of CPU.
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('../', import.meta.url))
const folders = ['lib', 'types', 'locales', 'test', 'examples']
/** Type tests are compiled only, by scripts/check-package.js; dist/ and keys/ are made by the demo. */
const leftOut = /^(?:test\/types|examples\/demo\/(?:dist|keys))\//

const files = folders
  .flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name))),
  )
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => !leftOut.test(file))
/**
 * A folder of test/ is a program, and so is each file outside of a folder, and examples/. These share one, because each
 * start costs half a second. A file may name another program in its first line: `// program: redis`, with `its own` for
 * one that needs a process for itself, and `, in npm run test:all` for what `npm test` leaves out.
 */
const together = {
  accounts: 'accounts mail passkeys second-factor',
  docs: 'examples',
  login: 'login resource valid-after',
  sessions: 'sessions testing',
  small:
    'app authenticators common cookies errors guard http marks openapi options passwords request stores throttle users',
  tokens: 'issuers jwks tokens',
}
const programOfFolder = new Map(
  Object.entries(together).flatMap(([name, list]) =>
    list.split(' ').map((folder) => [folder, name]),
  ),
)
/** What the docs, the demo and the examples show, without a line in each file */
const notQuick = /^(?:docs|editor|readme|tutorials-.*)$/
const isCode = (file) => file.endsWith('.ts') && !file.endsWith('.d.ts')
const out = path.join(root, '.tests')

rmSync(out, { recursive: true, force: true })
await build({
  absWorkingDir: root,
  entryPoints: files.filter(isCode),
  outdir: out,
  outbase: root,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
})
for (const file of files.filter((file) => !file.endsWith('.ts'))) {
  cpSync(path.join(root, file), path.join(out, file))
}

const programs = new Map()
for (const file of files.filter((file) => file.endsWith('.test.ts'))) {
  const [name, quick] = programOf(file)
  const program = programs.get(name) ?? { quick, tests: [] }
  programs.set(name, program)
  program.tests.push(file)
}
mkdirSync(path.join(out, 'run'))
for (const [name, { quick, tests }] of programs) {
  const imports = tests.map((test) => `import '../${test.replace(/ts$/, 'js')}'\n`)
  const first = quick ? '' : '// in npm run test:all\n'
  writeFileSync(path.join(out, 'run', `${name}.js`), first + imports.join(''))
}

/** Its name, and whether `npm test` runs it. */
function programOf(file) {
  const own = file.replace(/^(?:test|examples)\/(.*)\.test\.ts$/, '$1').replaceAll('/', '-')
  const text = readFileSync(path.join(root, file), 'utf8')
  const [, named, all] = /^\/\/ program: (.*?)(, in npm run test:all)?\n/.exec(text) ?? []
  const [folder] = file.replace(/^test\//, '').split('/', 1)
  const isAlone = folder === 'tutorials' || folder.endsWith('.test.ts')
  const usual = isAlone ? own : (programOfFolder.get(folder) ?? folder)
  const name = named === 'its own' ? own : (named ?? usual)
  return [name, all === undefined && !notQuick.test(name)]
}
