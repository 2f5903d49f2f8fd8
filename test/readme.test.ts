// program: its own, in npm run test:all
// Every code block and every link of README.md, CONTRIBUTING.md, SECURITY.md and docs/ is checked here. For whoever writes them:
//
//   ```ts    is compiled, strictly, as a module of its own, against what `npm run build` has made. All snippets of all pages are
//            one program: what one merges into `AuthUser` holds for all. What they may use without declaring
//            it (`app`, `users`, …) stands in test/types/readme-prelude.d.ts.
//   ```js    must parse; one that calls `require` is CommonJS, any other one ESM.
//   ```json  must parse.
//   ```sh    has no prompt; an `npm run x` must be in package.json, and `npx fastify-authn x` be a command of ours.
//            Those of docs/reference/command-line.md are run by test/cli/command-line-page.test.ts.
//   ```sql   is run by examples/recipes/migrating-hashes.test.ts; only its page has any.
//   ```text  is what the block before it prints.
//
// The line `<!-- run -->` before a ts or js block has it run as a program, with the `fastify-authn` that
// has been built: it must end by itself, with exit code 0. When a text block follows, its output must be that
// text, in which `…` stands for anything within a line.
//
// The line `<!-- from examples/recipes/x.ts -->` before ts blocks says that these blocks are parts of that file, which has
// a test of its own: whole lines, in the order of the file, without overlap. All lines of a part may be less indented here.
// They are compared with the file and not compiled. If they are not the whole file, the page links to it.
//
// A block of another language, a text block that follows nothing that is run, and any other comment
// directly before a block fail the test: no block goes unchecked.
//
// The pages of docs/start are tutorials, and have rules of their own: a test in test/tutorials follows them from an empty
// folder (test/helpers/tutorial.ts), and does what the line before each block says.
//
//   Create `app.js`:                        The block is this file; with `Replace`, too. More words may stand before the
//                                           colon.
//   Add this to `app.js`, above `return`:   The block is added above (or below) the only line that contains that.
//   … leave it running …:                   The sh block is a server, started in a terminal of its own. It goes on until
//                                           the prose says Ctrl-C, which ends all of them. What follows is typed in a terminal
//                                           that has none of its variables.
//   anything else                           The sh block is typed into one shell, as are those after it.
//
//   A text or json block below an sh block is all that these commands print, or, of a server, what is waited for. `…` stands
//   for anything within a line, or alone on a line for any lines; JSON is compared as such. Commands without such a block
//   must succeed.
//
// On all pages, one of these lines before a block says that it is left out of that, and why:
//
//   <!-- run with nginx -->                 test/proxies.test.ts runs nginx with it, or `run with Caddy`.
//   <!-- not run -->                        Nothing can run it here: a container.
//
// `npm install` links packages out of node_modules, so a page can use no others, and installs this package as it is packed.
// PORT is a free port, and replaces 3000 in all blocks, as other free ports replace those up to 3999: after 127.0.0.1:,
// localhost: and PORT=. Where other ports are, the test says: `{ ports: { 8080: … } }`. It has started what listens there,
// unless the page does.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { root } from './helpers/project.js'
import { isProxied } from './helpers/proxies.js'
import {
  blocksOf,
  compile,
  isExpectedOutput,
  linkProblems,
  pages,
  readPage,
  runSnippet,
  shellProblems,
  type Block,
} from './helpers/readme.js'

const isCode = ({ language }: Block): boolean => language === 'ts' || language === 'js'

/** The file that a block is a part of. */
const fileOf = ({ marker }: Block): string | undefined => /^from (\S+\.ts)$/.exec(marker ?? '')?.[1]

const { scripts, files } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>
  files: readonly string[]
}

/** What is wrong with the blocks of one Markdown text, or of several pages. */
async function problemsOf(t: Test, ...blocks: Block[]): Promise<string[]> {
  const code = blocks.filter((block) => isCode(block) && fileOf(block) === undefined)
  const folder = t.testdir({})
  const diagnostics = await compile(folder, code)
  const problems: string[] = []
  for (const block of blocks) {
    const found = [
      ...markerProblems(block),
      ...(isCode(block) ? (diagnostics.get(block) ?? []) : textProblems(block)),
    ]
    if (found.length === 0 && block.marker === 'run')
      found.push(...(await runProblems(folder, block)))
    problems.push(
      ...found.map((problem) => `${block.page}:${block.line} (${block.language}): ${problem}`),
    )
  }
  return [...problems, ...partProblems(blocks)]
}

