// Builds the package twice, for `import` and for `require`, into dist/: few scripts, because loading many small files
// is most of what a plugin adds to the boot of an app (see bundle.js), and declarations file by file. The command line
// is built once.
// What the two builds share they find by symbols of the global registry, and in the one module that is built once.
//
//   node scripts/build.js               all of it
//   node scripts/build.js --code-only   without declarations, which take nearly all of the time
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { bundle, relative } from './bundle.js'

const root = new URL('../', import.meta.url)
const manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))

/**
 * Packages that are built in: TypeBox, which would be 244 modules to load, and what the command line alone
 * needs, so that no app installs it.
 */
const builtIn = ['@sinclair/typebox', 'leven']

const forApps = {
  'lib/index': 'lib/index.ts',
  'lib/request/context': 'lib/request/context.ts',
  'lib/sessions/index': 'lib/sessions/index.ts',
  'lib/testing/index': 'lib/testing/index.ts',
}
/** Built once for both formats, and reached from inside of the package only: see there. */
const shared = { 'lib/common/kit': 'lib/common/kit.ts' }

rmSync(new URL('dist/', root), { recursive: true, force: true })
await build({
  absWorkingDir: fileURLToPath(root),
  entryPoints: shared,
  outdir: 'dist/cjs',
  format: 'cjs',
  platform: 'node',
  target: 'node20',
})
const modules = {
  outdir: 'dist/esm',
  platform: 'node',
  target: 'node20',
  external: Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }),
  plugins: [onlyOnce()],
  // The licences of what is built in stand in a file of their own.
  legalComments: 'none',
  logLevel: 'warning',
}
const { scripts, inputs } = await bundle(fileURLToPath(root), forApps, modules)
// The command line is a program of its own, for which one format is enough.
const program = await build({
  ...modules,
  absWorkingDir: fileURLToPath(root),
  entryPoints: { 'lib/cli/main': 'lib/cli/main.ts' },
  format: 'esm',
  bundle: true,
  metafile: true,
})
checkInputs([...inputs, ...Object.keys(program.metafile.inputs)])
// The same scripts for `require`: esbuild itself splits modules only.
await build({
  absWorkingDir: fileURLToPath(root),
  entryPoints: scripts,
  outdir: 'dist/cjs',
  outbase: 'dist/esm',
  format: 'cjs',
  platform: 'node',
  target: 'node20',
  logLevel: 'warning',
})
writeFileSync(new URL('dist/THIRD-PARTY-LICENSES.txt', root), licenses())

/** Modules of {@link shared} are not built in, but imported by their name in package.json. */
function onlyOnce() {
  return {
    name: 'only-once',
    setup({ onResolve }) {
      onResolve({ filter: /\/common\/kit\.js$/ }, () => ({ path: '#kit', external: true }))
    },
  }
}

/** A package is built in because somebody has decided so, not because it was forgotten in package.json. */
function checkInputs(inputs) {
  const known = new RegExp(`^(?:lib|types|locales|node_modules/(?:${builtIn.join('|')}))/`)
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
// The name holds for the root of the package only, and this folder is one of its own.
for (const script of scripts.map((each) => each.replace('dist/esm/', 'dist/cjs/'))) {
  const kit = relative(script, 'dist/cjs/lib/common/kit.js')
  const text = readFileSync(new URL(script, root), 'utf8')
  writeFileSync(new URL(script, root), text.replaceAll('require("#kit")', `require("${kit}")`))
}
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

if (!process.argv.includes('--code-only')) await import('./declarations.js')
