// What a page loads, in the built package.
import { transformSync } from 'esbuild'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { root } from '../helpers/project.js'

const shipped = readFileSync(join(root, 'dist/esm/lib/browser/index.js'), 'utf8')
const bytes = (code: string): number => gzipSync(code, { level: 9 }).length

t.test('the client is one small ES module without imports', async (t) => {
  const { code } = transformSync(shipped, { minify: true, format: 'esm', target: 'es2022' })
  const sizes = { shipped: bytes(shipped), minified: bytes(code) }
  t.comment(`gzipped: ${JSON.stringify(sizes)}`)
  t.ok(sizes.shipped <= 3584)
  t.ok(sizes.minified <= 2300)
  t.notMatch(shipped, /\bimport\b|\brequire\b/)
  t.match(shipped, /^export \{ createSession \};$/m)
})

t.test('the source of the browser client has at most 360 lines', async (t) => {
  const source = readFileSync(join(root, 'lib/browser/index.ts'), 'utf8')
  t.ok(source.trimEnd().split('\n').length <= 360)
})
