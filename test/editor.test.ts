// program: its own, in npm run test:all
// What an editor shows while somebody writes a mark or an option: completions, and errors. By the built declarations.
import path from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { root } from './helpers/project.js'

const options: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  types: ['node'],
  paths: { 'fastify-authn': [path.join(root, 'dist/esm/lib/index.d.ts')] },
}
const file = path.join(root, 'test/edited.mts')
const head = `import Fastify from 'fastify'
import authn from 'fastify-authn'
const app = Fastify()
interface Route { Params: { id: string } }
`
let text = head

const service = ts.createLanguageService({
  getCompilationSettings: () => options,
  getScriptFileNames: () => [file],
  getScriptVersion: (name) => (name === file ? text : '1'),
  getScriptSnapshot: (name) => {
    const source = name === file ? text : ts.sys.readFile(name)
    return source === undefined ? undefined : ts.ScriptSnapshot.fromString(source)
  },
  getCurrentDirectory: () => root,
  getDefaultLibFileName: ts.getDefaultLibFilePath,
  fileExists: (name) => name === file || ts.sys.fileExists(name),
  readFile: ts.sys.readFile,
  directoryExists: ts.sys.directoryExists,
})

/** The completions where `|` stands in each line. */
function completions(lines: readonly string[]): string[][] {
  text = head + lines.join('\n').replaceAll('|', '')
  return lines.map((line, index) => {
    const before = lines.slice(0, index).map((each) => `${each.replace('|', '')}\n`)
    const at = head.length + before.join('').length + line.indexOf('|')
    const { entries = [] } = service.getCompletionsAtPosition(file, at, {}) ?? {}
    const names = entries.map(({ name }) => name.replaceAll(/^['"]|['"]$/g, ''))
    // The string as it stands is one of them.
    return names.filter((name) => name !== '').toSorted()
  })
}

/** The errors in each line, as the compiler prints them. */
function errors(lines: readonly string[]): string[][] {
  text = head + lines.join('\n')
  const found = service.getSemanticDiagnostics(file).map(({ messageText, start = 0 }) => ({
    line: text.slice(head.length, start).split('\n').length - 1,
    said: ts.flattenDiagnosticMessageText(messageText, '\n'),
  }))
  return lines.map((_, index) => found.flatMap(({ line, said }) => (line === index ? said : [])))
}

const routes = [
  (auth: string) => `app.get('/', { config: { auth: ${auth} } }, () => 'x')`,
  (auth: string) => `app.post('/', { config: { auth: ${auth} }, handler: () => 'x' })`,
  (auth: string) =>
    `app.route({ method: 'GET', url: '/', config: { auth: ${auth} }, handler: () => 'x' })`,
  (auth: string) => `app.get<Route>('/', { config: { auth: ${auth} } }, () => 'x')`,
  (auth: string) => `app.post<Route>('/', { config: { auth: ${auth} }, handler: () => 'x' })`,
  (auth: string) =>
    `app.route<Route>({ method: 'GET', url: '/', config: { auth: ${auth} }, handler: () => 'x' })`,
  (auth: string) => `app.register(authn, { auth: ${auth} })`,
]

t.test('completion offers marks, members and built-in names, and nothing else', async (t) => {
  const names = ['apiKey', 'basic', 'configBasic', 'jwt']
  const expected: Record<string, readonly string[]> = {
    '{ | }': ['fresh', 'mfa', 'mode', 'role', 'scope', 'use'],
    "{ use: 'jwt', | }": ['fresh', 'mfa', 'mode', 'role', 'scope'],
    "'|'": ['optional', 'try'],
    "{ mode: '|' }": ['optional', 'try'],
    "{ use: '|' }": names,
    "{ use: ['|'] }": names,
    "{ use: ['jwt', '|'], scope: 'a' }": names,
  }
  for (const route of routes) {
    const found = completions(Object.keys(expected).map(route))
    t.strictSame(found, Object.values(expected), route('…'))
  }
  const [all = []] = completions(['app.register(authn, { | })'])
  t.ok(all.includes('sessions') && all.includes('prefix'))
})

t.test('a wrong mark is one error, which names what was meant', async (t) => {
  const wrong: Record<string, RegExp> = {
    "{ roles: ['admin'] }": /Did you mean.*'role'/,
    "{ scopes: 'a' }": /Did you mean.*'scope'/,
    "{ mod: 'optional' }": /Did you mean.*'mode'/,
    "'optionl'": /Did you mean.*"optional"|AuthMark/,
    "'required'": /AuthMark|RouteMark/,
    '{}': /AuthMark|RouteMark/,
    "{ role: ['admin'] }": /AccessNeed/,
    "{ scope: { every: ['a'] } }": /every/,
    "{ role: 'a', scopes: 'b' }": /scopes/,
  }
  for (const route of routes) {
    const lines = Object.keys(wrong).map(route)
    for (const [index, found] of errors(lines).entries()) {
      t.equal(found.length, 1, String(lines[index]))
      const said = found.join('\n')
      t.match(said, Object.values(wrong)[index] ?? 'no row')
      t.notMatch(said, /\.\.\. \d\d more/)
      t.ok(said.length < 2500, said)
    }
  }
  const used = `app.get('/', { config: { auth: { roles: ['a'] } } }, ({ user }) => Object.keys(user))`
  t.equal(errors([used]).flat().length, 1, 'request.user is no second one')
})

t.test('the compiler names the option that a misspelt one is meant to be', async (t) => {
  const rows = [
    ['{ session: true }', 'sessions'],
    ['{ userService: { findByUsername: () => null }, apikeys: {} }', 'apiKeys'],
    ["{ jwt: { secert: '' } }", 'secret'],
    ["{ login: { pth: '' } }", 'path'],
  ]
  for (const plugin of ['authn', "import('fastify-authn')"]) {
    const found = errors(rows.map(([options]) => `app.register(${plugin}, ${options})`))
    t.match(
      found,
      rows.map(([, name]) => [`Did you mean to write '${name}'?`]),
    )
  }
})

t.test('the options of other plugins are checked as before', async (t) => {
  const found = errors([
    "declare const other: import('fastify').FastifyPluginAsync<{ path: string }>",
    "app.register(other, { path: '/' })",
    "app.register(async () => {}, { prefix: '/a', auth: 'optional' })",
    'app.register(other, { path: 5 })',
    "app.register(other, { pth: '/' })",
    'app.register(other, () => ({ path: 5 }))',
    'app.register(5, {})',
  ])
  t.match(found.slice(3), [[/'number'.*'string'/], [/'pth'/], [/'number'/], [/FastifyPlugin/]])
  const seen = found.map(({ length }) => length)
  t.strictSame(seen, [0, 0, 0, 1, 1, 1, 1])
})
