// Compiles lib/, the tests and what they import, once, into .tests/, which `tap` and .ci/run run: a tree
// of the same paths, with .js in place of .ts, with source maps by which coverage counts lines of lib/*.ts.
import { copyFileSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('../', import.meta.url))
const folders = ['lib', 'types', 'locales', 'test', 'examples']
/** Type tests are compiled only, by scripts/check-package.js; dist/ and keys/ are made by the demo. */
const leftOut = /^(?:test\/types|examples\/demo\/(?:dist|keys))\//

const files = folders
  .flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name))),
  )
  .filter((file) => !leftOut.test(file.replaceAll('\\', '/')))
const isCode = (file) => file.endsWith('.ts') && !file.endsWith('.d.ts')
const out = path.join(root, '.tests')

rmSync(out, { recursive: true, force: true })
await build({
  absWorkingDir: root,
  entryPoints: files.filter(isCode),
  outdir: out,
  outbase: root,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
})
for (const file of files.filter((file) => !file.endsWith('.ts'))) {
  mkdirSync(path.dirname(path.join(out, file)), { recursive: true })
  copyFileSync(path.join(root, file), path.join(out, file))
}
