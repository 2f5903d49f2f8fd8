// program: small
// What may import what: at run time, for types, and on demand.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { dirname, join } from 'node:path/posix'
import t from 'tap'
import { root } from './helpers/project.js'

/**
 * Files of `lib/` and its folders from the top down: a file imports from its own place and from those below it, and types
 * from `types/`. `features` are the folders with a file `feature.ts`, which know nothing of each other.
 */
const places =
  'cli testing providers index plugin configured feature-table features openapi app login guard authenticators request feature passwords mail users tokens stores throttle marks options http events common errors'.split(
    ' ',
  )

const isFeature = (folder: string) => existsSync(path.join(root, 'lib', folder, 'feature.ts'))

const nameOf = (file: string): string => (file.split('/')[1] ?? '').replace(/\.ts$/, '')

function placeOf(file: string): number {
  if (file.startsWith('locales/')) return places.length
  return places.indexOf(isFeature(nameOf(file)) ? 'features' : nameOf(file))
}

/** A file without its comments. */
function codeOf(file: string): string {
  return readFileSync(path.join(root, file), 'utf8').replaceAll(/^ *(\/?\*|\/\/).*$/gm, '')
}

function importsOf(file: string): { from: string; to: string }[] {
  const source = codeOf(file)
  const pattern = /\bfrom '(.+?)'|^import '(.+?)'|\bimport\('(.+?)'\)/gm
  const pathOf = (name: string): string =>
    name.startsWith('.') ? join(dirname(file), name).replace(/\.js$/, '.ts') : name
  return [...source.matchAll(pattern)].map(([, from, alone, later]) => ({
    from: file,
    to: pathOf(from ?? alone ?? String(later)),
  }))
}

const all = ['lib', 'locales', 'types'].flatMap((folder) =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => importsOf(join(folder, file.replaceAll('\\', '/')))),
)
const own = all.filter(({ to }) => /^(lib|locales|types)\//.test(to))

t.test('imports point down, and features know nothing of each other', async (t) => {
  // The browser client is apart: the test of it says from what.
  const inLib = own.filter(
    ({ from, to }) => /^lib\/(?!browser\/)/.test(from) && !to.startsWith('types/'),
  )
  t.ok(inLib.length > 600, 'they were found')
  const isFine = ({ from, to }: (typeof own)[number]): boolean => {
    const [upper, lower] = [placeOf(from), placeOf(to)]
    if (upper < 0 || lower < 0 || upper > lower) return false
    return !(isFeature(nameOf(from)) && isFeature(nameOf(to))) || nameOf(from) === nameOf(to)
  }
  const seen = inLib.filter((each) => !isFine(each))
  t.strictSame(seen, [])
})

t.test(
  'only the table of features, and the test kit and the command line, name a feature',
  async (t) => {
    const above = own.filter(
      ({ from, to }) => isFeature(nameOf(to)) && to.startsWith('lib/') && !isFeature(nameOf(from)),
    )
    const importers = new Set(
      above.map(({ from }) => from.replace(/^lib\/(cli|testing)\/.*/, '$1')),
    )
    t.strictSame([...importers].toSorted(), ['cli', 'lib/feature-table.ts', 'testing'])

    const ofFeatures = new Set(
      own
        .filter(({ from, to }) => from === 'lib/feature-table.ts' && to.startsWith('types/'))
        .map(({ to }) => to),
    )
    t.ok(ofFeatures.delete('types/events.ts') && ofFeatures.size > 4)
    const ofTypes = own.filter(({ from, to }) => ofFeatures.has(to) && !ofFeatures.has(from))
    const others = ofTypes.filter(
      ({ from }) =>
        !/^lib\/(cli|testing|providers)\/|^(lib\/feature-table|types\/providers)\.ts$/.test(from),
    )
    const found = others.filter(({ from }) => !isFeature(nameOf(from)))
    t.strictSame(found, [])
  },
)

t.test('the browser client is apart, and the rest of lib/ sees no DOM', async (t) => {
  const client = own.filter(({ from, to }) => [from, to].some((file) => /\bbrowser\b/.test(file)))
  const isApart = (file: string): boolean => /^(lib\/browser\/|types\/browser)/.test(file)
  const seen = client.filter(({ from, to }) => !isApart(from) || !isApart(to))
  t.strictSame(seen, [])
  const listed = all.filter(({ from, to }) => isApart(from) && !isApart(to))
  t.strictSame(listed, [])
  t.ok(client.length > 4, 'they were found')
  const settings = readFileSync(path.join(root, 'tsconfig.json'), 'utf8')
  const { lib } = (JSON.parse(settings) as { compilerOptions: { lib: string[] } }).compilerOptions
  t.strictSame(lib, ['es2024'], 'so lib/browser/ declares what it uses')
})

t.test('whoever publishes an event opens its channel', async (t) => {
  const readers = all
    .filter(({ from, to }) => from.startsWith('lib/') && to === 'lib/events.ts')
    .map(({ from }) => from)
    .filter((file) => /[{ ]channels\b/.test(codeOf(file)))
  t.strictSame(readers.toSorted(), ['lib/index.ts', 'lib/testing/watched.ts'], 'they only listen')
})

t.test('no test file limits the program that it is run in with others', async (t) => {
  const tests = readdirSync(path.join(root, 'test'), { recursive: true, encoding: 'utf8' })
  const limiting = tests.filter(
    (file) =>
      file.endsWith('.ts') &&
      /^t\.setTimeout\(/m.test(readFileSync(path.join(root, 'test', file), 'utf8')),
  )
  t.strictSame(limiting, [], 'a test that may take longer has the option `timeout`')
})

t.test('no file imports itself by way of others', async (t) => {
  const next = new Map<string, string[]>()
  for (const { from, to } of own) next.set(from, [...(next.get(from) ?? []), to])
  const isInCycle = (file: string): boolean => {
    const reached = new Set(next.get(file))
    for (const each of reached) for (const other of next.get(each) ?? []) reached.add(other)
    return reached.has(file)
  }
  t.strictSame([...next.keys()].filter(isInCycle), [])
})

t.test('each package is imported only where it belongs', async (t) => {
  const files = [...new Set(all.map(({ from }) => from))].filter((file) => file.startsWith('lib/'))
  const importers = (name: string): string[] => {
    const pattern = new RegExp(`^import (?!type ).*from '${name}'|import\\('${name}'\\)`, 'm')
    return files.filter((file) => pattern.test(readFileSync(path.join(root, file), 'utf8')))
  }
  t.strictSame(importers('@fastify/jwt'), ['lib/tokens/engine.ts'])
  t.strictSame(importers('bcrypt'), ['lib/passwords/kinds/bcrypt.ts'])
  t.strictSame(importers('fastify'), ['lib/cli/commands/doctor.ts'])
  t.ok(importers('commander').every((file) => file.startsWith('lib/cli/')))
})

t.test('CONTRIBUTING says what is in each folder', async (t) => {
  const text = readFileSync(path.join(root, 'CONTRIBUTING.md'), 'utf8')
  const folders = readdirSync(path.join(root, 'lib'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
  t.strictSame(
    folders.filter((name) => !text.includes(`\n| \`lib/${name}/\` `)),
    [],
  )
})

t.test('each folder of lib/ has its tests in the folder of test/ with its name', async (t) => {
  for (const name of readdirSync(path.join(root, 'lib')).filter((each) => !each.includes('.')))
    t.ok(existsSync(path.join(root, 'test', name)), name)
})
