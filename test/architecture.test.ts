import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { dirname, join } from 'node:path/posix'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { programOf, root } from './helpers/project.js'

/**
 * A file imports only from its own folder and from places further down in this list; from `everywhere` all may.
 * A new folder has to be given its place here.
 */
const order = [
  // Programs and test kits, which use the package like any app.
  'lib/cli/',
  'lib/testing/',
  // The doors: they put the parts together.
  'lib/index.ts',
  'lib/plugin.ts',
  'lib/rooms.ts',
  // Rooms of their own: the life of a request enters them only where the doors lead there.
  'lib/openapi/',
  'lib/cookies/',
  'lib/issuers/',
  'lib/app/',
  'lib/sessions/',
  // The life of a request. The login route answers its refusals as the guard does.
  'lib/login/',
  'lib/guard/',
  'lib/authenticators/',
  'lib/request/',
  'lib/registration.ts',
  'lib/marks/',
  'lib/tokens/',
  // What a request may lean on.
  'lib/passwords/',
  'lib/users/',
  'lib/throttle/',
  'lib/options/',
  'lib/http/',
  'lib/common/',
  'locales/',
]
const everywhere = ['types/', 'lib/errors.ts', 'lib/events.ts']
/** Where the core ends: what stands above it in the list is not part of it. */
const core = order.slice(order.indexOf('lib/login/'))

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

/** The place of a file in the order; -1 for one that has none. */
function placeOf(file: string): number {
  return order.findIndex((place) => file.startsWith(place))
}

function isEverywhere(file: string): boolean {
  return everywhere.some((place) => file.startsWith(place))
}