/** Blocks that are not parts of the file that they are from, in its order. */
function partProblems(blocks: readonly Block[]): string[] {
  const ends = new Map<string, number>()
  return blocks.flatMap((block) => {
    const file = fileOf(block)
    if (file === undefined) return []
    const source = textOf(file).split('\n')
    const part = block.text.replaceAll(/^\n+|\s+$/g, '').split('\n')
    const found = [...source.keys()].filter((line) => isPartAt(line, source, part))
    const place = `${block.page}: ${file}`
    const at = found.find((line) => line >= (ends.get(place) ?? 0))
    if (at !== undefined) {
      ends.set(place, at + part.length)
      return []
    }
    const problem =
      found.length > 0
        ? `in ${file}, it begins above the end of the part before it`
        : `it is not a part of ${file}`
    return [`${block.page}:${block.line} (ts): ${problem}`]
  })
}

/** Whether lines are those of a file from this line on, where all of them may be indented by the same spaces. */
function isPartAt(at: number, source: readonly string[], part: readonly string[]): boolean {
  const [first = ''] = part
  const begin = String(source[at])
  if (first === '' || begin.trimStart() !== first.trimStart()) return false
  const indent = begin.slice(0, Math.max(begin.length - first.length, 0))
  return part.every((text, line) => source[at + line] === (text === '' ? '' : indent + text))
}

/** The text of a file of the project, or nothing if there is none. */
function textOf(file: string): string {
  const name = path.join(root, file)
  return existsSync(name) ? readFileSync(name, 'utf8') : ''
}

function markerProblems(block: Block): string[] {
  if (block.marker === null || (block.marker === 'run' && isCode(block))) return []
  if (block.language === 'ts' && fileOf(block) !== undefined) return []
  if ((block.marker === 'not run' && !isCode(block)) || isProxied(block)) return []
  return [`the comment "${block.marker}" means nothing here`]
}

function textProblems(block: Block): string[] {
  const { language, text, page, marker } = block
  if (marker === 'not run' || isProxied(block)) return []
  if (language === 'sql' && page === 'docs/guides/migrating-hashes.md') return []
  // test/browser/passkeys-pages.test.ts opens it.
  if (language === 'html' && page === 'docs/guides/browser-client.md') return []
  if (language === 'sh') return shellProblems(text, scripts)
  // What is typed in a session; the rest is what was printed.
  if (language === 'console') {
    const typed = [...text.matchAll(/^\$ (.*)$/gm)].map(([, line]) => line)
    return shellProblems(typed.join('\n'), scripts)
  }
  if (language === 'json') return jsonProblems(text)
  return [
    language === 'text'
      ? 'it follows no block that is run'
      : 'blocks of this language are not checked',
  ]
}

function jsonProblems(text: string): string[] {
  try {
    JSON.parse(text)
    return []
  } catch (error) {
    return [(error as Error).message]
  }
}

async function runProblems(folder: string, block: Block): Promise<string[]> {
  const { code, stdout, stderr } = await runSnippet(folder, block)
  if (code !== 0) return [`it ended with ${code}:\n${stderr}${stdout}`]
  if (block.output === null || isExpectedOutput(stdout, block.output)) return []
  return [`it printed:\n${stdout}`]
}

t.test('README.md has at most 14,000 bytes', async (t) => {
  t.ok(Buffer.byteLength(readPage('README.md')) <= 14_000)
})

t.test('every link leads to a page and a heading, in the package too', async (t) => {
  const found = pages().flatMap((page) =>
    linkProblems(page, readPage(page), files).map((problem) => `${page}: ${problem}`),
  )
  t.strictSame(found, [])
})

