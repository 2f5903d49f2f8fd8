// Looks at the built package from outside: packs it, unpacks it into a node_modules of its own, and lets
// consumers of every kind use it. Needs no network.
//
//   npm run check:package                     builds it first
//   node scripts/check-package.js             all checks
//   node scripts/check-package.js run types   some of them: contents, lint, run, types
import { deepEqual } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { commandChecks } from './check-commands.js'
import { root, severalAtATime } from './processes.js'

const { name, version, bin, dependencies, peerDependencies } = JSON.parse(
  readFileSync(path.join(root, 'package.json'), 'utf8'),
)
const needed = Object.keys({ ...dependencies, ...peerDependencies })
const installed = (file) => path.join(root, 'node_modules', file)
const run = promisify(execFile)
const node = (...args) => run(process.execPath, args, { cwd: root })
const temporary = mkdtempSync(path.join(tmpdir(), 'fastify-authn-package-'))
const folder = path.join(temporary, 'package')

/** What programs import besides the package and what it declares to need itself. */
const typesNeed =
  '@fastify/swagger @fastify/type-provider-typebox @sinclair/typebox @types/node fastify-type-provider-zod typebox undici-types zod'
/**
 * Programs that are compiled against the packed declarations: files and folders of test/types, and options. Two of them
 * check all declaration files too, ours and those of others. Each is for the oldest compiler that can do it and the
 * newest one (by default, 5.4 and 7); those between have one of ESM and one of CommonJS.
 */
const esm = { type: 'module', module: 'nodenext', verbatimModuleSyntax: true }
const cjs = { type: 'commonjs', module: 'nodenext' }
const app = ['exactly.ts', 'app', 'typebox']
const withoutTypebox = ['exactly.ts', 'app', 'commonjs']
const programs = {
  'ESM with CommonJS in it, NodeNext, all declarations': {
    ...esm,
    skipLibCheck: false,
    exactOptionalPropertyTypes: true,
    // CommonJS modules declare their exports there.
    verbatimModuleSyntax: false,
    // The declarations of typebox take longer than everything else.
    files: withoutTypebox,
    // The declarations of Zod's type provider need 5.5, and typebox for CommonJS needs 5.8.
    only: [5.9, 6, 7],
  },
  'ESM, bundler': { ...esm, module: 'esnext', moduleResolution: 'bundler', files: app },
  'a page with a bundler, the DOM alone, all declarations': {
    type: 'module',
    module: 'esnext',
    moduleResolution: 'bundler',
    lib: ['es2022', 'dom', 'dom.iterable'],
    types: [],
    skipLibCheck: false,
    exactOptionalPropertyTypes: true,
    files: ['browser.ts'],
  },
  'CommonJS, NodeNext': { ...cjs, files: [...app, 'commonjs'], only: [5.9, 7] },
  'CommonJS, NodeNext, without typebox': { ...cjs, files: withoutTypebox, only: [5.4] },
  'CommonJS, node10': {
    ...cjs,
    module: 'commonjs',
    moduleResolution: 'node10',
    ignoreDeprecations: '6.0',
    files: [...app, 'commonjs'],
    // TypeScript 7 has it no longer.
    only: [6],
  },
  'CommonJS, users without a declared type, all declarations': {
    ...cjs,
    skipLibCheck: false,
    files: ['exactly.ts', 'unmerged'],
  },
  'a table of users, all declarations': {
    ...esm,
    skipLibCheck: false,
    exactOptionalPropertyTypes: true,
    files: ['exactly.ts', 'users'],
    only: [5.4, 5.9, 6, 7],
  },
  'a table of users, CommonJS': { ...cjs, files: ['exactly.ts', 'users'] },
  'beside @fastify/swagger': {
    ...esm,
    files: ['exactly.ts', 'swagger.ts', 'app/user.ts', 'app/generics.ts'],
    only: [5.4, 5.9, 6, 7],
  },
  'beside @fastify/jwt, imported first': {
    ...esm,
    files: ['fastify-jwt/ours-first.ts', 'exactly.ts'],
  },
  'beside @fastify/jwt, imported second': {
    ...esm,
    files: ['fastify-jwt/theirs-first.ts', 'exactly.ts'],
  },
}

const wanted = process.argv.slice(2)
const count = { passed: 0, failed: 0, skipped: 0 }
try {
  const packed = await report('npm pack', pack)
  if (packed !== undefined) {
    // The longest come first. Two at a time: one for each core of a small machine.
    const makers = { types, lint, run: consumers, contents }
    const names = Object.keys(makers).filter((each) => wanted.length === 0 || wanted.includes(each))
    const checks = names.flatMap((each) => Object.entries(makers[each](packed)))
    await severalAtATime(2, checks, ([title, check]) => report(title, check))
  }
} finally {
  rmSync(temporary, { recursive: true, force: true })
}
const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : ''
console.log(`${count.passed} passed, ${count.failed} failed${skipped}`)
process.exitCode = count.failed > 0 ? 1 : 0

