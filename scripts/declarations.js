// The declarations of the package, beside the scripts that scripts/build.js has put into dist/. Those for
// `import` and those for `require` are the same text, but for the entry. Only what an entry point leads to is kept:
// others may import packages that no app has.
import { execFileSync } from 'node:child_process'
import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const [root, esm, cjs] = ['../', '../dist/esm/', '../dist/cjs/'].map(
  (folder) => new URL(folder, import.meta.url),
)
const tsc = fileURLToPath(new URL('node_modules/typescript/bin/tsc', root))
const project = fileURLToPath(new URL('tsconfig.declarations.json', root))
execFileSync(process.execPath, [tsc, '-p', project], { stdio: 'inherit' })
const entries = ['lib/index', 'lib/request/context', 'lib/sessions/index', 'lib/testing/index']
const program = ts.createProgram(
  entries.map((entry) => fileURLToPath(new URL(`${entry}.d.ts`, esm))),
  { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, types: [] },
)
for (const name of readdirSync(esm, { recursive: true })) {
  const file = fileURLToPath(new URL(name.replaceAll('\\', '/'), esm))
  if (!name.endsWith('.d.ts')) continue
  if (program.getSourceFile(file) === undefined) rmSync(file)
  else cpSync(file, path.join(fileURLToPath(cjs), name))
}
writeFileSync(new URL('index.d.ts', cjs), declarations())

/**
 * The types of what `require` gives: a function with everything else in its namespace, which apps can augment. The
 * function has the signatures of `AuthnPlugin`.
 */
function declarations() {
  const file = fileURLToPath(new URL('lib/index.d.ts', esm))
  const checker = program.getTypeChecker()
  const module = checker.getSymbolAtLocation(program.getSourceFile(file))
  const names = checker
    .getExportsOfModule(module)
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
