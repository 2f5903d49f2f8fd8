// Builds the site and tries it: every link and anchor of every page leads somewhere, and in Chromium no page is wider than
// the screen of a phone or of a desk, or complains in the console; one of each folder is tried in light and dark colours.
//
//   node site/test.js              builds the site first
//   node site/test.js --built      takes the one that is there
//   … --pictures FOLDER PAGE…      opens only these pages, such as guides/access.html, and leaves pictures of them
import {
  createReadStream,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
} from 'node:fs'
import { createServer } from 'node:http'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { findChromium, withChromium } from './chromium.js'
import { outdated } from './diagrams.js'
import { searchProblems } from './search-test.js'

const { values, positionals } = parseArgs({
  options: { built: { type: 'boolean' }, pictures: { type: 'string' } },
  allowPositionals: true,
})
const dist = fileURLToPath(new URL('dist/', import.meta.url))
const types = { html: 'text/html', js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' }
const screens = [
  { name: 'phone', width: 390, height: 844 },
  { name: 'desk', width: 1280, height: 800 },
]
const schemes = ['light', 'dark']

// Made of the same pages: see llms.js
const llms = existsSync(new URL('llms.js', import.meta.url)) ? ['llms.txt', 'llms-full.txt'] : []

let passed = 0
let failed = 0

/** One page or subject, and what is wrong with it. */
function tell(name, problems) {
  if (problems.length === 0) {
    passed++
    return
  }
  failed++
  console.log(`FAILED: ${name}\n${problems.map((problem) => `  ${problem}\n`).join('')}`)
}

if (!values.built) await import('./build.js')
const files = readdirSync(dist, { recursive: true })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.html'))
  .toSorted((a, b) => a.localeCompare(b))
const isApi = (file) => file.startsWith('api/')

tell(
  'the files of the site',
  ['index.html', 'getting-started.html', 'reference/options.html', 'api/index.html', ...llms]
    .filter((file) => !existsSync(path.join(dist, file)))
    .map((file) => `${file} is missing`),
)
tell(
  'diagrams',
  outdated().map((name) => `${name}.mmd has changed: node site/diagrams.js`),
)
const texts = new Map(files.map((file) => [file, readFileSync(path.join(dist, file), 'utf8')]))
for (const file of files) tell(`links of ${file}`, deadLinks(file))
await tryInBrowser()
console.log(`${passed} passed, ${failed} failed`)
if (failed > 0) process.exitCode = 1

/** Links and pictures of a page that lead nowhere. */
function deadLinks(file) {
  const page = new URL(file, 'http://site/')
  const links = [...texts.get(file).matchAll(/ (?:href|src)="([^"]*)"/g)].map(([, link]) => link)
  return [...new Set(links)].flatMap((link) => {
    const { origin, pathname, hash } = new URL(link.replaceAll('&amp;', '&'), page)
    if (origin !== page.origin) return []
    const target = fileFor(decodeURIComponent(pathname))
    if (target === null) return [link]
    const id = decodeURIComponent(hash.slice(1))
    if (id === '' || !texts.has(target)) return []
    return texts.get(target).includes(` id="${id.replaceAll('&', '&amp;')}"`)
      ? []
      : [`${link}: no such heading`]
  })
}

/** The file that a server of files sends for a path. */
function fileFor(pathname) {
  const file = pathname.slice(1) + (pathname.endsWith('/') ? 'index.html' : '')
  const isFile = statSync(path.join(dist, file), { throwIfNoEntry: false })?.isFile()
  return isFile ? file : null
}

async function tryInBrowser() {
  const executablePath = findChromium()
  if (executablePath === null) {
    // There, everything that tests need is installed.
    if (process.env.CI) tell('Chromium', ['is missing: set CHROMIUM'])
    else console.log('skipped: what needs Chromium; to run it: apt-get install chromium')
    return
  }
  const server = createServer(({ url }, response) => {
    const file = fileFor(decodeURIComponent(new URL(url, 'http://site').pathname))
    const type = types[file?.split('.').at(-1)]
    response.writeHead(file === null ? 404 : 200, type && { 'content-type': type })
    if (file === null) response.end()
    else createReadStream(path.join(dist, file)).pipe(response)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${server.address().port}`
  try {
    await withChromium(executablePath, async (page) => {
      if (positionals.length === 0) tell('search', await searchProblems(page, origin))
      await tryPages(page, origin)
    })
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

async function tryPages(page, origin) {
  const complaints = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('request', (request) => {
    const { protocol, origin: asked } = new URL(request.url())
    if (protocol === 'http:' && asked !== origin) complaints.push(`asks ${asked}`)
  })
  // Pages of the API, and those of source files, have all one form: the first one of each kind stands for the others.
  const kinds = new Set()
  const isFirst = (kind) => !kinds.has(kind) && kinds.add(kind)
  const isSource = (file) => texts.get(file).includes('class="Layout source"')
  const tried = files.filter((file) => {
    if (positionals.length > 0) return positionals.includes(file)
    return isFirst(isApi(file) ? path.dirname(file) : isSource(file) ? 'source' : file)
  })
  for (const file of tried) {
    complaints.length = 0
    const problems = []
    await page.goto(`${origin}/${file}`, { waitUntil: 'load' })
    // As wide as a desk: this is the last screen, and the one that a page begins with.
    if (!(await showsPlace(page))) problems.push('the sidebar does not show the entry of the page')
    // Pages of one folder have the same colours.
    const isInEach = positionals.length > 0 || isFirst(`colours of ${path.dirname(file)}`)
    for (const colorScheme of isInEach ? schemes : ['light']) {
      await page.emulateMedia({ colorScheme })
      if (!(await hasColours(page, colorScheme))) problems.push(`not in ${colorScheme} colours`)
      for (const { name, ...viewport } of screens) {
        await page.setViewportSize(viewport)
        const { width, isCut } = await page.evaluate(() => ({
          width: document.documentElement.scrollWidth,
          isCut: [...document.querySelectorAll('.home-sample pre')].some(
            ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth,
          ),
        }))
        if (width > viewport.width) problems.push(`${name}: ${width} pixels wide`)
        if (name === 'phone' && (await wideTables(page)) > 0) problems.push('phone: a wide table')
        if (isCut) problems.push(`${name}: the sample is cut off`)
        await takePicture(page, file, `${name}-${colorScheme}`)
      }
    }
    // The page of what is not found is sent with any address.
    tell(`${file} in Chromium`, [...problems, ...complaints])
  }
}

/** How many tables do not fit their box. */
async function wideTables(page) {
  return page.$$eval(
    '.vp-doc table',
    (all) => all.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).length,
  )
}

/** Whether the entry of the page in the sidebar, if there is one, is in sight. A script scrolls to it. */
async function showsPlace(page) {
  const isShown = () => {
    const entry = document.querySelector('.VPSidebarItem.is-link.is-active')
    const { top, bottom } = entry?.getBoundingClientRect() ?? { top: 64, bottom: 64 }
    return top >= 64 && bottom <= innerHeight
  }
  try {
    await page.waitForFunction(isShown, null, { timeout: 10_000 })
    return true
  } catch {
    return false
  }
}

/** Whether a page has the colours of a scheme. A script of the page changes them, some time after the scheme. */
async function hasColours(page, scheme) {
  const isShown = (isDark) => {
    const [red] = getComputedStyle(document.body).backgroundColor.match(/\d+/g)
    return Number(red) < 128 === isDark
  }
  try {
    await page.waitForFunction(isShown, scheme === 'dark', { timeout: 10_000 })
    return true
  } catch {
    return false
  }
}

async function takePicture(page, file, name) {
  if (values.pictures === undefined) return
  mkdirSync(values.pictures, { recursive: true })
  const picture = `${file.replace('.html', '').replaceAll('/', '-')}-${name}.png`
  // Colours change slowly.
  await page.waitForTimeout(600)
  await page.screenshot({ path: path.join(values.pictures, picture) })
}