/** Runs one check and prints how it ended; what a command wrote is shown only when it failed. */
async function report(title, check) {
  const start = performance.now()
  try {
    const result = await check()
    if (String(result).startsWith('skipped: ')) {
      count.skipped++
      console.log(`skipped ${title} (${result.slice(9)})`)
      return result
    }
    count.passed++
    console.log(`ok      ${title} (${((performance.now() - start) / 1000).toFixed(1)} s)`)
    return result
  } catch (error) {
    count.failed++
    const output = `${error.stdout ?? ''}${error.stderr ?? ''}`.trim() || error.stack
    console.log(`not ok  ${title}\n${output.split('\n').slice(0, 40).join('\n')}`)
    return undefined
  }
}

async function pack() {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', temporary]
  const [{ filename, files }] = [JSON.parse((await run('npm', args, { cwd: root })).stdout)].flat()
  const tarball = path.join(temporary, filename)
  await run('tar', ['-xzf', tarball, '-C', temporary])
  return { tarball, files: files.map(({ path: file }) => file) }
}

/** The tarball holds what was built and what the docs link to; nothing in it needs more than package.json declares. */
function contents({ files }) {
  const read = (file) => readFileSync(path.join(folder, file), 'utf8')
  // The program asks for its version by the name of the package.
  const forScripts = new Set([...needed, name])
  const forDeclarations = new Set(['fastify'])
  return {
    'only what was built, the docs and their programs are packed': () => {
      const allowed =
        /^(?:(?:(?:examples\/)?README|CHANGELOG|CONTRIBUTING|SECURITY)\.md|docs\/[\w/-]+\.md|docs\/images\/[\w-]+\.(?:png|svg)|(?:examples|neighbours)\/(?!demo\/|support\/)[\w/-]+(?:\.spec)?\.ts|examples\/fastify-cli\/[\w/-]+\.(?:js|json)|LICENSE|package\.json|dist\/THIRD-PARTY-LICENSES\.txt|dist\/cjs\/package\.json|dist\/(?:bin|cjs|esm)\/[\w./-]+\.(?:js|js\.map|d\.ts))$/
      none(files.filter((file) => !allowed.test(file) || /\.test\.|\/test\//.test(file)))
      // Each script names the map beside it, and nothing else names one.
      const isMap = (file) => file.endsWith('.js.map')
      const named = files.flatMap((file) => {
        const [, map] =
          /^\/\/[#@] sourceMappingURL=(.*)$/m.exec(isMap(file) ? '' : read(file)) ?? []
        return map === undefined ? [] : [path.posix.join(path.posix.dirname(file), map)]
      })
      deepEqual(named.sort(), files.filter(isMap).sort())
      none(files.filter((file) => read(file).includes(root)))
    },
    'scripts load what package.json declares, declarations need Fastify and Node alone': () => {
      const found = []
      for (const file of files.filter((file) => /^dist\/.*\.(?:js|d\.ts)$/.test(file))) {
        const declared = file.endsWith('.js') ? forScripts : forDeclarations
        for (const specifier of specifiersOf(read(file))) {
          const [, packageName] = /^((?:@[^/]+\/)?[^/]+)/.exec(specifier) ?? []
          if (!/^(?:\.{1,2}\/|node:)/.test(specifier) && !declared.has(packageName)) {
            found.push(`${file}: ${specifier}`)
          }
        }
      }
      none(found)
    },
    'programs of the docs import the package by its name, and files that are packed': () => {
      const programs = files.filter((file) => /^(?:examples|neighbours)\/.*\.ts$/.test(file))
      const found = programs.flatMap((file) =>
        [...specifiersOf(read(file))]
          .filter((specifier) => specifier.startsWith('.'))
          .map((specifier) => path.posix.join(path.posix.dirname(file), specifier))
          // What Prisma generates, and what only starts the examples in a checkout.
          .filter((target) => !/^(?:neighbours\/src\/generated|examples\/support)\//.test(target))
          .filter((target) => !files.includes(target.replace(/\.js$/, '.ts')))
          .map((target) => `${file}: ${target}`),
      )
      none(found)
    },
    'the main entry point does not hold the test kit': () => {
      // What is built in stands under a comment with its path.
      none(read('dist/cjs/lib/index.js').match(/^\/\/ lib\/(?:testing|cli)\/.*/gm) ?? [])
    },
  }
}

/** What a script or a declaration file imports, but for its comments. */
function specifiersOf(text) {
  const code = text.replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*/gm, '')
  const pattern = /(?<!\.)\b(?:from|import|require)\s*\(?\s*(['"])([^'"()\s]+)\1/g
  return new Set([...code.matchAll(pattern)].map(([, , specifier]) => specifier))
}

function none(found) {
  if (found.length > 0) throw new Error(found.join('\n'))
}

function lint({ tarball }) {
  const quietly = ['--no-definitely-typed', '--no-emoji', '--no-color']
  return {
    'publint --strict': () => node(installed('publint/src/cli.js'), 'run', tarball, '--strict'),
    attw: () => node(installed('@arethetypeswrong/cli/dist/index.js'), tarball, ...quietly),
  }
}

/** A node_modules with the unpacked package, and links to what it needs in the one of the checkout. */
function homeOf(title, more) {
  const modules = path.join(temporary, title, 'node_modules')
  cpSync(folder, path.join(modules, name), { recursive: true })
  for (const dependency of [...needed, ...more]) {
    const link = path.join(modules, dependency)
    mkdirSync(path.dirname(link), { recursive: true })
    symlinkSync(installed(dependency), link, 'junction')
  }
  return path.join(temporary, title)
}

/** Programs of test/package, and the command line in a shell and command by command. */
function consumers() {
  const cwd = homeOf('run', ['@fastify/swagger', 'ioredis', 'pg'])
  cpSync(path.join(root, 'test/package'), cwd, { recursive: true })
  const files = readdirSync(path.join(root, 'test/package'))
  const options = { cwd, timeout: 60_000 }
  const checkOf = (file) => [
    `${file} runs on Node ${process.versions.node}`,
    () => run(process.execPath, ['--no-warnings', file], options),
  ]
  const [[program, file]] = Object.entries(bin)
  const typeLines = async () => {
    // As npm links it.
    symlinkSync(path.join(cwd, 'node_modules', name, file), path.join(cwd, program))
    const env = { PATH: `${cwd}:${process.env.PATH}`, NODE_ENV: 'production' }
    const line =
      `umask 077 && ${program} --version && ` +
      `${program} secret > .env && ${program} keys ES256 --out keys >> .env && ` +
      `${program} token --sub alice --alg ES256 --env .env | ${program} inspect --alg ES256 --env .env && ` +
      `echo 'open sesame' | ${program} hash --cost 4; ${program} inspect x --env .env; echo "ended with $?"`
    const { stdout } = await run('sh', ['-c', line], { ...options, env })
    const parts = [`${version}\n`, 'Valid: ', '$2b$04$', 'ended with 1\n']
    none(parts.filter((part) => !stdout.includes(part)))
  }
  const installedProgram = path.join(cwd, 'node_modules', name, file)
  const shell = { 'the command line in a shell': typeLines }
  return {
    ...Object.fromEntries(files.map(checkOf)),
    ...shell,
    ...commandChecks(cwd, installedProgram),
  }
}

/** One run of each compiler over all programs: it reads the declarations that they share once. */
function types() {
  const cwd = homeOf('types', typesNeed.split(' '))
  for (const [title, { type, files, only: _, ...options }] of Object.entries(programs)) {
    const home = path.join(cwd, title)
    const write = (file, value) => writeFileSync(path.join(home, file), JSON.stringify(value))
    for (const file of files) {
      cpSync(path.join(root, 'test/types', file), path.join(home, file), { recursive: true })
    }
    write('package.json', { private: true, type })
    write('tsconfig.json', {
      compilerOptions: {
        target: 'es2022',
        lib: ['es2022'],
        strict: true,
        noUncheckedIndexedAccess: true,
        noPropertyAccessFromIndexSignature: true,
        skipLibCheck: true,
        esModuleInterop: true,
        noEmit: true,
        types: ['node'],
        ...options,
      },
      // In this order: which declarations are loaded first makes a difference.
      files: files.filter((file) => file.endsWith('.ts')),
      include: files.filter((file) => !file.endsWith('.ts')),
    })
  }
  const checkOf = (major, compiler) => {
    const isFor = (title) => (programs[title].only ?? [5.4, 7]).includes(major)
    const titles = Object.keys(programs).filter(isFor)
    const words = [installed(`${compiler}/bin/tsc`), '--build', ...titles, '--pretty', 'false']
    const title = `types: ${titles.length} programs, TypeScript ${major}`
    return [title, () => run(process.execPath, words, { cwd })]
  }
  const compilers = { 5.4: 'typescript54', 5.9: 'typescript59', 6: 'typescript', 7: 'typescript7' }
  return Object.fromEntries(
    Object.entries(compilers).map(([major, compiler]) => checkOf(Number(major), compiler)),
  )
}
