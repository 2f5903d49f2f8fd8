// Compiles the demo into examples/demo/dist. Its types are checked by scripts/typecheck.js.
import { cpSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const demo = fileURLToPath(new URL('../examples/demo/', import.meta.url))
const out = path.join(demo, 'dist')

rmSync(out, { recursive: true, force: true })
await build({
  absWorkingDir: demo,
  entryPoints: [...readdirSync(demo).filter((file) => /^[\w-]+\.ts$/.test(file)), 'routes/*.ts'],
  outdir: out,
  outbase: demo,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  logLevel: 'warning',
})
for (const file of ['page', 'schema.sql']) {
  cpSync(path.join(demo, file), path.join(out, file), { recursive: true })
}
