// The way of a newcomer: packs the package, installs it in an empty folder, follows the README, and prints
// what there is to see. The code is that of README.md and docs/, found by its headings. Needs a registry of npm.
//
//   npm run walk-through      ends with 1, and the name of the step, when one does not show what it must
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openPage } from '../test/helpers/browser.ts'
import { findProgram } from '../test/helpers/programs.ts'
import { root } from '../test/helpers/project.ts'
import { blocksOf, isExpectedOutput, readPage } from '../test/helpers/readme.ts'

const { devDependencies } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'))
const temporary = await mkdtemp(path.join(tmpdir(), 'fastify-authn-walk-'))
const home = path.join(temporary, 'my-app')
/** What a newcomer's shell has: nothing that npm tells the scripts of a package, no configuration of an app. */
const notTheirs =
  /^(?:npm_(?!config_)|npm_config_(?:(?:local_|global_)?prefix|loglevel)$|NODE_(?:ENV|OPTIONS)$|_?TAP|AUTH_)/i
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !notTheirs.test(name)),
)
/** What still has to be ended, in the order in which it was started. */
const endings = []

const steps = {
  'Install it in an empty folder': install,
  '1. Protect a route': protectRoute,
  '2. Log in, and call the route': logIn,
  '3. See the lock in Swagger UI': seeLock,
  '4. Write a test': writeTest,
  '5. Find out why a token is refused': inspectTokens,
  '6. List the routes that are open': listRoutes,
}

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => end().finally(() => process.exit(1)))
}
let passed = 0
try {
  for (const [name, step] of Object.entries(steps)) {
    console.log(`\n=== ${name}\n`)
    await step().catch((error) => {
      throw new Error(`FAILED: ${name}\n${tidy(error.message)}`, { cause: error })
    })
    passed++
  }
} catch (error) {
  console.log(error.message)
  process.exitCode = 1
} finally {
  await end()
}
console.log(`\n${passed} steps passed, ${process.exitCode === 1 ? 1 : 0} failed`)

async function install() {
  const others = ['fastify', '@fastify/swagger', '@fastify/swagger-ui']
  const names = others.map((name) => `${name}@${devDependencies[name]}`)
  await mkdir(home)
  const pack = `npm pack --json --ignore-scripts --pack-destination '${temporary}'`
  const [{ filename }] = [JSON.parse(await shell(pack, root))].flat()
  await type('npm init -y', /"name": "my-app"/)
  await type(
    `npm install --no-audit --no-fund --ignore-scripts ../${filename} ${names.join(' ')}`,
    /added \d+ packages/,
  )
}

async function protectRoute() {
  const [{ text, output }] = codeOf('README.md', 'First steps')
  await write('first-steps.mjs', text)
  await type('npx fastify-authn secret > .env')
  await type('node --env-file=.env first-steps.mjs', output)
}

async function logIn() {
  const [{ text }] = codeOf('README.md', 'First steps')
  // The same app, which listens in place of asking itself.
  const server = await serve('server.mjs', text.split('const login =')[0])
  const body = '{"username":"alice","password":"wonderland"}'
  const { token } = JSON.parse(await request(`${server}/login`, 200, { body }))
  expect(await request(`${server}/me`, 200, { token }), /^\{"id":1,"name":"alice"\}$/)
  expect(await request(`${server}/me`, 401), /^\{"error":"Invalid or missing .*"\}$/)
}

async function seeLock() {
  const [{ text, output }, page] = codeOf('docs/openapi.md')
  await write('openapi.mjs', text)
  await type('node openapi.mjs', output)
  const server = await serve('docs.mjs', `${text.split('await app.ready()')[0]}${page.text}`)
  const { paths } = JSON.parse(await request(`${server}/docs/json`, 200))
  expect(JSON.stringify(paths['/'].get.security), /^\[\{"basicAuth":\[\]\}\]$/)
  const chromium = findProgram('Chromium')
  if (chromium === null) return console.log('(no Chromium here: nobody looks at the page)')
  const teardown = (ending) => endings.push(ending)
  const { page: tab } = await openPage({ teardown }, chromium, 'en')
  await tab.goto(`${server}/docs`)
  for (const [route, locks] of Object.entries({ '/': 1, '/news': 1, '/open': 0 })) {
    const block = tab.locator('.opblock', { has: tab.locator(`[data-path="${route}"]`) })
    await block.waitFor()
    const lock = block.locator('.authorization__btn:visible')
    const found = await lock.count()
    console.log(`The page shows GET ${route} with${found > 0 ? '' : 'out'} a lock`)
    if (found !== locks) throw new Error(`${route}: found ${found} locks, expected ${locks}`)
  }
}

async function writeTest() {
  const [{ text }] = codeOf('docs/testing.md')
  await write('me.test.mjs', text)
  await type('node --test', /pass 4\n[^]*fail 0\n/)
}

