// The declarations of the package, beside the scripts that scripts/build.js has put into dist/. Like the scripts, those
// for `import` only export those for `require`, so that a program of both has one type of users. Only what an entry point
// leads to is kept: others may import packages that no app has. With --check, TypeScript 6 also says what is wrong with
// the types of what is published.
import { cpSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const [root, esm, cjs] = ['../', '../dist/esm/', '../dist/cjs/'].map((folder) =>
  fileURLToPath(new URL(folder, import.meta.url)),
)
const { config } = ts.readConfigFile(`${root}tsconfig.declarations.json`, ts.sys.readFile)
const { fileNames, options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
const noCheck = !process.argv.includes('--check')
const program = ts.createProgram(fileNames, { ...options, noCheck })
const problems = noCheck ? [] : ts.getPreEmitDiagnostics(program)
if (problems.length > 0) {
  console.log(ts.formatDiagnosticsWithColorAndContext(problems, ts.createCompilerHost(options)))
  process.exit(1)
}
program.emit()

const published = new Set()
const entries = ['lib/index', 'lib/request/context', 'lib/sessions/index', 'lib/testing/index']
for (const entry of entries) publish(path.join(esm, `${entry}.d.ts`))
for (const name of readdirSync(esm, { recursive: true })) {
  const file = path.join(esm, name)
  if (!name.endsWith('.d.ts')) continue
  if (published.has(file)) cpSync(file, path.join(cjs, name))
  rmSync(file)
}
for (const entry of entries) {
  const target = path.posix.relative(path.posix.dirname(`esm/${entry}`), `cjs/${entry}.js`)
  const standard = `import { authn } from '${target}'\n\nexport default authn\n`
  const named = `export * from '${target}'\n`
  writeFileSync(path.join(esm, `${entry}.d.ts`), entry === 'lib/index' ? standard + named : named)
}
writeFileSync(path.join(cjs, 'index.d.ts'), declarations())

/** Notes a file of declarations, and those of ours that it imports. */
function publish(file) {
  if (published.has(file)) return
  published.add(file)
  for (const { fileName } of ts.preProcessFile(readFileSync(file, 'utf8')).importedFiles) {
    if (fileName.startsWith('.')) {
      publish(path.join(path.dirname(file), fileName.replace(/\.js$/, '.d.ts')))
    }
  }
}

/**
 * The types of what `require` gives: a function with everything else in its namespace, which apps can augment. The
 * function has the signatures of `AuthnPlugin`.
 */
function declarations() {
  const checker = program.getTypeChecker()
  const entry = program.getSourceFile(path.join(root, 'lib/index.ts'))
  const names = checker
    .getExportsOfModule(checker.getSymbolAtLocation(entry))
    .map(({ name }) => name)
    .filter((name) => name !== 'authn' && name !== 'default')
    .sort()
  return `import type { FastifyInstance } from 'fastify'
import { authn as plugin, ${names.join(', ')} } from './lib/index.js'

/** The plugin itself, by the name that \`fastify-plugin\` gives it. */
declare const fastifyAuthn: AuthnPlugin['fastifyAuthn']
declare namespace authn {
  export { ${names.join(', ')}, plugin as authn, plugin as default, fastifyAuthn }
}
/** The plugin: \`app.register(authn, { userService, jwt: { secret } })\`. */
declare function authn<Stored extends StoredUser & object>(app: FastifyInstance, options: AuthnOptions<Stored>): Promise<void>
declare function authn(app: FastifyInstance, options: RefusedOptions): Promise<void>
export = authn
`
}
