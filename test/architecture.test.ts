import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import t from 'tap'

/**
 * The layers: a file imports only from its own and from lower ones. The longest beginning that fits a
 * file counts. A new file beside these has to be given its place here.
 */
const layers: Readonly<Record<string, number>> = {
  // Contracts.
  'types/': 0,
  // Texts, errors, grammar, tables: pure, or nearly so.
  'locales/': 1,
  'lib/carried.ts': 1,
  'lib/client.ts': 1,
  'lib/context.ts': 1,
  'lib/errors.ts': 1,
  'lib/extra.ts': 1,
  'lib/hashing/bcrypt.ts': 1,
  'lib/hashing/shape.ts': 1,
  'lib/http/': 1,
  'lib/jwt/algorithms.ts': 1,
  'lib/objects.ts': 1,
  'lib/plugin-names.ts': 1,
  'lib/suspect.ts': 1,
  'lib/symbols.ts': 1,
  'lib/user-view.ts': 1,
  'lib/verdict.ts': 1,
  // One job each, without Fastify's life cycle.
  'lib/config.ts': 2,
  'lib/diagnostics.ts': 2,
  'lib/hashing/': 2,
  'lib/i18n.ts': 2,
  'lib/jwt/': 2,
  'lib/marks.ts': 2,
  'lib/options.ts': 2,
  'lib/options/': 2,
  'lib/rehash.ts': 2,
  'lib/throttle.ts': 2,
  'lib/throttle/': 2,
  'lib/users.ts': 2,
  // What is made of several of them.
  'lib/credentials.ts': 3,
  'lib/jwt/service.ts': 3,
  // What a scope of the app has.
  'lib/registration.ts': 4,
  // What works in a registration.
  'lib/authenticators/': 5,
  'lib/decorators.ts': 5,
  'lib/password-tools.ts': 5,
  'lib/refuse.ts': 5,
  'lib/unauthorized.ts': 5,
  // The ways of a request.
  'lib/guard.ts': 6,
  'lib/login/': 6,
  // What routes say, for the audit and for people.
  'lib/routes/': 7,
  'lib/routes/table.ts': 1,
  // What API documents show of the marks.
  'lib/openapi/': 6,
  // Wiring.
  'lib/tree.ts': 7,
  'lib/plugin.ts': 8,
  'lib/index.ts': 9,
  // A program of its own, over all of it: no other file imports it.
  'lib/cli/': 10,
  // Entry points of their own, for tests: above all, so that nothing of the core imports them.
  'lib/testing/': 10,
}

type Graph = ReadonlyMap<string, readonly string[]>

/** The code of a source, without its comments. */
function codeOf(source: string): string {
  return source.replace(/\/\*[^]*?\*\//g, '').replace(/(?<=^|\s)\/\/.*$/gm, '')
}

/** Everything that a source imports or exports on, types too. */
function importsOf(source: string): string[] {
  const pattern =
    /\bfrom\s*(['"])(.+?)\1|\bimport\s*\(?\s*(['"])(.+?)\3|\brequire\(\s*(['"])(.+?)\5/g
  return [...codeOf(source).matchAll(pattern)].map(([, , a, , b, , c]) => a ?? b ?? c ?? '')
}

function layerOf(file: string): number | undefined {
  const [longest] = Object.keys(layers)
    .filter((start) => file.startsWith(start))
    .toSorted((a, b) => b.length - a.length)
  return longest === undefined ? undefined : layers[longest]
}

/** Imports that point up. */
function upward(graph: Graph): string[] {
  return [...graph].flatMap(([file, imports]) =>
    imports
      .filter((other) => Number(layerOf(other) ?? Infinity) > Number(layerOf(file) ?? -1))
      .map((other) => `${file} (${layerOf(file)}) imports ${other} (${layerOf(other)})`),
  )
}

/** Everything that can be reached from a file, itself only if a cycle leads back. */
function reachable(graph: Graph, from: string): Set<string> {
  const found = new Set<string>()
  const waiting = [...(graph.get(from) ?? [])]
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (found.has(file)) continue
    found.add(file)
    waiting.push(...(graph.get(file) ?? []))
  }
  return found
}

const root = new URL('../', import.meta.url)
const sources = new Map(
  ['lib', 'types', 'locales'].flatMap((folder) =>
    readdirSync(new URL(`${folder}/`, root), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.[cm]?[jt]sx?$/.test(file))
      .map((file) => join(folder, file.replaceAll('\\', '/')))
      .map((file): [string, string] => [file, readFileSync(new URL(file, root), 'utf8')]),
  ),
)
const libFiles = [...sources.keys()].filter((file) => file.startsWith('lib/'))
const graph: Graph = new Map(
  [...sources].map(([file, source]) => [
    file,
    importsOf(source)
      .filter((specifier) => specifier.startsWith('.'))
      .map((specifier) => join(dirname(file), specifier).replace(/\.js$/, '.ts')),
  ]),
)
/** What is imported from packages: name of the package, and the files that do it. */
const packages = new Map<string, string[]>()
for (const [file, source] of sources) {
  for (const specifier of importsOf(source).filter((each) => !/^(?:\.|node:)/.test(each))) {
    const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
    packages.set(name, [...new Set([...(packages.get(name) ?? []), file])])
  }
}

