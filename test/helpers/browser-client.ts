import { buildSync } from 'esbuild'
import { join } from 'node:path'
import { root } from './project.js'

/** A script of the browser client as a page loads it, made of its source. */
export function clientScript(name: 'index' | 'passkeys'): string {
  const { outputFiles } = buildSync({
    entryPoints: [join(root, `lib/browser/${name}.ts`)],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2022',
  })
  return outputFiles.map(({ text }) => text).join('')
}
