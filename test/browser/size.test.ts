// program: docs
// What a page loads, in the built package.
import { transformSync } from 'esbuild'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { root } from '../helpers/project.js'

const bytes = (code: string): number => gzipSync(code, { level: 9 }).length

for (const [name, exported, most] of [
  ['index', 'createSession', { shipped: 4000, minified: 2540 }],
  ['passkeys', 'createPasskeys', { shipped: 1700, minified: 1150 }],
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

t.test('each file of the browser client can be read at once', async (t) => {
  const folder = join(root, 'lib/browser')
  for (const name of readdirSync(folder)) {
    const { length } = readFileSync(join(folder, name), 'utf8').trimEnd().split('\n')
    t.ok(length <= 200, `${name}: ${length} lines`)
  }
})
