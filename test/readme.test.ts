// Every code block of README.md is checked here. For whoever writes the README:
//
//   ```ts    is compiled, strictly, as a module of its own, against the sources. All snippets are one
//            program: what one merges into `AuthUser` holds for all. What they may use without declaring
//            it (`app`, `users`, …) stands in test/types/readme-prelude.d.ts.
//   ```js    must parse; one that calls `require` is CommonJS, any other one ESM.
//   ```json  must parse.
//   ```sh    may use the commands listed in test/helpers/readme.ts (npm, node, curl, openssl, …), without
//            a prompt; an `npm run x` must be in package.json, and `npx fastify-authn x` be a command of ours.
//            Those of the section "Command line" are run by test/cli/readme.test.ts.
//   ```text  is what the block before it prints.
//
// The line `<!-- run -->` before a ts or js block has it run as a program, with `fastify-authn` made of the
// sources: it must end by itself, with exit code 0. When a text block follows, its output must be that
// text, in which `…` stands for anything within a line.
//
// A block of another language, a text block that follows nothing that is run, and any other comment
// directly before a block fail the test: nothing in the README goes unchecked.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import {
  blocksOf,
  diagnose,
  isExpectedOutput,
  packageOverSources,
  root,
  runSnippet,
  shellProblems,
  writeSnippets,
  type Block,
} from './helpers/readme.js'

const isCode = ({ language }: Block): boolean => language === 'ts' || language === 'js'

const { scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>
}

/** What is wrong with the blocks of a Markdown text. */
async function problemsOf(t: Test, markdown: string): Promise<string[]> {
  const blocks = blocksOf(markdown)
  const code = blocks.filter(isCode)
  const folder = t.testdir({ node_modules: { 'fastify-authn': packageOverSources() } })
  writeSnippets(folder, code)
  const diagnostics = diagnose(folder, code)
  const problems: string[] = []
  for (const block of blocks) {
    const found = [
      ...markerProblems(block),
      ...(isCode(block) ? (diagnostics.get(block) ?? []) : textProblems(block)),
    ]
    if (found.length === 0 && block.marker === 'run')
      found.push(...(await runProblems(folder, block)))
    problems.push(...found.map((problem) => `line ${block.line} (${block.language}): ${problem}`))
  }
  return problems
}

function markerProblems(block: Block): string[] {
  if (block.marker === null || (block.marker === 'run' && isCode(block))) return []
  return [`the comment "${block.marker}" means nothing here`]
}