t.test('a page that shows parts of a file links to the whole file', async (t) => {
  const missing = pages().flatMap((page) => {
    const markdown = readPage(page)
    const blocks = blocksOf(markdown, page)
    return [...new Set(blocks.flatMap((block) => fileOf(block) ?? []))]
      .filter((file) => {
        const parts = blocks
          .filter((block) => fileOf(block) === file)
          .map(({ text }) => text.trim())
        return parts.join('\n\n') !== textOf(file).trim()
      })
      .map((file) => `](${path.posix.relative(path.posix.dirname(page), file)})`)
      .filter((link) => !markdown.includes(link))
      .map((link) => `${page}: […${link}`)
  })
  t.strictSame(missing, [])
})

t.test('links lead from the README to every page under docs/', async (t) => {
  const all = pages().filter((page) => page.startsWith('docs/'))
  const reached = new Set(['README.md'])
  // The loop also visits what is added to the set while it runs.
  for (const page of reached) {
    const [, ...parts] = readPage(page).split('](')
    for (const part of parts) {
      const target = path.posix.join(path.posix.dirname(page), part.slice(0, part.search(/[#)]/)))
      if (all.includes(target)) reached.add(target)
    }
  }
  const found = all.filter((page) => !reached.has(page))
  t.strictSame(found, [])
})

t.test('tutorials name the Node that they need, and no page overwrites an env file', async (t) => {
  const tutorials = pages().filter((page) => /^You need Node/m.test(readPage(page)))
  t.ok(tutorials.length >= 4)
  // What `--env` needs: see test/cli/commands/token.test.ts.
  for (const page of tutorials) t.match(readPage(page), /^You need Node 20\.12 or later,/m, page)
  const found = pages().filter((page) => /[^>]> ?\.env\b/.test(readPage(page)))
  t.strictSame(found, [])
})

t.test(
  'every pool of pg has a listener for errors: without one, a restart of PostgreSQL ends the process',
  async (t) => {
    const blocks = pages().flatMap((page) =>
      blocksOf(readPage(page), page).map(({ line, text }) => [`${page}:${line}`, text] as const),
    )
    const programs = [
      'examples',
      ...['mcp', 'recipes', 'src'].map((name) => `neighbours/${name}`),
    ].flatMap((folder) =>
      readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts') && !/node_modules|(?:^|\/)dist\//.test(file))
        .map((file) => [`${folder}/${file}`, textOf(`${folder}/${file}`)] as const),
    )
    const pools = [...blocks, ...programs].filter(([, text]) => /new (?:pg\.)?Pool\b/.test(text))
    t.ok(pools.length >= 8, `${pools.length} pools`)
    t.strictSame(
      pools.filter(([, text]) => !/\bpool\.on\('error'/.test(text)).map(([where]) => where),
      [],
    )
  },
)

t.test('the README has the install and its first 200 on its first 25 lines', async (t) => {
  const first = readPage('README.md').split('\n').slice(0, 25).join('\n')
  t.match(first, /^npm install fastify fastify-authn/m)
  t.match(first, / 200 /)
})

t.test('the README names all options', async (t) => {
  const reference = readPage('docs/reference/options.md')
  const options = [...reference.matchAll(/^## `(\w+)`$/gm)].map(([, name]) => name)
  const [, table = ''] = /^## Options$([^]*?)^## /m.exec(readPage('README.md')) ?? []
  const rows = table.split('\n').map((line) => line.split('|')[1] ?? '')
  const named = rows.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name))
  t.strictSame(new Set(named), new Set(options))
  t.equal(named.length, options.length)
})

t.test('docs/README.md and options.md link to pages by their titles', async (t) => {
  const labelled = ['docs/README.md', 'docs/reference/options.md'].flatMap((page) =>
    readPage(page)
      .split('\n')
      .filter((line) => /^(?:- \[|Guides?: )/.test(line))
      .flatMap((line) => [...line.matchAll(/\[((?:[^\]`]|`[^`]*`)*)\]\(([^)#]+\.md)\)/g)])
      .map(([, label, link = '']) => [label, path.posix.join(path.posix.dirname(page), link)]),
  )
  t.ok(labelled.length > 80, `${labelled.length} links`)
  const found = labelled.filter(([label, page = '']) => !readPage(page).startsWith(`# ${label}\n`))
  t.strictSame(found, [])
})

t.test('a test follows each page of docs/start', async (t) => {
  const folder = path.join(root, 'test/tutorials')
  const tests = readdirSync(folder).map((file) => readFileSync(path.join(folder, file), 'utf8'))
  const tutorials = pages().filter((page) => page.startsWith('docs/start/'))
  const found = tutorials.filter((page) => !tests.some((text) => text.includes(`'${page}'`)))
  t.strictSame(found, [])
})

/** A fenced block. */
const fence = (language: string, ...lines: string[]): string =>
  ['```' + language, ...lines, '```', ''].join('\n')

t.test('the code of all pages compiles and prints what they say', async (t) => {
  const blocks = pages()
    .filter((page) => !page.startsWith('docs/start/'))
    .flatMap((page) => blocksOf(readPage(page), page))
  t.ok(blocks.filter(isCode).length >= 20, 'there is code')
  t.ok(blocks.filter(({ marker }) => marker === 'run').length >= 5, 'some of it is run')
  const wrong = [
    fence('ts', "app.get('/', (request) => request.user.valueOf())"),
    '<!-- run -->',
    fence('js', 'process.exitCode = 3'),
    '<!-- run -->',
    fence('js', "console.log('this')"),
    fence('text', 'that'),
    fence('text', 'alone'),
    fence('json', '{ a: 1 }'),
    fence('sh', 'npm run nothing', 'npx fastify-authn tokn', '$ npm ci'),
    '<!-- rum -->',
    fence('ts', 'const a = 1'),
    fence('yaml', 'a: 1'),
    '<!-- from test/helpers/project.ts -->',
    fence('ts', 'const a = 1'),
    ...['isCompiled = ', 'tree = ', 'root = ', 'root = '].flatMap((name) => [
      '<!-- from test/helpers/project.ts -->',
      fence('ts', textOf('test/helpers/project.ts').match(`export const ${name}.*`)?.[0] ?? ''),
    ]),
    '<!-- run with nginx -->',
    fence('nginx', 'listen 443;'),
  ].join('\n')
  const problems = await problemsOf(t, ...blocks, ...blocksOf(wrong, 'wrong.md'))
  t.equal(problems.length, 15)
  t.match(problems, [
    /^wrong\.md:1 \(ts\): wrong\.md:2: .*possibly 'null'/,
    /^wrong\.md:6 \(js\): it ended with 3/,
    /^wrong\.md:11 \(js\): it printed:\nthis/,
    /^wrong\.md:19 \(text\): it follows no block that is run/,
    /^wrong\.md:23 \(json\): /,
    /^wrong\.md:27 \(sh\): package\.json has no script "nothing"/,
    /^wrong\.md:27 \(sh\): fastify-authn has no command "tokn"/,
    /^wrong\.md:27 \(sh\): it has a prompt/,
    /^wrong\.md:34 \(ts\): the comment "rum" means nothing here/,
    /^wrong\.md:38 \(yaml\): blocks of this language are not checked/,
    /^wrong\.md:\d+ \(nginx\): the comment "run with nginx" means nothing here/,
    /^wrong\.md:\d+ \(nginx\): blocks of this language are not checked/,
    /^wrong\.md:43 \(ts\): it is not a part of test\/helpers\/project\.ts/,
    /^wrong\.md:\d+ \(ts\): in test\/helpers\/project\.ts, it begins above the end of the part before it/,
    /^wrong\.md:\d+ \(ts\): in test\/helpers\/project\.ts, it begins above the end of the part before it/,
  ])
  const links =
    '[a](nothing.md) [b](../../examples/README.md) [c](#no-such) [d](../../test/readme.test.ts) [e](../../test/flows)'
  const packed = ['docs/**/*.md', 'examples/*.ts', 'test', '!test/**/*.test.ts']
  t.match(linkProblems('docs/reference/options.md', links, packed), [
    'there is no docs/reference/nothing.md',
    'examples/README.md is not in the package',
    'docs/reference/options.md has no such heading',
    'test/readme.test.ts is not in the package',
  ])
  t.throws(() => blocksOf('```ts\nconst a = 1\n'), { message: 'line 1: the block is not closed' })
})
