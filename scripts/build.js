// Builds the package twice, for `import` and for `require`, into dist/.
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const root = new URL('../', import.meta.url)
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')

rmSync(new URL('dist/', root), { recursive: true, force: true })
for (const format of ['esm', 'cjs']) {
  const project = fileURLToPath(new URL(`tsconfig.${format}.json`, root))
  execFileSync(process.execPath, [tsc, '-p', project], { stdio: 'inherit' })
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
writeFileSync(
  new URL('index.d.ts', cjs),
  `export * from './lib/index.js'\nexport { default } from './lib/index.js'\n`,
)
