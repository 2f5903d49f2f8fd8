// Builds the package into dist/: few scripts, because loading many small files is most of what a plugin adds to the boot
// of an app, and declarations file by file. All scripts are CommonJS, but for the command line. For `import` there are
// modules that only export what they get from there: so an app has one copy of everything, and does not pay for the
// loader of ESM, which takes twice as long. What browsers load are two scripts of each kind, without imports.
//
//   node scripts/build.js               all of it
//   node scripts/build.js --code-only   without declarations, which take nearly all of the time
//   node scripts/build.js --check       and type-checks what is published, under TypeScript 6
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { transform } from 'esbuild'
import { rolldown } from 'rolldown'

const root = fileURLToPath(new URL('../', import.meta.url))
const { dependencies, peerDependencies } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
const needed = Object.keys({ ...dependencies, ...peerDependencies })

/** Packages that may be built in: TypeBox, which is 244 modules to load, and what only the command line needs. */
const mayBeBuiltIn = new Set(['@sinclair/typebox', 'commander', 'write-file-atomic', 'signal-exit'])
/** @type {Set<string>} */
const builtIn = new Set()
const names = [
  'index',
  'request/context',
  'sessions/index',
  'api-keys/index',
  'users-table/index',
  'testing/index',
]
const entries = names.map((name) => `lib/${name}`)
const clients = ['lib/browser/index', 'lib/browser/passkeys']
/** It shares nothing with the others, so it is quicker to load without a script of another format. */
const apart = 'lib/providers/index'
const node = { platform: 'node', target: 'node20' }
const browsers = { platform: 'browser', target: 'es2022' }

rmSync(`${root}dist`, { recursive: true, force: true })
const exported = await bundle(entries, {
  dir: 'dist/cjs',
  format: 'cjs',
  exports: 'named',
  esModule: true,
  // What is loaded on demand is loaded by `require` too, but for optional peers (see loadOnDemand).
  dynamicImportInCjs: true,
  chunkFileNames: ({ isDynamicEntry, facadeModuleId }) =>
    isDynamicEntry ? pathOf(facadeModuleId).replace(/ts$/, 'js') : 'chunks/[name].js',
  // One script for everything that the main entry point needs; the others take from it what they share with it.
  codeSplitting: { groups: [{ name: 'index', test: /\blib[\\/]index\.ts$/ }] },
})
// The command line is a program of its own, for which one format is enough.
await bundle(
  ['lib/cli/main'],
  {
    dir: 'dist/esm',
    format: 'esm',
    codeSplitting: false,
    // What the packages in it that are CommonJS find in their scope.
    banner: `import { createRequire as from } from 'node:module'
const require = from(import.meta.url)
const __filename = import.meta.url`,
  },
  // The plugin, which \`doctor\` starts, is beside it.
  ['../index.js'],
)

for (const format of ['esm', 'cjs']) {
  const single = { dir: `dist/${format}`, format, codeSplitting: false, exports: 'named' }
  for (const client of clients) {
    await bundle([client], { ...single, esModule: true }, [], browsers)
  }
  await bundle([apart], { ...single, esModule: true })
}

// As all Fastify plugins do it: `require` gives the plugin itself, with the other exports on it.
write(
  'cjs/index.js',
  `'use strict'

const { ${exported['lib/index']} } = require('./lib/index.js')

module.exports = Object.assign(authn, { ${exported['lib/index']}, default: authn })
Object.defineProperty(module.exports, '__esModule', { value: true })
`,
)
write('cjs/package.json', '{ "type": "commonjs" }\n')
for (const entry of entries) {
  const script = entry === 'lib/index' ? 'cjs/index.js' : `cjs/${entry}.js`
  const from = path.posix.relative(path.dirname(`esm/${entry}`), script)
  const standard = entry === 'lib/index' ? 'export default all\n' : ''
  write(
    `esm/${entry}.js`,
    `import all from '${from}'\n\nexport const { ${exported[entry]} } = all\n${standard}`,
  )
}
write(
  'bin/fastify-authn.js',
  `#!/usr/bin/env node
import { main } from '../esm/lib/cli/main.js'

await main(process)
`,
)
chmodSync(`${root}dist/bin/fastify-authn.js`, 0o755)
write('THIRD-PARTY-LICENSES.txt', [...builtIn].sort().map(licenseOf).join('\n\n'))

