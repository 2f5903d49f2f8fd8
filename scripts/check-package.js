// Looks at the package from outside: packs it, unpacks it into a node_modules of its own, and lets
// consumers of every kind use it. Needs no network.
//
//   node scripts/check-package.js             all checks
//   node scripts/check-package.js run types   some of them: contents, lint, run, bin, types, pages
//
// PACKAGE_BUILT=1 in the environment takes dist/ as it is, instead of building it first.
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../', import.meta.url))
const manifest = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'))
const run = promisify(execFile)
const installed = (name) => path.join(root, 'node_modules', name)
const compilers = { 6: installed('typescript/bin/tsc'), 7: installed('typescript7/bin/tsc') }

/** What the consumers import besides the package and what it declares to need itself. */
const consumersNeed = [
  '@fastify/type-provider-typebox',
  '@sinclair/typebox',
  '@types/node',
  'fastify-type-provider-zod',
  'typebox',
  'undici-types',
  'zod',
]

/**
 * Programs that are compiled against the packed declarations, with the folders of test/types that are in
 * each. Two of them check all declaration files too, ours and those of others.
 */
const esm = { type: 'module', module: 'nodenext', verbatimModuleSyntax: true }
const cjs = { type: 'commonjs', module: 'commonjs' }
const app = ['exactly.ts', 'app', 'typebox']
const programs = {
  'ESM with CommonJS in it, NodeNext, all declarations': {
    ...esm,
    skipLibCheck: false,
    exactOptionalPropertyTypes: true,
    // CommonJS modules declare their exports there.
    verbatimModuleSyntax: false,
    // Not typebox, whose own declarations take longer than everything else.
    files: ['exactly.ts', 'app', 'commonjs'],
  },
  'ESM, bundler': { ...esm, module: 'esnext', moduleResolution: 'bundler', files: app },
  'CommonJS, NodeNext': { ...cjs, module: 'nodenext', files: [...app, 'commonjs'] },
  'CommonJS, bundler': { ...cjs, moduleResolution: 'bundler', files: [...app, 'commonjs'] },
  'CommonJS, node10': {
    ...cjs,
    moduleResolution: 'node10',
    ignoreDeprecations: '6.0',
    files: [...app, 'commonjs'],
    // TypeScript 7 has it no longer.
    only: '6',
  },
  'CommonJS, users without a declared type, all declarations': {
    ...cjs,
    module: 'nodenext',
    skipLibCheck: false,
    files: ['exactly.ts', 'unmerged'],
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

/** Each makes checks: their names, and what they do. The longest come first. */
const checks = { types, pages, lint, run: runConsumers, bin: runBin, contents }
const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !Object.hasOwn(checks, name))
if (unknown.length > 0) {
  console.error(`Unknown: ${unknown.join(', ')}. Known checks: ${Object.keys(checks).join(', ')}`)
  process.exit(2)
}

const temporary = await mkdtemp(path.join(tmpdir(), 'fastify-authn-package-'))
const count = { passed: 0, failed: 0 }
try {
  if (process.env.PACKAGE_BUILT !== '1') {
    await report('build', () => run(process.execPath, [path.join(root, 'scripts/build.js')]))
  }
  const packed = count.failed === 0 && (await pack())
  if (packed) {
    const names = Object.keys(checks).filter((name) => wanted.length === 0 || wanted.includes(name))
    const lists = await Promise.all(names.map((name) => checks[name](packed)))
    await reportAll(lists.flatMap((list) => Object.entries(list)))
  }
} finally {
  await rm(temporary, { recursive: true, force: true })
}
console.log(`${count.passed} checks passed, ${count.failed} failed`)
process.exitCode = count.failed > 0 ? 1 : 0

/** Runs one check and prints how it ended; what a command wrote is shown only when it failed. */
async function report(name, check) {
  const start = performance.now()
  try {
    const result = await check()
    count.passed++
    console.log(`ok      ${name} (${((performance.now() - start) / 1000).toFixed(1)} s)`)
    return result
  } catch (error) {
    count.failed++
    const output = `${error.stdout ?? ''}${error.stderr ?? ''}`.trim()
    console.log(`not ok  ${name}\n${indent(output || error.stack || String(error))}`)
    return undefined
  }
}

function indent(text) {
  const lines = text.replaceAll(temporary, '…').split('\n')
  const cut = lines.length > 40 ? [`… ${lines.length - 40} lines more`] : []
  return [...lines.slice(0, 40), ...cut].map((line) => `        ${line}`).join('\n')
}

/** Two at a time: one for each core of a small machine. */
async function reportAll(queue) {
  const worker = async () => {
    for (let task = queue.shift(); task !== undefined; task = queue.shift()) await report(...task)
  }
  await Promise.all([worker(), worker()])
}

async function pack() {
  return report('npm pack', async () => {
    const { stdout } = await run(
      'npm',
      ['pack', '--json', '--ignore-scripts', '--pack-destination', temporary],
      { cwd: root },
    )
    const [{ filename, files }] = [JSON.parse(stdout)].flat()
    const tarball = path.join(temporary, filename)
    await run('tar', ['-xzf', tarball, '-C', temporary])
    return { tarball, files: files.map(({ path: file }) => file), folder: `${temporary}/package` }
  })
}

/** The tarball holds what was built, and nothing else; its declarations need no package but Fastify. */
async function contents({ files, folder }) {
  const read = (file) => readFile(path.join(folder, file), 'utf8')
  const declarations = files.filter((file) => file.endsWith('.d.ts'))
  const scripts = files.filter((file) => file.endsWith('.js'))

  return {
    'only built files are packed': () => {
      const allowed =
        /^(?:(?:README|CHANGELOG|CONTRIBUTING|SECURITY)\.md|docs\/[\w-]+\.md|docs\/images\/[\w-]+\.(?:png|svg)|LICENSE|package\.json|dist\/THIRD-PARTY-LICENSES\.txt|dist\/cjs\/package\.json|dist\/bin\/fastify-authn\.js|dist\/(?:cjs|esm)\/[\w./-]+\.(?:js|d\.ts))$/
      none(files.filter((file) => !allowed.test(file) || /\.test\.|\/test\//.test(file)))
    },
    'everything is packed': async () => {
      const declared = [
        'lib/index',
        'lib/request/context',
        'lib/sessions/index',
        'lib/testing/index',
      ]
      const expected = [
        'README.md',
        'CHANGELOG.md',
        'LICENSE',
        'package.json',
        'dist/THIRD-PARTY-LICENSES.txt',
        'dist/cjs/package.json',
        'dist/cjs/index.js',
        'dist/cjs/index.d.ts',
        'dist/bin/fastify-authn.js',
        'dist/esm/lib/cli/main.js',
        ...['esm', 'cjs'].flatMap((format) => [
          `dist/${format}/lib/index.js`,
          `dist/${format}/lib/request/context.js`,
          `dist/${format}/lib/sessions/index.js`,
          `dist/${format}/lib/testing/index.js`,
          ...declared.map((file) => `dist/${format}/${file}.d.ts`),
        ]),
      ]
      none(expected.filter((file) => !files.includes(file)))
    },
    'every language is built in': async () => {
      const languages = await readdir(path.join(root, 'locales'))
      const texts = await Promise.all(scripts.map(read))
      const isBuiltIn = (file) => texts.some((text) => text.includes(`// locales/${file}`))
      none(languages.filter((file) => !isBuiltIn(file)))
    },
    'the licence is MIT': () => {
      none(manifest.license === 'MIT' ? [] : ['package.json does not say so'])
    },
    'no file refers to a source map or to this machine': async () => {
      const found = []
      for (const file of files) {
        const text = await read(file)
        if (/[#@] sourceMappingURL=/.test(text)) found.push(`${file}: source map`)
        if (text.includes(root) || text.includes(temporary)) found.push(`${file}: path`)
      }
      none(found)
    },
    'declarations need no package but Fastify and Node, and all are needed': async () => {
      const reached = new Set(
        [
          'index.d.ts',
          'lib/request/context.d.ts',
          'lib/sessions/index.d.ts',
          'lib/testing/index.d.ts',
        ].flatMap((file) => [
          `dist/esm/${file.replace(/^index/, 'lib/index')}`,
          `dist/cjs/${file}`,
        ]),
      )
      const found = []
      for (const file of reached) {
        for (const specifier of specifiersOf(await read(file))) {
          if (/^\.{1,2}\//.test(specifier)) {
            reached.add(path.posix.join(path.dirname(file), specifier.replace(/\.js$/, '.d.ts')))
          } else if (!/^(?:node:|fastify$|fastify\/)/.test(specifier)) {
            found.push(`${file}: ${specifier}`)
          }
        }
      }
      found.push(...declarations.filter((file) => !reached.has(file)))
      none(reached.size > 20 ? found : [`only ${reached.size} declaration files were reached`])
    },
    'no declaration names @fastify/jwt, fast-jwt or negotiator': async () => {
      const named = []
      for (const file of declarations) {
        if (/@fastify\/jwt|fast-jwt|negotiator/.test(code(await read(file)))) named.push(file)
      }
      none(named)
    },
    'nothing of the main entry point loads the test kit': async () => {
      const reached = new Set(['dist/esm/lib/index.js', 'dist/cjs/index.js'])
      for (const file of reached) {
        for (const specifier of specifiersOf(await read(file))) {
          if (specifier.startsWith('.')) reached.add(path.posix.join(path.dirname(file), specifier))
        }
      }
      const kit = []
      for (const file of reached) {
        // What is built in stands under a comment with its path.
        if (file.includes('/testing/') || /^\/\/!? lib\/testing\//m.test(await read(file)))
          kit.push(file)
      }
      none(kit)
    },
    'scripts are strict, as their sources are': async () => {
      const commonjs = scripts.filter((file) => file.startsWith('dist/cjs/'))
      const texts = await Promise.all(commonjs.map(read))
      none(commonjs.filter((_, index) => !/^['"]use strict['"]/.test(texts[index])))
    },
    'scripts load nothing but what package.json declares': async () => {
      const others = { ...manifest.dependencies, ...manifest.peerDependencies }
      // The program asks for its version by the name of the package.
      const declared = new Set([...Object.keys(others), manifest.name])
      const found = []
      for (const file of scripts) {
        for (const name of specifiersOf(await read(file))) {
          const packageName = /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0]
          const known = /^(?:\.{1,2}\/|node:)/.test(name) || declared.has(packageName)
          if (!known) found.push(`${file}: ${name}`)
        }
      }
      none(found)
    },
  }
}

/** A file without its comments. */
function code(text) {
  return text.replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*/gm, '')
}

/** What a script or a declaration file imports. */
function specifiersOf(text) {
  const pattern = /(?<!\.)\b(?:from|import|require)\s*\(?\s*(['"])([^'"]+)\1/g
  return new Set([...code(text).matchAll(pattern)].map(([, , specifier]) => specifier))
}

function none(found) {
  if (found.length > 0) throw Object.assign(new Error(), { stdout: found.join('\n') })
}

function lint({ tarball }) {
  return {
    'publint --strict': () =>
      run(process.execPath, [installed('publint/src/cli.js'), 'run', tarball, '--strict']),

    attw: () =>
      run(process.execPath, [
        installed('@arethetypeswrong/cli/dist/index.js'),
        tarball,
        '--no-definitely-typed',
        '--no-emoji',
        '--no-color',
      ]),
  }
}

/** A node_modules with the unpacked package, and links to what it needs in the one of the checkout. */
async function consumer(name, { folder }, more = []) {
  const home = path.join(temporary, name)
  const modules = path.join(home, 'node_modules')
  await mkdir(modules, { recursive: true })
  await cp(folder, path.join(modules, manifest.name), { recursive: true })
  const needed = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })
  for (const dependency of [...needed, ...more]) {
    const link = path.join(modules, dependency)
    await mkdir(path.dirname(link), { recursive: true })
    await symlink(installed(dependency), link, 'junction')
  }
  return home
}

/** Programs of test/package: they exit with 0, or the check fails. */
async function runConsumers(packed) {
  const home = await consumer('run', packed, ['@fastify/swagger'])
  await cp(path.join(root, 'test/package'), home, { recursive: true })
  const files = await readdir(path.join(root, 'test/package'))
  const checkOf = (file) => [
    `${file} runs on Node ${process.versions.node}`,
    () => run(process.execPath, ['--no-warnings', file], { cwd: home, timeout: 60_000 }),
  ]
  return Object.fromEntries(files.map(checkOf))
}

/** The program, by the name under which npm puts it into a project. */
async function runBin(packed) {
  const home = await consumer('bin', packed)
  const [[name, file]] = Object.entries(manifest.bin)
  const link = path.join(home, name)
  await symlink(path.join(home, 'node_modules', manifest.name, file), link)
  const shell = (line, options) =>
    run('sh', ['-c', line], { cwd: home, timeout: 60_000, ...options })
  const env = { PATH: `${home}:${process.env.PATH}`, NODE_ENV: 'production' }
  const program = (line, more = {}) => shell(line, { env: { ...env, ...more } })

  return {
    'the program may be executed, in the tarball too': async () => {
      const { stdout } = await run('tar', ['-tvzf', packed.tarball, `package/${file}`])
      const text = await readFile(path.join(packed.folder, file), 'utf8')
      const found = []
      if (!stdout.startsWith('-rwxr-xr-x')) found.push(stdout)
      if (!text.startsWith('#!/usr/bin/env node\n')) found.push(text)
      none(found)
    },
    'the program says its version': async () => {
      const { stdout } = await program(`${name} --version`)
      none(stdout === `${manifest.version}\n` ? [] : [stdout])
    },
    'the program makes, signs, judges and hashes': async () => {
      const { stdout } = await program(
        `umask 077 && ${name} secret > .env && ${name} keys ES256 --out keys >> .env && ` +
          `${name} doctor --env .env && ` +
          `${name} token --sub alice --env .env | ${name} inspect --env .env && ` +
          `${name} token --sub alice --alg ES256 --env .env | ${name} inspect --alg ES256 --env .env && ` +
          `echo 'open sesame' | ${name} hash --cost 4`,
      )
      const expected = /Nothing is wrong[^]*Valid: [^]*HS256[^]*Valid: [^]*ES256[^]*\$2b\$04\$/
      none(expected.test(stdout) ? [] : [stdout])
    },
    'the program ends with 1 for a no, and 2 for wrong usage': async () => {
      const { stdout } = await program(
        `${name} doctor >&2; echo $?; ${name} inspect x >&2; echo $?; ${name} x; echo $?`,
        { AUTH_JWT_SECRET: 'short' },
      )
      none(stdout === '1\n1\n2\n' ? [] : [stdout])
    },
  }
}

/** One run of each compiler over all programs: it reads the declarations that they share once. */
async function types(packed) {
  const home = await consumer('types', packed, consumersNeed)
  for (const [name, program] of Object.entries(programs)) {
    const { type, files, only: _, ...options } = program
    const folder = path.join(home, name)
    await mkdir(folder, { recursive: true })
    for (const file of files) {
      await cp(path.join(root, 'test/types', file), path.join(folder, file), { recursive: true })
    }
    await writeJson(path.join(folder, 'package.json'), { private: true, type })
    await writeJson(path.join(folder, 'tsconfig.json'), {
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
      [files[0].startsWith('fastify-jwt') ? 'files' : 'include']: files.map((file) =>
        file.endsWith('.ts') ? file : `${file}/**/*`,
      ),
    })
  }
  const checkOf = ([version, compiler]) => {
    const names = Object.keys(programs).filter(
      (name) => (programs[name].only ?? version) === version,
    )
    const { version: exact } = createRequire(compiler)('../package.json')
    const words = [compiler, '--build', ...names, '--pretty', 'false']
    return [
      `types: ${names.length} programs, TypeScript ${exact}`,
      () => run(process.execPath, words, { cwd: home }),
    ]
  }
  return Object.fromEntries(Object.entries(compilers).map(checkOf))
}

/** The API pages: every public name is documented, every link leads somewhere, or typedoc fails. */
function pages() {
  const out = path.join(temporary, 'api')
  const makePages = async () => {
    await run(process.execPath, [installed('typedoc/bin/typedoc'), '--out', out], { cwd: root })
    none((await readdir(out)).includes('index.html') ? [] : ['it has written no pages'])
  }
  return { typedoc: makePages }
}

async function writeJson(file, value) {
  await writeFile(file, JSON.stringify(value, null, 2))
}
