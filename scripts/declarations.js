// The declarations of the package, beside the scripts that scripts/build.js has put into dist/. Those for
// `import` and those for `require` are the same text, but for the entry.
import { execFileSync } from 'node:child_process'
import { cpSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const [root, esm, cjs] = ['../', '../dist/esm/', '../dist/cjs/'].map(
  (folder) => new URL(folder, import.meta.url),
)
const tsc = fileURLToPath(new URL('node_modules/typescript/bin/tsc', root))
const project = fileURLToPath(new URL('tsconfig.declarations.json', root))
execFileSync(process.execPath, [tsc, '-p', project], { stdio: 'inherit' })
for (const folder of ['lib', 'types', 'locales']) {
  cpSync(new URL(folder, esm), new URL(folder, cjs), {
    recursive: true,
    filter: (file) => !file.endsWith('.js') && !/[\\/]lib[\\/]cli$/.test(file),
  })
}
writeFileSync(new URL('index.d.ts', cjs), declarations())

/**
 * The types of what `require` gives: a function with everything else in its namespace, which apps can augment. The
 * function has the signatures of `AuthnPlugin`.
 */
function declarations() {
  const file = fileURLToPath(new URL('lib/index.d.ts', cjs))
  const options = {
    module: ts.ModuleKind.CommonJS,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  }
  const program = ts.createProgram([file], { ...options, types: [] })
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
