// Builds the package twice, for `import` and for `require`, into dist/: as few scripts as can be, because
// loading many small files is most of what a plugin adds to the boot of an app, and declarations file by
// file. The command line is built once.
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import ts from 'typescript'

const root = new URL('../', import.meta.url)
const { resolve } = createRequire(import.meta.url)
const tsc = resolve('typescript/bin/tsc')
const manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))

/**
 * Packages of which a part is built in. Loaded as they are, TypeBox would be 244 modules, and
 * rate-limiter-flexible the clients of a dozen stores, of which two are used.
 */
const builtIn = ['@sinclair/typebox', 'rate-limiter-flexible']

const forApps = { 'lib/index': 'lib/index.ts', 'lib/testing/index': 'lib/testing/index.ts' }
/** The command line is a program of its own, for which one format is enough. */
const entries = {
  esm: { ...forApps, 'lib/cli/main': 'lib/cli/main.ts' },
  cjs: forApps,
}

rmSync(new URL('dist/', root), { recursive: true, force: true })
for (const format of ['esm', 'cjs']) {
  const project = fileURLToPath(new URL(`tsconfig.${format}.json`, root))
  execFileSync(process.execPath, [tsc, '-p', project, '--emitDeclarationOnly'], {
    stdio: 'inherit',
  })
  const { metafile } = await build({
    absWorkingDir: fileURLToPath(root),
    entryPoints: entries[format],
    outdir: `dist/${format}`,
    format,
    bundle: true,
    splitting: format === 'esm',
    chunkNames: 'chunks/[name]-[hash]',
    platform: 'node',
    target: 'node20',
    external: Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }),
    plugins: [onlyWhatIsUsed()],
    // The licences of what is built in stand in a file of their own.
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  })
  checkInputs(Object.keys(metafile.inputs))
}
writeFileSync(new URL('dist/THIRD-PARTY-LICENSES.txt', root), licenses())

/** rate-limiter-flexible without the stores that are not used. */
function onlyWhatIsUsed() {
  const used = ['RateLimiterMemory', 'RateLimiterRedis']
  const files = used.map((name) => resolve(`rate-limiter-flexible/lib/${name}.js`))
  const contents = used.map((name, at) => {
    return `export { default as ${name} } from ${JSON.stringify(files[at])}`
  })
  return {
    name: 'only-what-is-used',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^rate-limiter-flexible$/ }, ({ path }) => ({ path, namespace: 'used' }))
      onLoad({ filter: /./, namespace: 'used' }, () => ({
        contents: contents.join('\n'),
        resolveDir: fileURLToPath(root),
      }))
    },
  }
}

/** A package is built in because somebody has decided so, not because it was forgotten in package.json. */
function checkInputs(inputs) {
  const known = new RegExp(`^(?:lib|types|locales|node_modules/(?:${builtIn.join('|')}))/|^used:`)
  const unknown = inputs.filter((input) => !known.test(input))
  if (unknown.length > 0) throw new Error(`built in, but not meant to be: ${unknown.join(', ')}`)
}

function licenses() {
  const texts = builtIn.map((name) => {
    const folder = new URL(`node_modules/${name}/`, root)
    const { version, license } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'))
    const file = readdirSync(folder).find((entry) => /^licen[cs]e(?:\.|$)/i.test(entry))
    return `${name} ${version} (${license})\n\n${readFileSync(new URL(file, folder), 'utf8').trim()}\n`
  })
  return texts.join('\n\n')
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

const bin = new URL('dist/bin/', root)
mkdirSync(bin, { recursive: true })
writeFileSync(
  new URL('fastify-authn.js', bin),
  `#!/usr/bin/env node
import { main } from '../esm/lib/cli/main.js'

await main(process)
`,
)
chmodSync(new URL('fastify-authn.js', bin), 0o755)

/**
 * The types of that: a function with everything else in its namespace, which apps can augment. The
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
