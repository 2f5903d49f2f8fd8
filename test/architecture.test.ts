// What may import what at run time. Imports of types are left out: the package does not have them any more.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { dirname, join } from 'node:path/posix'
import t from 'tap'
import { root } from './helpers/project.js'

/** A file imports from its own place and from places further down. The first that fits is its place. */
const order = [
  /^lib\/(cli|testing)\//,
  /^lib\/(index|plugin)\.ts/,
  /^lib\/app\/record\.ts/,
  /^lib\/openapi\//,
  /^lib\/app\//,
  /^lib\/(sessions|cookies|issuers|jwks|valid-after|api-keys)\//,
  /^lib\/login\//,
  /^lib\/guard\//,
  /^lib\/(authenticators\/configured|marks\/plan)\.ts/,
  /^lib\/(authenticators|marks)\//,
  /^lib\/request\//,
  /^lib\/(registration|feature)\.ts/,
  /^lib\/(passwords|users|tokens)\//,
  /^lib\/(throttle|options)\//,
  /^lib\/(http|stores)\//,
  /^(lib\/(common\/|errors|events)|locales\/)/,
]
const features = order[5] as RegExp
const placeOf = (file: string): number => order.findIndex((place) => place.test(file))

function importsOf(file: string): { from: string; to: string; isLazy: boolean }[] {
  const source = readFileSync(path.join(root, file), 'utf8').replaceAll(/^ *(\/?\*|\/\/).*$/gm, '')
  const pattern = /^(?:import|export)\s(?!type\s)(?:[^'"]*?\sfrom\s)?'(.+?)'|\bimport\('(.+?)'\)/gm
  const pathOf = (name: string): string =>
    name.startsWith('.') ? join(dirname(file), name).replace(/\.js$/, '.ts') : name
  return [...source.matchAll(pattern)]
    .filter(([text]) => !/^\w+ \{(?:\s*type \w+,?)+\s*\}/.test(text))
    .map(([, now, later = '']) => ({ from: file, to: pathOf(now ?? later), isLazy: !now }))
}

const all = ['lib', 'locales'].flatMap((folder) =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => importsOf(join(folder, file.replaceAll('\\', '/')))),
)
const own = all.filter(({ to }) => /^(lib|locales)\//.test(to))

t.test('files import only from folders below, and the core imports no feature', async (t) => {
  t.ok(own.length > 300, 'they were found')
  const isFine = ({ from, to, isLazy }: (typeof own)[number]): boolean =>
    Math.min(placeOf(from), placeOf(to)) >= 0 &&
    (features.test(to)
      ? placeOf(from) === 0 ||
        from.split('/')[1] === to.split('/')[1] ||
        (isLazy && from === 'lib/feature.ts')
      : isLazy || placeOf(from) <= placeOf(to))
  t.strictSame(
    own.filter((each) => !isFine(each)),
    [],
  )
})

t.test('imports have no cycles', async (t) => {
  const next = (file: string): string[] =>
    own.flatMap(({ from, to, isLazy }) => (from === file && !isLazy ? [to] : []))
  const isInCycle = (file: string): boolean => {
    const reached = new Set(next(file))
    for (const each of reached) for (const other of next(each)) reached.add(other)
    return reached.has(file)
  }
  t.strictSame([...new Set(own.map(({ from }) => from))].filter(isInCycle), [])
})

t.test('each package is imported only where it belongs', async (t) => {
  const importers = (name: string): string[] =>
    all.flatMap((each) => (each.to === name ? each.from : []))
  t.strictSame(importers('@fastify/jwt'), ['lib/tokens/engine.ts'])
  t.strictSame(importers('bcrypt'), ['lib/passwords/bcrypt.ts'])
  t.strictSame(importers('fastify'), ['lib/cli/commands/doctor.ts'])
  t.ok(importers('commander').every((file) => file.startsWith('lib/cli/')))
})
