// Compiles lib/, the tests and what they import, once, into .tests/, a tree of the same paths, with .js in place of .ts,
// with source maps by which coverage counts lines of lib/*.ts. What scripts/run-tests.js runs is .tests/run/: few
// programs of many tests that take nothing of each other, and one for each other test, because every program of its own
// costs half a second of CPU.
import { copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
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
 * Tests that share a program, by its name: files and folders of test/. Tests that need a server are by themselves, because
 * they run again where it is installed. What is in none of them has a program of its own: what needs a browser, takes
 * long, or changes what other tests need, such as bcrypt or the order of imports.
 */
const shared = Object.entries({
  'flows-more': 'flows/(access-matrix|clock|context|diagnostics|openapi|password-queue|throttle)',
  pages: '(architecture|documentation|feature|scripts/llms|examples/.*|recipes/.*)',
  redis: '(sessions/stores/redis|throttle/redis|cli/commands/(api-keys|sessions))',
  sql: '(sessions/stores/sql|stores/sql|api-keys/(sql|stores))',
  attacks: '(attacks/.*|testing/attacks)',
  small:
    '(errors|events|locales|(app|authenticators|common|cookies|guard|http|marks|openapi|options|passwords|request|throttle|users)/.*)',
  cli: 'cli/.*',
  tokens: '((tokens|issuers)/.*)',
  flows: 'flows/.*',
  sessions: '((sessions|testing)/.*|api-keys/(api|options|requests))',
}).map(([name, tests]) => [name, new RegExp(`^test/${tests}\\.test\\.ts$`)])
const alone =
  /^test\/(?:app\/fastify|flows\/(?:bcrypt-work|cross-site-browser|demo|demo-page|docs-page|faults-under-load|late-import|oidc-provider|rotation)|request\/storage|sessions\/(?:startup|stores\/faults)|api-keys\/processes)\.test\.ts$/
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
  mkdirSync(path.dirname(path.join(out, file)), { recursive: true })
  copyFileSync(path.join(root, file), path.join(out, file))
}

const programs = new Map()
for (const file of files.filter((file) => file.endsWith('.test.ts'))) {
  const name = programOf(file)
  programs.set(name, [...(programs.get(name) ?? []), file])
}
mkdirSync(path.join(out, 'run'))
for (const [name, tests] of programs) {
  const imports = tests.map((test) => `import '../${test.replace(/ts$/, 'js')}'\n`)
  writeFileSync(path.join(out, 'run', `${name}.js`), imports.join(''))
}

function programOf(file) {
  const ofItsOwn = file.replace(/^test\/(.*)\.test\.ts$/, '$1').replaceAll('/', '-')
  if (alone.test(file)) return ofItsOwn
  return shared.find(([, tests]) => tests.test(file))?.[0] ?? ofItsOwn
}
