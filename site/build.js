// `npm run site`: installs the packages of site/ where they are missing, and builds the site into site/dist/.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const site = fileURLToPath(new URL('.', import.meta.url))
const root = path.join(site, '..')
const dist = path.join(site, 'dist')
const isWindows = process.platform === 'win32'

/** Whether the packages are those of the lock file: npm writes this copy of it last. */
function isInstalled() {
  const installed = path.join(site, 'node_modules/.site-lock.json')
  return existsSync(installed) && readFileSync(installed, 'utf8') === lock()
}

const lock = () => readFileSync(path.join(site, 'package-lock.json'), 'utf8')

/** Runs a program, and gives up when it fails. */
function run(folder, program, ...args) {
  const { status, error } = spawnSync(program, args, {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: isWindows,
  })
  if (error) throw error
  if (status !== 0) process.exit(status ?? 1)
}

if (!isInstalled()) {
  run(site, 'npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund')
  writeFileSync(path.join(site, 'node_modules/.site-lock.json'), lock())
}
const { diagrams } = await import('./diagrams.js')
const { writePages } = await import('./pages.js')
const { build, createMarkdownRenderer } = await import('vitepress')
const { default: config } = await import('./.vitepress/config.js')
// VitePress makes one, and uses it for all pages.
const markdown = await createMarkdownRenderer(
  path.join(site, '.pages'),
  config.markdown,
  config.base,
)
await writePages(async (text) => markdown.render(text), await diagrams())
// The API becomes pages too: a folder for each entry point of the package, a page for each of its names.
const typedoc = path.join(root, 'node_modules/typedoc/bin/typedoc')
run(root, process.execPath, typedoc, '--options', path.join(site, 'typedoc.json'))
await build(site)
const llms = path.join(site, 'llms.js')
if (existsSync(llms)) run(root, process.execPath, llms, dist)
console.log(`
The site is in ${path.relative(process.cwd(), dist) || '.'}. To look at it: npm --prefix ${path.relative(process.cwd(), site) || '.'} run preview`)