t.test('this test finds what it looks for', async (t) => {
  const source = `
    import a from './a.js' // from './no.js'
    import type { B } from "./b.js"
    import {
      c,
    } from './c.js'
    import './d.js'
    export * from './e.js'
    export { f } from './f.js'
    const g = await import('./g.js')
    const h = require('./h.js')
    /* import './no.js' */
    const url = 'http://no.js'
  `
  const expected = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((name) => `./${name}.js`)
  t.strictSame(importsOf(source), expected)
  t.strictSame([layerOf('lib/jwt/service.ts'), layerOf('lib/jwt/new.ts')], [3, 2], 'the longest')
  t.equal(layerOf('lib/new.ts'), undefined)
  const wrong = new Map([
    ['lib/http/x.ts', ['lib/guard.ts', 'lib/errors.ts', 'lib/new.ts']],
    ['lib/guard.ts', ['lib/login/x.ts']],
    ['lib/login/x.ts', ['lib/guard.ts']],
  ])
  t.equal(upward(wrong).length, 2)
  t.ok(reachable(wrong, 'lib/guard.ts').has('lib/guard.ts'), 'a cycle')
  t.notOk(reachable(wrong, 'lib/http/x.ts').has('lib/http/x.ts'))
  t.ok(sources.size > 60 && libFiles.length > 20, 'the files are there')
})

t.test('every file has its layer', async (t) => {
  for (const file of sources.keys()) t.type(layerOf(file), 'number', `${file}: give it a layer`)
  for (const start of Object.keys(layers)) {
    t.ok(
      [...sources.keys()].some((file) => file.startsWith(start)),
      `${start}: is there`,
    )
  }
})

t.test('imports point down', async (t) => {
  t.strictSame(upward(graph), [])
})

t.test('no file imports itself by way of others', async (t) => {
  const inCycles = [...graph.keys()].filter((file) => reachable(graph, file).has(file))
  t.strictSame(inCycles, [])
})

t.test('what is imported is there, under the name that it has when it is built', async (t) => {
  for (const [file, imports] of graph) {
    for (const other of imports) t.ok(sources.has(other), `${file} imports ${other}`)
  }
})

t.test('every file is part of the package', async (t) => {
  const entries = ['lib/index.ts', 'lib/testing/index.ts', 'lib/cli/main.ts']
  const used = new Set(entries.flatMap((entry) => [entry, ...reachable(graph, entry)]))
  const unused = [...sources.keys()].filter((file) => !used.has(file))
  t.strictSame(unused, [])
})

t.test('every file of lib can be loaded by itself', async (t) => {
  // Also so that a file that no test imports counts in the coverage, with nothing of it covered.
  for (const file of libFiles) {
    const module = (await import(new URL(file.replace(/\.ts$/, '.js'), root).href)) as object
    t.ok(Object.keys(module).length > 0, file)
  }
})

t.test('bcrypt and the JWT engine each have one place', async (t) => {
  t.equal(packages.get('bcrypt')?.length, 1, String(packages.get('bcrypt')))
  const engine = packages.get('fast-jwt') ?? []
  t.ok(engine.length > 0)
  t.strictSame(
    engine.filter((file) => !file.startsWith('lib/jwt/')),
    [],
  )
})

t.test('packages: those of package.json, and all of them', async (t) => {
  const { dependencies, peerDependencies } = JSON.parse(
    readFileSync(new URL('package.json', root), 'utf8'),
  ) as Record<'dependencies' | 'peerDependencies', Record<string, string>>
  // See scripts/build.js.
  const builtIn = ['@sinclair/typebox', 'rate-limiter-flexible']
  const declared = [...Object.keys(dependencies), ...Object.keys(peerDependencies), ...builtIn]
  t.strictSame([...packages.keys()].toSorted(), declared.toSorted())
})

t.test('variants are rows of a table: no switch', async (t) => {
  const withSwitch = [...sources].filter(([, source]) => /\bswitch\s*\(/.test(codeOf(source)))
  t.strictSame(Object.keys(Object.fromEntries(withSwitch)), [])
  t.match(codeOf('switch (x) {}'), /\bswitch\s*\(/)
})

t.test('types are contracts: no run-time code', async (t) => {
  const runTime = /^\s*(?:export\s+)?(?:default|const|let|var|function|class|enum|async)\b/m
  t.match('export const a = 1', runTime)
  for (const [file, source] of sources) {
    if (!file.startsWith('types/')) continue
    const code = codeOf(source)
    t.notMatch(code, runTime, file)
    const valueImports = code.match(/^\s*(?:import|export)\s+(?!type\b|interface\b|declare\b).*$/gm)
    const allowed = file === 'types/index.ts' ? ["import './fastify.js'"] : []
    t.strictSame(valueImports?.map((line) => line.trim()) ?? [], allowed, file)
  }
})