/** Imports that point up, or to what has no place. */
function upward(graph: Graph): string[] {
  return [...graph].flatMap(([file, imports]) =>
    imports
      .filter((other) => !isEverywhere(file) && !isEverywhere(other))
      .filter((other) => placeOf(other) < Math.max(placeOf(file), 0))
      .map((other) => `${file} imports ${other}`),
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

const sources = new Map(
  ['lib', 'types', 'locales'].flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
      // A .d.ts file describes a package, and is no part of ours.
      .filter((file) => /\.[cm]?[jt]sx?$/.test(file) && !file.endsWith('.d.ts'))
      .map((file) => join(folder, file.replaceAll('\\', '/')))
      .map((file): [string, string] => [file, readFileSync(path.join(root, file), 'utf8')]),
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
  t.strictSame([placeOf('lib/cli/x.ts'), placeOf('lib/new.ts')], [0, -1])
  const wrong = new Map([
    ['lib/http/x.ts', ['lib/guard/hook.ts', 'lib/errors.ts', 'lib/new.ts']],
    ['lib/guard/hook.ts', ['lib/login/x.ts']],
    ['lib/login/x.ts', ['lib/guard/hook.ts']],
  ])
  t.equal(upward(wrong).length, 3)
  t.ok(reachable(wrong, 'lib/guard/hook.ts').has('lib/guard/hook.ts'), 'a cycle')
  t.notOk(reachable(wrong, 'lib/http/x.ts').has('lib/http/x.ts'))
  t.ok(sources.size > 60 && libFiles.length > 20, 'the files are there')
})

t.test('every file has its place, and every place its files', async (t) => {
  const homeless = [...sources.keys()].filter((file) => placeOf(file) < 0 && !isEverywhere(file))
  t.strictSame(homeless, [])
  for (const place of [...order, ...everywhere]) {
    t.ok(
      [...sources.keys()].some((file) => file.startsWith(place)),
      place,
    )
  }
})

t.test('CONTRIBUTING names them in this order', async (t) => {
  const text = readFileSync(path.join(root, 'CONTRIBUTING.md'), 'utf8')
  const table = text.slice(text.indexOf('## Where things are'), text.indexOf('## How to add'))
  const named = [...table.matchAll(/^\| `((?:lib|locales)\/[\w./-]*)`/gm)].map(([, name]) => name)
  const listed = order.filter((place) => !['lib/plugin.ts', 'lib/rooms.ts'].includes(place))
  const doors = ['lib/index.ts', 'lib/errors.ts']
  t.strictSame(named, [...doors, ...listed.filter((place) => !doors.includes(place))])
})

t.test('imports point down', async (t) => {
  t.strictSame(upward(graph), [])
})

t.test('the core stands without what is above it', async (t) => {
  const isCore = (file: string) =>
    core.some((place) => file.startsWith(place)) || isEverywhere(file)
  for (const file of [...sources.keys()].filter(isCore)) {
    t.strictSame(
      [...reachable(graph, file)].filter((other) => !isCore(other)),
      [],
      file,
    )
  }
  const users = [...graph].filter(([, imports]) =>
    imports.some((file) => file.startsWith('lib/openapi/')),
  )
  const outside = users.map(([file]) => file).filter((file) => !file.startsWith('lib/openapi/'))
  t.strictSame(outside, ['lib/plugin.ts'], 'documents are one line of the plugin')
})

t.test('files are short, and the root of lib holds few', async (t) => {
  t.ok(libFiles.filter((file) => dirname(file) === 'lib').length <= 6)
  const isList = (file: string) => file.startsWith('lib/testing/corpus/')
  const long = [...sources]
    .filter(
      ([file, source]) =>
        source.split('\n').length > 181 && file.startsWith('lib/') && !isList(file),
    )
    .map(([file]) => file)
  t.strictSame(long, [])
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
  const entries = [
    'lib/index.ts',
    'lib/request/context.ts',
    'lib/sessions/index.ts',
    'lib/testing/index.ts',
    'lib/cli/main.ts',
  ]
  const used = new Set(entries.flatMap((entry) => [entry, ...reachable(graph, entry)]))
  const unused = [...sources.keys()].filter((file) => !used.has(file))
  t.strictSame(unused, [])
})

/** The files of lib that the comment in the first lines of a test names: those that it holds. */
function heldBy(source: string): string[] {
  const [comment] = /^(?:\/\/.*\n)*/.exec(source) ?? []
  return comment?.match(/\blib\/[\w/-]+\.ts/g) ?? []
}

t.test('every file of lib has its test', async (t) => {
  t.strictSame(heldBy(`// Also holds lib/a.ts and\n// lib/b/c-d.ts.\n\n// lib/e.ts`), [
    'lib/a.ts',
    'lib/b/c-d.ts',
  ])
  const tests = readdirSync(path.join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .map((file) => join('test', file.replaceAll('\\', '/')))
    .filter((file) => file.endsWith('.test.ts'))
  const named = tests.flatMap((file) => heldBy(readFileSync(path.join(root, file), 'utf8')))
  const mirrored = tests.map((file) => file.replace(/^test(.*)\.test\.ts$/, 'lib$1.ts'))
  const held = new Set([...named, ...mirrored])
  const without = libFiles.filter((file) => !held.has(file))
  t.strictSame(without, [], 'no test beside them, and the first lines of none name them')
  t.strictSame(
    named.filter((file) => !sources.has(file)),
    [],
    'what a test says that it holds is there',
  )
})

t.test('only fastify-authn/context switches the AsyncLocalStorage on', async (t) => {
  t.notOk(reachable(graph, 'lib/index.ts').has('lib/request/context.ts'))
  const makers = [...sources].filter(([, source]) => /new AsyncLocalStorage/.test(codeOf(source)))
  t.strictSame(Object.keys(Object.fromEntries(makers)), ['lib/request/context.ts'])
})

t.test('every file of lib can be loaded by itself', async (t) => {
  // Also so that a file that no test imports counts in the coverage, with nothing of it covered.
  for (const file of libFiles) {
    const module = (await import(pathToFileURL(programOf(file)).href)) as object
    t.ok(Object.keys(module).length > 0, file)
  }
})

t.test('bcrypt, the JWT engine and the counters each have one place', async (t) => {
  t.equal(packages.get('bcrypt')?.length, 1, String(packages.get('bcrypt')))
  t.strictSame(packages.get('@fastify/jwt'), ['lib/tokens/engine.ts'])
  t.notOk(packages.has('fast-jwt'), 'what is under @fastify/jwt is its own affair')
  t.strictSame(packages.get('rate-limiter-flexible'), [
    'lib/throttle/redis-counters.ts',
    'lib/throttle/throttle.ts',
  ])
})

t.test('packages: those of package.json, and all of them', async (t) => {
  const { dependencies, peerDependencies } = JSON.parse(
    readFileSync(path.join(root, 'package.json'), 'utf8'),
  ) as Record<'dependencies' | 'peerDependencies', Record<string, string>>
  // See scripts/build.js.
  const builtIn = ['@sinclair/typebox', 'commander', 'write-file-atomic']
  const declared = [...Object.keys(dependencies), ...Object.keys(peerDependencies), ...builtIn]
  t.strictSame([...packages.keys()].toSorted(), declared.toSorted())
})

t.test('errors of the package are told by their codes', async (t) => {
  const pattern = /instanceof (?:Authn|Authentication)\w+/
  t.match('error instanceof AuthnUsageError', pattern)
  for (const file of libFiles) t.notMatch(codeOf(sources.get(file) ?? ''), pattern, file)
})

t.test('defaults of options stand in lib/options', async (t) => {
  const pattern =
    /const \{[^}]*\w = (?:['\d[{]|true\b|false\b)[^}]*\} = (?:\w*[oO]ptions|settings|config|given)\b/
  t.match(`const { prefix = 'mine', other } = options`, pattern)
  for (const file of libFiles.filter((file) => !/^lib\/(?:cli|testing|options)\//.test(file))) {
    t.notMatch(codeOf(sources.get(file) ?? ''), pattern, file)
  }
})

t.test('variants are rows of a table: no switch', async (t) => {
  const withSwitch = [...sources].filter(([, source]) => /\bswitch\s*\(/.test(codeOf(source)))
  t.strictSame(Object.keys(Object.fromEntries(withSwitch)), [])
  t.match(codeOf('switch (x) {}'), /\bswitch\s*\(/)
})

t.test('types are contracts: no run-time code', async (t) => {
  // Type parameters may be `const` too.
  const runTime =
    /^\s*(?:export\s+)?(?:default|const(?!\s+\w+\s+extends)|let|var|function|class|enum|async)\b/m
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