if (!process.argv.includes('--code-only')) {
  const { writeDeclarations } = await import('./declarations.js')
  writeDeclarations([...entries, ...clients, apart])
}

/** Bundles modules of ours, with all that they import but the dependencies. @returns what each exports by name */
async function bundle(names, output, external = [], { platform, target } = node) {
  const exports = {}
  const notes = {
    name: 'notes',
    generateBundle() {
      for (const name of names) {
        const { exports: all } = this.getModuleInfo(path.join(root, `${name}.ts`))
        const named = all.filter((each) => each !== 'default')
        exports[name] = named.sort().join(', ')
      }
      for (const id of this.getModuleIds()) note(pathOf(id))
    },
  }
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(names.map((name) => [name, `${name}.ts`])),
    platform,
    makeAbsoluteExternalsRelative: false,
    transform: { target },
    external: [...external, ...needed.map((name) => new RegExp(`^${name}(?:/|$)`))],
    // Paths stay within the project, also where its node_modules is a link.
    resolve: { symlinks: false },
    preserveEntrySignatures: 'allow-extension',
    plugins: [notes],
    onLog(_, { message }) {
      throw new Error(message)
    },
  })
  // Licences stand in a file of their own.
  const comments = { legal: false, annotation: false, jsdoc: false }
  const { output: scripts } = await build.generate({
    ...output,
    comments,
    strict: true,
    sourcemap: true,
    entryFileNames: '[name].js',
  })
  for (const script of scripts)
    if (script.type === 'chunk') await writeScript(output.dir, script, target)
  return exports
}

/**
 * Writes a script and its source map. esbuild escapes all characters but ASCII: a script with others takes V8 twice the
 * memory, and longer to load.
 */
async function writeScript(folder, { code, map, fileName }, target) {
  const file = path.posix.join(path.posix.relative('dist', folder), fileName)
  const inline = Buffer.from(JSON.stringify(map)).toString('base64')
  const ascii = await transform(
    `${folder === 'dist/cjs' ? loadOnDemand(code) : code}\n//# sourceMappingURL=data:application/json;base64,${inline}\n`,
    {
      charset: 'ascii',
      target,
      legalComments: 'none',
      sourcemap: 'external',
      sourcesContent: false,
    },
  )
  write(file, `${ascii.code}//# sourceMappingURL=${path.basename(file)}.map\n`)
  write(`${file}.map`, ascii.map)
}

/**
 * How a CommonJS script loads packages on demand. Dependencies: by `require`, which is faster. Optional peers: by
 * `import()`, since one may be an ES module, which Yarn Plug'n'Play and older versions of Node.js cannot `require`; and
 * then by `require`, since Jest has no `import()` without a flag.
 */
function loadOnDemand(code) {
  return code.replace(/\bimport\("([^".][^"]*)"\)/g, (imported, name) =>
    Object.hasOwn(dependencies, name)
      ? `Promise.resolve().then(() => ({ default: require("${name}") }))`
      : `${imported}.catch(() => require("${name}"))`,
  )
}

/** A package is built in because somebody has decided so, not because it was forgotten in package.json. */
function note(file) {
  const name = /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1]
  if (name === undefined) return
  if (!mayBeBuiltIn.has(name)) throw new Error(`built in, but not meant to be: ${file}`)
  builtIn.add(name)
}

function licenseOf(name) {
  const folder = `${root}node_modules/${name}/`
  const { version, license } = JSON.parse(readFileSync(`${folder}package.json`, 'utf8'))
  const file = readdirSync(folder).find((entry) => /^licen[cs]e(?:\.|$)/i.test(entry))
  return `${name} ${version} (${license})\n\n${readFileSync(folder + file, 'utf8').trim()}\n`
}

function pathOf(file) {
  return path.relative(root, file).replaceAll('\\', '/')
}

function write(file, text) {
  mkdirSync(path.dirname(`${root}dist/${file}`), { recursive: true })
  writeFileSync(`${root}dist/${file}`, text)
}
