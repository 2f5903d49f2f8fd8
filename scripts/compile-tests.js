// Compiles lib/, the tests and what they import, once, into .tests/, a tree of the same paths, with .js in place of .ts,
// with source maps by which coverage counts lines of lib/*.ts. What scripts/run-tests.js runs is .tests/run/: few
// programs of many tests that take nothing of each other, and one for each other test, because every program of its own
// costs half a second of CPU.
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
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
 * Tests that share a program: files and folders of test/. Those that need a server or a browser are by themselves, since
 * they run again where it is installed; so are those that take long, or change what others need. The first row counts.
 */
const shared = Object.entries({
  '': 'feature|app/fastify|browser/(passkeys-)?pages|passwords/engine-(node|none)|flows/(apps-browser|bcrypt-work|cross-site-browser|demo|demo-page|deploy-without-downtime|docs-page|faults-under-load|late-(import|scenarios)|login-with-(browser|processes)|rotation)|request/storage|sessions/(startup|stores/faults)|(accounts|api-keys|passkeys|second-factor)/processes|login-with/identities|recipes/(accounts|audit-log|identities|passkeys|second-factor)',
  'oidc-provider': 'flows/(login-with|oidc)-provider',
  'flows-more': 'flows/(clock|context|diagnostics|openapi|password-queue|throttle)',
  'examples-mcp': 'examples/mcp.*',
  docs: 'browser/size|documentation|scripts/llms|examples/.*|recipes/.*|cli/.*-page|flows/(from-express|static-files)',
  redis: 'sessions/stores/redis|throttle/redis|cli/commands/(api-keys|sessions)',
  sql: 'sessions/stores/sql|stores/sql|accounts/sql|api-keys/(sql|stores)',
  attacks: 'attacks/.*|testing/attacks',
  cli: 'cli/.*',
  tokens: '(tokens|issuers)/.*',
  flows: 'flows/.*',
  browser: 'browser/.*|testing/account-attacks',
  sessions: '(sessions|testing)/.*|api-keys/(api|options|owners|requests|scopes)',
  'login-with': 'login-with/.*',
  accounts: '(accounts|passkeys|second-factor)/.*',
  small:
    'architecture|errors|events|locales|scripts/check-publish|(app|authenticators|common|cookies|guard|http|marks|openapi|options|passwords|request|throttle|users)/.*',
}).map(([name, tests]) => [name, new RegExp(`^test/(?:${tests})\\.test\\.ts$`)])
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
  const name = programOf(file)
  programs.set(name, [...(programs.get(name) ?? []), file])
}
mkdirSync(path.join(out, 'run'))
for (const [name, tests] of programs) {
  const imports = tests.map((test) => `import '../${test.replace(/ts$/, 'js')}'\n`)
  writeFileSync(path.join(out, 'run', `${name}.js`), imports.join(''))
}

function programOf(file) {
  const [name] = shared.find(([, tests]) => tests.test(file)) ?? []
  return name || file.replace(/^test\/(.*)\.test\.ts$/, '$1').replaceAll('/', '-')
}
