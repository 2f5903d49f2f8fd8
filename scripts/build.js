// Builds the package twice, for `import` and for `require`, into dist/.
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const root = new URL('../', import.meta.url)
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')

rmSync(new URL('dist/', root), { recursive: true, force: true })
for (const format of ['esm', 'cjs']) {
  const project = fileURLToPath(new URL(`tsconfig.${format}.json`, root))
  execFileSync(process.execPath, [tsc, '-p', project], { stdio: 'inherit' })
}

const cjs = new URL('dist/cjs/', root)
mkdirSync(cjs, { recursive: true })
writeFileSync(new URL('package.json', cjs), '{ "type": "commonjs" }\n')
// As all Fastify plugins do it: `require` gives the plugin itself, with the other exports on it.
writeFileSync(
  new URL('index.js', cjs),
  `'use strict'

const authn = require('./lib/index.js')

module.exports = Object.assign(authn.default, authn)
module.exports.default = authn.default
Object.defineProperty(module.exports, '__esModule', { value: true })
`,
)
writeFileSync(new URL('index.d.ts', cjs), declarations())

/** The types of that: a function with everything else in its namespace, which apps can augment. */
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
  return `import { authn as plugin, ${names.join(', ')} } from './lib/index.js'

declare namespace authn {
  export { ${names.join(', ')}, plugin as authn, plugin as default }
}
/** The plugin: \`app.register(authn, { userService, jwt: { secret } })\`. */
declare function authn(...parameters: Parameters<typeof plugin>): ReturnType<typeof plugin>
export = authn
`
}
