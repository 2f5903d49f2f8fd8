// The declarations of the package. Like the scripts, those for `import` only export those for `require`, so that a program
// of both has one type of users.
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const root = fileURLToPath(new URL('../', import.meta.url))
const cjs = path.join(root, 'dist/cjs')

/** Writes them beside the scripts. With --check, TypeScript 6 also says what is wrong with what is published. */
export function writeDeclarations(entries) {
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

  // Only what an entry point leads to is kept: others may import packages that no app has.
  const published = new Set(entries.map((entry) => path.join(cjs, `${entry}.d.ts`)))
  for (const file of published) {
    for (const { fileName } of ts.preProcessFile(readFileSync(file, 'utf8')).importedFiles) {
      if (!fileName.startsWith('.')) continue
      published.add(path.join(path.dirname(file), fileName.replace(/\.js$/, '.d.ts')))
    }
  }
  for (const name of readdirSync(cjs, { recursive: true })) {
    const file = path.join(cjs, name)
    if (name.endsWith('.d.ts') && !published.has(file)) rmSync(file)
  }
  for (const entry of entries) {
    const target = path.posix.relative(path.dirname(`esm/${entry}`), `cjs/${entry}.js`)
    const standard =
      entry === 'lib/index' ? `import { authn } from '${target}'\n\nexport default authn\n` : ''
    const text = `${standard}export * from '${target}'\n`
    writeFileSync(path.join(root, `dist/esm/${entry}.d.ts`), text)
  }
  writeFileSync(path.join(cjs, 'index.d.ts'), ofPlugin(program))
}

/**
 * The types of what `require` gives: a function with everything else in its namespace, which apps can augment. The
 * function has the signatures of `AuthnPlugin`.
 */
function ofPlugin(program) {
  const checker = program.getTypeChecker()
  const entry = program.getSourceFile(path.join(root, 'lib/index.ts'))
  const names = checker
    .getExportsOfModule(checker.getSymbolAtLocation(entry))
    .filter((symbol) => !symbol.getJsDocTags(checker).some(({ name }) => name === 'internal'))
    .map(({ name }) => name)
    .filter((name) => name !== 'authn' && name !== 'default')
    .sort()
    .join(', ')
  return `import type { FastifyInstance } from 'fastify'
import { authn as plugin, ${names} } from './lib/index.js'

/** The plugin itself, by the name that \`fastify-plugin\` gives it. */
declare const fastifyAuthn: AuthnPlugin['fastifyAuthn']
declare namespace authn {
  export { ${names}, plugin as authn, plugin as default, fastifyAuthn }
}
/** The plugin: \`app.register(authn, { userService, jwt: { secret } })\`. */
declare function authn(app: FastifyInstance, options: AnyOwnUserOptions): Promise<void>
declare function authn<Stored extends StoredUser & object>(app: FastifyInstance, options: AnyAuthnOptions<Stored>): Promise<void>
declare function authn(app: FastifyInstance, options: RejectedOptions): Promise<void>
export = authn
`
}
