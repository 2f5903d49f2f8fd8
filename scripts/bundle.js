// The scripts of the package: chunks/core.js has everything that the main entry point needs whenever it is loaded, since
// each further file would add to the boot of an app. The entry points, and the parts that an app loads on demand, are
// scripts of their own, which take from the core what they share with it.
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { build } from 'esbuild'

/**
 * @param root - path of the project
 * @param entries - paths of the entry points, by the names of their scripts; the first is the main one
 * @param shared - options of esbuild for all scripts
 * @returns for each entry point, the names that it exports; and the paths of the files that the scripts were made of
 */
export async function bundle(root, entries, shared) {
  const options = { ...shared, absWorkingDir: root, format: 'esm', bundle: true, metafile: true }
  const { inputs, outputs } = (await build({ ...options, entryPoints: entries, write: false }))
    .metafile
  const exported = await exportsOf(reachedBy(Object.values(entries)[0], inputs), options)
  const others = await build({
    ...options,
    entryPoints: { ...entries, ...Object.fromEntries(onDemand(inputs)) },
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    plugins: [fromCore(root, exported)],
  })
  const scripts = Object.keys(others.metafile.outputs)
  const coreFile = path.posix.join(shared.outdir, 'chunks/core.js')
  const used = new Map()
  for (const script of scripts)
    importCore(path.join(root, script), relative(script, coreFile), used)
  await build({
    ...options,
    format: 'cjs',
    // As in the sources, which are ESM.
    banner: { js: '"use strict";' },
    stdin: { contents: coreSource(exported, used), resolveDir: root },
    outdir: undefined,
    outfile: coreFile,
    plugins: [onDemandApart(root)],
  })
  // esbuild splits ESM only, so these are turned into CommonJS afterwards.
  await build({
    ...shared,
    external: undefined,
    absWorkingDir: root,
    entryPoints: scripts,
    outbase: shared.outdir,
    allowOverwrite: true,
    format: 'cjs',
    legalComments: 'inline',
  })
  const exports = Object.values(outputs).map(({ entryPoint, exports }) => [entryPoint, exports])
  return { exports: Object.fromEntries(exports), inputs: Object.keys(inputs) }
}

/** A path as one script writes it to import another. */
export function relative(from, to) {
  const found = path.posix.relative(path.posix.dirname(from), to)
  return found.startsWith('.') ? found : `./${found}`
}

/** Our own files that a file imports, at any depth, but for what is loaded on demand. Without the file itself. */
function reachedBy(file, inputs) {
  const reached = new Set([file])
  // The loop also visits what is added to the set while it runs.
  for (const each of reached) {
    for (const { path: to, kind, external } of inputs[each].imports) {
      const isOurs = !external && !to.startsWith('node_modules/')
      if (kind === 'import-statement' && isOurs) reached.add(to)
    }
  }
  reached.delete(file)
  return [...reached]
}

/** What is loaded on demand: pairs of the name of the script and the file. */
function onDemand(inputs) {
  return Object.values(inputs)
    .flatMap(({ imports }) => imports)
    .filter(({ kind, external }) => kind === 'dynamic-import' && !external)
    .map(({ path: file }) => [file.replace(/\.ts$/, ''), file])
}

/** The names that modules export, by path, with a name for the module. */
async function exportsOf(files, options) {
  const { metafile } = await build({
    ...options,
    entryPoints: Object.fromEntries(files.map((file, index) => [`m${index}`, file])),
    write: false,
  })
  return new Map(
    Object.entries(metafile.outputs).map(([output, { entryPoint, exports }]) => [
      entryPoint,
      { id: path.basename(output, '.js'), names: exports },
    ]),
  )
}

/** Exports what the other scripts use, under names that no two modules share. */
function coreSource(exported, used) {
  return [...exported]
    .filter(([, { id }]) => used.has(id))
    .map(([file, { id }]) => {
      const list = [...used.get(id)].map((name) => `${name} as ${id}_${name}`)
      return `export { ${list.join(', ')} } from ${JSON.stringify(`./${file}`)}\n`
    })
    .join('')
}

/** In the core: what is loaded on demand is not built in. */
function onDemandApart(root) {
  return {
    name: 'on-demand-apart',
    setup({ onResolve }) {
      onResolve({ filter: /^\./ }, ({ kind, path: to, resolveDir }) => {
        if (kind !== 'dynamic-import') return undefined
        const file = path.relative(root, path.join(resolveDir, to)).replaceAll('\\', '/')
        return { path: `../${file}`, external: true }
      })
    },
  }
}

/** In all other scripts: what is in the core is imported from `core:` and the name of the module. */
function fromCore(root, exported) {
  return {
    name: 'from-core',
    setup({ onResolve }) {
      onResolve({ filter: /^\./ }, ({ kind, path: to, resolveDir }) => {
        const file = path.relative(root, path.join(resolveDir, to)).replaceAll('\\', '/')
        const { id } = exported.get(file.replace(/\.js$/, '.ts')) ?? {}
        if (kind !== 'import-statement' || id === undefined) return undefined
        return { path: `core:${id}`, external: true, sideEffects: false }
      })
    },
  }
}

/**
 * Replaces the imports of {@link fromCore} by one of the core, and notes their names by module.
 * The comments that name the files that are built in are turned into a kind that esbuild keeps.
 */
function importCore(script, core, used) {
  const list = []
  const text = readFileSync(script, 'utf8')
    .replaceAll(/\bimport \{([^}]*)\} from "core:(m\d+)";\n/g, (_, names, id) => {
      for (const name of names.split(',')) {
        const [own, local = own] = name.trim().split(' as ')
        used.set(id, (used.get(id) ?? new Set()).add(own))
        list.push(`${id}_${own} as ${local}`)
      }
      return ''
    })
    .replaceAll(/^\/\/ (?=(?:lib|locales|node_modules)\/)/gm, '//! ')
  if (text.includes('"core:')) throw new Error(`${script}: an import that is not understood`)
  const head = list.length === 0 ? '' : `import { ${list.join(', ')} } from "${core}";\n`
  writeFileSync(script, head + text)
}
