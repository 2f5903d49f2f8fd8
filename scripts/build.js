// Builds the package into dist/: few scripts (see bundle.js), because loading many small files is most of what a plugin
// adds to the boot of an app, and declarations file by file.
// All scripts are CommonJS, but for the command line. For `import` there are modules that only export what they get
// from there: so an app has one copy of everything, and does not pay for the loader of ESM, which takes twice as long.
//
//   node scripts/build.js               all of it
//   node scripts/build.js --code-only   without declarations, which take nearly all of the time
//   node scripts/build.js --check       and type-checks what is published, under TypeScript 6
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
const builtIn = ['@sinclair/typebox', 'commander', 'write-file-atomic', 'signal-exit']

const forApps = {
  'lib/index': 'lib/index.ts',
  'lib/request/context': 'lib/request/context.ts',
  'lib/sessions/index': 'lib/sessions/index.ts',
  'lib/testing/index': 'lib/testing/index.ts',
}

rmSync(new URL('dist/', root), { recursive: true, force: true })
const options = {
  platform: 'node',
  target: 'node20',
  external: Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }),
  // The licences of what is built in stand in a file of their own.
  legalComments: 'none',
  logLevel: 'warning',
}
const { exports, inputs } = await bundle(fileURLToPath(root), forApps, {
  ...options,
  outdir: 'dist/cjs',
  // What is loaded on demand is loaded by `require` too.
  supported: { 'dynamic-import': false },
})
// The command line is a program of its own, for which one format is enough.
const program = await build({
  ...options,
  absWorkingDir: fileURLToPath(root),
  entryPoints: { 'lib/cli/main': 'lib/cli/main.ts' },
  outdir: 'dist/esm',
  format: 'esm',
  bundle: true,
  // The plugin, which `doctor` starts, is beside it.
  external: [...options.external, '../index.js'],
  // What the packages in it that are CommonJS find in their scope.
  banner: {
    js: [
      `import { createRequire as from } from 'node:module'`,
      'const require = from(import.meta.url)',
      'const __filename = import.meta.url',
    ].join('\n'),
  },
  metafile: true,
})
checkInputs([...inputs, ...Object.keys(program.metafile.inputs)])
for (const [script, file] of Object.entries(forApps)) {
  const to = `dist/esm/${script}.js`
  const names = exports[file].filter((name) => name !== 'default')
  const lines = [
    `import all from '${relative(to, `dist/cjs/${script}.js`)}'`,
    '',
    `export const { ${names.join(', ')} } = all`,
    ...(exports[file].includes('default') ? ['export default all.default'] : []),
  ]
  mkdirSync(new URL('.', new URL(to, root)), { recursive: true })
  writeFileSync(new URL(to, root), `${lines.join('\n')}\n`)
}
writeFileSync(new URL('dist/THIRD-PARTY-LICENSES.txt', root), licenses())

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
