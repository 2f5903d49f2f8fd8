// What a page loads, in the built package.
import { transformSync } from 'esbuild'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { root } from '../helpers/project.js'

const bytes = (code: string): number => gzipSync(code, { level: 9 }).length

for (const [name, exported, most] of [
  ['index', 'createSession', { shipped: 4000, minified: 2560 }],
  ['passkeys', 'createPasskeys', { shipped: 1700, minified: 1100 }],
] as const) {
  t.test(`fastify-authn/browser, ${name}: one small ES module without imports`, async (t) => {
    const shipped = readFileSync(join(root, `dist/esm/lib/browser/${name}.js`), 'utf8')
    const { code } = transformSync(shipped, { minify: true, format: 'esm', target: 'es2022' })
    const sizes = { shipped: bytes(shipped), minified: bytes(code) }
    t.comment(`gzipped: ${JSON.stringify(sizes)}`)
    t.ok(sizes.shipped <= most.shipped)
    t.ok(sizes.minified <= most.minified)
    t.notMatch(shipped, /\bimport\b|\brequire\b/)
    t.match(shipped, new RegExp(`^export \\{ ${exported} \\};$`, 'm'))
  })
}

t.test('the source of the browser client has at most 382 lines', async (t) => {
  const source = readFileSync(join(root, 'lib/browser/index.ts'), 'utf8')
  t.ok(source.trimEnd().split('\n').length <= 382)
})
