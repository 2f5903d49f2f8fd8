// The way of a newcomer: packs the package, installs it in an empty folder, and runs there what README.md and docs/ show,
// with what must come of it. The code is found by its headings. Needs a registry of npm.
//
//   npm run walk-through
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { root } from '../test/helpers/project.ts'
import { blocksOf, isExpectedOutput, readPage } from '../test/helpers/readme.ts'

const { devDependencies } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'))
const home = mkdtempSync(path.join(tmpdir(), 'my-app-'))
/** A newcomer's shell has nothing that npm tells the scripts of a package, and no configuration of an app. */
const notTheirs =
  /^(?:npm_(?!config_)|npm_config_(?:(?:local_|global_)?prefix|loglevel)$|NODE_(?:ENV|OPTIONS)$|_?TAP|AUTH_)/i
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !notTheirs.test(name)),
)
let passed = 0

try {
  const names = ['fastify', '@fastify/swagger', '@fastify/swagger-ui'].map(
    (name) => `${name}@${devDependencies[name]}`,
  )
  type(`npm pack --ignore-scripts --pack-destination '${home}'`, /\.tgz\n$/, root)
  type('npm init -y', /"name": "my-app-/)
  type(`npm install --no-audit --no-fund --ignore-scripts ./*.tgz ${names.join(' ')}`, /^added/m)
  type('npx fastify-authn secret >> .env')
  run('README.md')
  run('docs/guides/openapi.md')
  run('docs/reference/routes.md', 'Which routes are open')
  writeFileSync(path.join(home, 'me.test.mjs'), blockOf('docs/guides/testing.md').text)
  type('node --test', /pass 4\n[^]*fail 0\n/)
  type('npx fastify-authn token --sub alice --env .env > token.txt')
  type('npx fastify-authn inspect --env .env < token.txt', /^Valid: /m)
  type('npx fastify-authn secret > other.env')
  type(
    'npx fastify-authn inspect --env other.env < token.txt || true',
    /^Not valid: ERR_AUTH_JWT_INVALID /m,
  )
} catch (error) {
  console.log(`${error.message}\n${error.stdout ?? ''}${error.stderr ?? ''}`)
  process.exitCode = 1
} finally {
  rmSync(home, { recursive: true, force: true })
}
console.log(`${passed} passed, ${process.exitCode === 1 ? 1 : 0} failed`)

/** Runs the first program of a page, or of one of its sections. */
function run(page, heading) {
  const { text, output } = blockOf(page, heading)
  writeFileSync(path.join(home, 'app.mjs'), text)
  type('node --env-file=.env app.mjs', output)
}

function blockOf(page, heading) {
  const markdown = readPage(page)
  const start = heading === undefined ? 0 : markdown.split('\n').indexOf(`## ${heading}`)
  if (start === -1) throw new Error(`${page} has no section "${heading}"`)
  return blocksOf(markdown).find(({ line, language }) => line > start && language !== 'sh')
}

/** Types a command, which must succeed and print a text: that of the page, or one that matches. */
function type(command, expected = /^$/, cwd = home) {
  console.log(`$ ${command}`)
  const options = { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }
  const printed = execFileSync('sh', ['-c', command], { ...options, timeout: 300_000 })
  const isRight =
    typeof expected === 'string' ? isExpectedOutput(printed, expected) : expected.test(printed)
  if (!isRight) throw new Error(`expected ${expected}\nfound ${printed}`)
  passed += 1
}