async function inspectTokens() {
  await type('npx fastify-authn secret > .env')
  await type('npx fastify-authn token --sub alice --expires 1s --env .env > token.txt')
  await type('sleep 2')
  await type(
    'npx fastify-authn inspect --env .env < token.txt',
    /Not valid: ERR_AUTH_JWT_EXPIRED/,
    1,
  )
  await type('npx fastify-authn secret > other.env')
  await type('npx fastify-authn token --sub alice --env other.env > token.txt')
  await type(
    'npx fastify-authn inspect --env .env < token.txt',
    /ERR_AUTH_JWT_INVALID.*SIGNATURE/,
    1,
  )
  await type('npx fastify-authn inspect --env other.env < token.txt', /^Valid: /m)
}

async function listRoutes() {
  const [{ text, output }] = codeOf('docs/routes.md', 'Which routes are open')
  expect(output, /^METHOD[^]*POST +\/login +open[^]*GET \/ \| HEAD \/ \| POST \/login/)
  await write('routes.mjs', text)
  await type('node --env-file=.env routes.mjs', output)
}

/** The code blocks of a page, or of one of its sections, with what they print. */
function codeOf(page, heading) {
  const markdown = readPage(page)
  if (heading === undefined) return blocksOf(markdown)
  const lines = markdown.split('\n')
  const start = lines.indexOf(`## ${heading}`)
  if (start === -1) throw new Error(`${page} has no section "${heading}"`)
  const stop = lines.findIndex((line, index) => index > start && line.startsWith('## '))
  return blocksOf(markdown).filter(({ line }) => line > start && (stop === -1 || line <= stop))
}

async function write(file, text) {
  await writeFile(path.join(home, file), `${text.trim()}\n`)
  console.log(`--- ${file}\n${indent(text.trim())}\n---`)
}

/** Types a command, which must end with a code and print a text: that of the README, or one that matches. */
async function type(command, expected = /^$/, code = 0) {
  console.log(`$ ${command}`)
  const printed = await shell(command, home, code)
  if (printed !== '') console.log(tidy(printed.trim()))
  expect(printed, expected)
}

function expect(text, expected) {
  const isRight =
    typeof expected === 'string' ? isExpectedOutput(text, expected) : expected.test(text)
  if (!isRight) throw new Error(`expected ${expected}\nfound ${text}`)
}

async function shell(command, cwd, expected = 0) {
  const child = start('sh', ['-c', command], cwd)
  const [code] = await once(child, 'close')
  const { stdout, stderr } = child.printed
  if (code !== expected) throw new Error(`${command} ended with ${code}:\n${stdout}${stderr}`)
  return stdout
}

function start(program, words, cwd) {
  const stdio = ['ignore', 'pipe', 'pipe']
  const child = spawn(program, words, { cwd, env, stdio, timeout: 300_000 })
  child.printed = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr']) {
    child[name].setEncoding('utf8').on('data', (text) => (child.printed[name] += text))
  }
  endings.push(() => child.exitCode === null && child.kill('SIGKILL') && once(child, 'close'))
  return child
}

/** Runs an app that listens, and returns its address. */
async function serve(file, app) {
  const listen = "console.log(await app.listen({ host: '127.0.0.1', port: 0 }))"
  await write(file, `${app.trim()}\n\n${listen}`)
  console.log(`$ node --env-file=.env ${file}`)
  const child = start(process.execPath, ['--env-file=.env', file], home)
  const ended = once(child, 'close')
  let address
  do {
    await Promise.race([once(child.stdout, 'data'), ended])
    // Beside it stand the lines of the logger.
    address = /^http:\S+$/m.exec(child.printed.stdout)?.[0]
  } while (address === undefined && child.exitCode === null)
  const { stdout, stderr } = child.printed
  if (address === undefined) throw new Error(`it does not listen:\n${stdout}${stderr}`)
  console.log(tidy(address))
  return address
}

async function request(url, status, { token, body } = {}) {
  const method = body ? 'POST' : 'GET'
  const headers = body ? { 'content-type': 'application/json' } : {}
  if (token) headers.authorization = `Bearer ${token}`
  console.log(tidy(`${method} ${url} ${body ?? headers.authorization ?? ''}`.trim()))
  const signal = AbortSignal.timeout(30_000)
  const response = await fetch(url, { method, headers, body, signal })
  const text = await response.text()
  const shown = tidy(`${response.status} ${text}`)
  console.log(indent(shown.length > 300 ? `${shown.slice(0, 300)} …` : shown))
  if (response.status !== status) throw new Error(`expected ${status}, found ${response.status}`)
  return text
}

/** A text without what differs from one machine, or from one run, to the next. */
function tidy(text) {
  return text
    .replaceAll(temporary, '…')
    .replaceAll(root, '…/')
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:3000')
    .replaceAll(/(eyJ[\w-]{8})[\w-]+\.[\w-]+\.[\w-]+/g, '$1…')
}

function indent(text) {
  return text.replaceAll(/^(?=.)/gm, '  ')
}

async function end() {
  for (const ending of endings.splice(0).toReversed()) await ending()
  await rm(temporary, { recursive: true, force: true })
}