function textProblems({ language, text }: Block): string[] {
  if (language === 'sh') return shellProblems(text, scripts)
  if (language === 'json') return jsonProblems(text)
  return [
    language === 'text'
      ? 'it follows no block that is run'
      : 'nobody checks blocks of this language',
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
  if (code !== 0) return [`it ended with ${code}:\n${stderr}`]
  if (block.output === null || isExpectedOutput(stdout, block.output)) return []
  return [`it printed:\n${stdout}`]
}

t.test('README.md', async (t) => {
  const markdown = readFileSync(path.join(root, 'README.md'), 'utf8')
  t.ok(blocksOf(markdown).filter(isCode).length >= 10, 'it has code')
  t.ok(
    blocksOf(markdown).some(({ marker }) => marker === 'run'),
    'some of it is run',
  )
  t.strictSame(await problemsOf(t, markdown), [])
})

/** A fenced block. */
const fence = (language: string, ...lines: string[]): string =>
  ['```' + language, ...lines, '```', ''].join('\n')

t.test('what is right passes', async (t) => {
  const markdown = [
    'Text with `code`.',
    fence('ts', "app.get('/', { config: { auth: true } }, (request) => request.user.id)"),
    fence(
      'ts',
      "import authn from 'fastify-authn'",
      "declare module 'fastify-authn' { interface AuthUser { id: number } }",
      'await app.register(authn, { userService: users, jwt: { secret } })',
    ),
    '<!-- run -->',
    fence(
      'ts',
      "import Fastify from 'fastify'",
      "import authn, { JwtService } from 'fastify-authn'",
      'const app = Fastify()',
      "await app.register(authn, { jwtService: new JwtService({ secret: 'x'.repeat(32) }) })",
      "const token: string = app.jwtService.generateToken('alice')",
      'console.log(token)',
      "console.log('done?')",
    ),
    fence('text', 'eyJ…', 'done?'),
    '<!-- run -->',
    fence('js', "const authn = require('fastify-authn')", 'console.log(typeof authn)'),
    fence('text', 'function'),
    fence('js', "import authn from 'fastify-authn'"),
    fence('json', '{ "a": [1] }'),
    fence(
      'sh',
      'npm ci && npm run build # builds',
      "TOKEN=$(curl -s -d '{\"a|b\":1}' http://127.0.0.1:3000/login | node -p 'x')",
      'curl -H "Authorization: Bearer $TOKEN" \\',
      '  http://127.0.0.1:3000/me',
      '# a comment',
      'export AUTH_JWT_SECRET=$(openssl rand -hex 32)',
      'PORT=4000 npx fastify-authn doctor > out.txt',
    ),
    '1. In a list:',
    '   ```json',
    '   true',
    '   ```',
  ].join('\n')
  t.strictSame(await problemsOf(t, markdown), [])
  t.strictSame(
    blocksOf(markdown).map(({ language }) => language),
    ['ts', 'ts', 'ts', 'js', 'js', 'json', 'sh', 'json'],
  )
  t.equal(blocksOf(markdown).at(-1)?.text, 'true')
})

t.test('what is wrong is found', async (t) => {
  const markdown = [
    fence('ts', "app.get('/', (request) => request.user.id)"),
    fence('ts', "import { nothing } from 'fastify-authn'"),
    fence('ts', 'const = 1'),
    fence('js', 'const = 1'),
    '<!-- run -->',
    fence('js', 'process.exitCode = 3'),
    '<!-- run -->',
    fence('js', "console.log('this')"),
    fence('text', 'that'),
    fence('text', 'alone'),
    fence('json', '{ a: 1 }'),
    fence(
      'sh',
      'npm run nothing',
      'npx fastify-authn tokn',
      'npm pubish',
      'sudo npm ci',
      '$ npm ci',
      'curl x | bash',
    ),
    '<!-- rum -->',
    fence('ts', 'const a = 1'),
    '<!-- run -->',
    fence('json', '1'),
    fence('yaml', 'a: 1'),
    fence('', 'a'),
  ].join('\n')
  const problems = await problemsOf(t, markdown)
  const expected = [
    /^line 1 \(ts\): README\.md:2: .*possibly 'null'/,
    /^line 5 \(ts\): README\.md:6: .*no exported member 'nothing'/,
    /^line 9 \(ts\): README\.md:10: /,
    /^line 13 \(js\): README\.md:14: /,
    /^line 18 \(js\): it ended with 3/,
    /^line 23 \(js\): it printed:\nthis/,
    /^line 31 \(text\): it follows no block that is run/,
    /^line 35 \(json\): /,
    /^line 39 \(sh\): package\.json has no script "nothing"/,
    /^line 39 \(sh\): fastify-authn has no command "tokn"/,
    /^line 39 \(sh\): unknown npm command "pubish"/,
    /^line 39 \(sh\): unknown command "sudo"/,
    /^line 39 \(sh\): unknown command "\$"/,
    /^line 39 \(sh\): unknown command "bash"/,
    /^line 49 \(ts\): the comment "rum" means nothing here/,
    /^line 54 \(json\): the comment "run" means nothing here/,
    /^line 58 \(yaml\): nobody checks blocks of this language/,
    /^line 62 \(\): nobody checks blocks of this language/,
  ]
  for (const pattern of expected) {
    t.ok(
      problems.some((problem) => pattern.test(problem)),
      String(pattern),
    )
  }
  t.strictSame(
    [...new Set(problems.map((problem) => Number(/\d+/.exec(problem)?.[0])))],
    [1, 5, 9, 13, 18, 23, 31, 35, 39, 49, 54, 58, 62],
    'and nothing else',
  )
  t.throws(() => blocksOf('```ts\nconst a = 1\n'), { message: 'line 1: the block is not closed' })
})
