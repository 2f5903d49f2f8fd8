import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { commands as cliCommands } from '../../lib/cli/main.js'
import { root } from './project.js'

/** A fenced code block of a Markdown text. */
export interface Block {
  /** The file that it stands in, from the root of the project. */
  readonly page: string
  /** Of the opening fence, from 1. */
  readonly line: number
  readonly language: string
  readonly text: string
  /** What the HTML comment just before the block says, or null. */
  readonly marker: string | null
  /** The text block that directly follows one that is run: what it must print. */
  readonly output: string | null
}

/** Everything that is written for users: README.md and its companions, and the pages under docs/. */
export function pages(): string[] {
  const documents = readdirSync(path.join(root, 'docs'), { encoding: 'utf8', recursive: true })
    .filter((file) => file.endsWith('.md') && !file.startsWith('api'))
    .map((file) => file.split(path.sep).join('/'))
  return [
    'README.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    ...documents.map((file) => `docs/${file}`).toSorted(),
  ]
}

/** The text of a page. */
export function readPage(page: string): string {
  return readFileSync(path.join(root, page), 'utf8')
}

/** The anchors of a page, as GitHub makes them of its headings. */
function anchorsOf(markdown: string): Set<string> {
  const headings = markdown.replaceAll(/^```[^]*?^```/gm, '').matchAll(/^#+ +(.*)$/gm)
  return new Set(
    [...headings].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

/** What `*` of a pattern stands for, as regular expressions. */
const wildcards = new Map([
  ['**/', '(?:.*/)?'],
  ['*', '[^/]*'],
])

/** Whether npm packs a file or folder: names and patterns of `files` in package.json, of which the last one counts. */
function isPacked(target: string, files: readonly string[]): boolean {
  const last = files.findLast((name) => {
    const pattern = name
      .replace(/^!/, '')
      .split(/(\*\*\/|\*)/)
      .map((part) => wildcards.get(part) ?? escapeRegExp(part))
    return new RegExp(`^${pattern.join('')}(?:/|$)`).test(target)
  })
  // npm packs these in any case.
  if (last === undefined) return ['README.md', 'LICENSE', 'package.json'].includes(target)
  return !last.startsWith('!')
}

/**
 * Links of a page that lead nowhere, or out of what is packed.
 *
 * @param files - those of package.json
 */
export function linkProblems(page: string, markdown: string, files: readonly string[]): string[] {
  const links = [...markdown.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
  return links
    .filter((link) => !/^https?:/.test(link))
    .flatMap((link) => {
      const [file = '', anchor] = link.split('#')
      const target = file === '' ? page : path.posix.join(path.posix.dirname(page), file)
      if (!existsSync(path.join(root, target))) return [`${link}: there is no ${target}`]
      if (!isPacked(target, files)) {
        return [`${link}: ${target} is not in the package`]
      }
      const isFound = anchor === undefined || anchorsOf(readPage(target)).has(anchor)
      return isFound ? [] : [`${link}: ${target} has no such heading`]
    })
}

/**
 * The blocks of a Markdown text.
 *
 * @param page - the file that it stands in
 * @throws when a block is not closed
 */
export function blocksOf(markdown: string, page = 'README.md'): Block[] {
  const lines = markdown.split('\n')
  const blocks: (Block & { end: number })[] = []
  for (let index = 0; index < lines.length; index++) {
    const opening = /^(\s*)(`{3,}|~{3,})\s*(\S*)/.exec(lines[index] ?? '')
    if (opening === null) continue
    const [, indent = '', fence = '', language = ''] = opening
    const end = lines.findIndex((line, at) => at > index && line.trim() === fence)
    if (end === -1) throw new Error(`line ${index + 1}: the block is not closed`)
    const text = lines
      .slice(index + 1, end)
      .map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line))
      .join('\n')
    blocks.push({
      page,
      line: index + 1,
      language,
      text,
      marker: markerBefore(lines, index),
      output: null,
      end: end + 1,
    })
    index = end
  }
  return blocks.flatMap((block, index) => {
    const next = blocks[index + 1]
    const before = blocks[index - 1]
    if (next !== undefined && isOutput(lines, next, block)) return [{ ...block, output: next.text }]
    return before !== undefined && isOutput(lines, block, before) ? [] : [block]
  })
}

/** Only blank lines may stand between a program and its output. */
function isOutput(
  lines: readonly string[],
  block: Block,
  before: Block & { end: number },
): boolean {
  return (
    block.language === 'text' &&
    before.marker === 'run' &&
    lines.slice(before.end, block.line - 1).every((line) => line.trim() === '')
  )
}

function markerBefore(lines: readonly string[], index: number): string | null {
  const before = lines.slice(0, index).findLast((line) => line.trim() !== '')
  return /^\s*<!--\s*(.*?)\s*-->\s*$/.exec(before ?? '')?.[1] ?? null
}

/** File name of a snippet: `require` says that it is CommonJS. */
function fileNameOf({ language, page, line, text }: Block): string {
  const commonJs = language === 'js' && /\brequire\(/.test(text)
  const name = page.replaceAll(/[^A-Za-z]+/g, '-')
  return `${name}-line-${line}.${commonJs ? 'cjs' : language}`
}

/** Where the compiler is, and what it writes. */
const compiler = path.join(root, 'node_modules/typescript7/bin/tsc')
const outDir = 'out'

/** The settings of a newcomer, for snippets that lie in a folder of this package, whose name they import. */
const settingsFor = (files: readonly string[]): object => ({
  compilerOptions: {
    target: 'es2022',
    lib: ['es2024'],
    module: 'nodenext',
    moduleDetection: 'force',
    allowJs: true,
    strict: true,
    skipLibCheck: true,
    types: ['node'],
    typeRoots: [path.join(root, 'node_modules/@types')],
    rootDir: '.',
    outDir,
  },
  files: [path.join(root, 'test/types/readme-prelude.d.ts'), ...files],
})

/**
 * Compiles snippets, all in one program, against what has been built.
 *
 * @param folder - inside of the project
 * @returns what TypeScript says of each
 */
export async function compile(
  folder: string,
  blocks: readonly Block[],
): Promise<Map<Block, string[]>> {
  for (const block of blocks) writeFileSync(path.join(folder, fileNameOf(block)), block.text)
  const settings = JSON.stringify(settingsFor(blocks.map(fileNameOf)))
  writeFileSync(path.join(folder, 'tsconfig.json'), settings)
  const { stdout } = await runNode([compiler, '--pretty', 'false', '-p', '.'], folder)
  return new Map(
    blocks.map((block) => {
      const found = stdout.matchAll(/^(\S+)\((\d+),\d+\): (.*(?:\n +.*)*)/gm)
      return [
        block,
        [...found]
          .filter(([, file]) => file === fileNameOf(block))
          .map(([, , line, text]) => `${block.page}:${block.line + Number(line)}: ${text}`),
      ]
    }),
  )
}

/** Runs a snippet that has been compiled. */
export function runSnippet(folder: string, block: Block): Promise<Ran> {
  const file = fileNameOf(block)
  const made = path.join(outDir, file.replace(/ts$/, 'js'))
  return runNode(['--no-warnings', block.language === 'ts' ? made : file], folder)
}

interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program of Node.js. */
function runNode(words: readonly string[], folder: string): Promise<Ran> {
  // Nothing of tap's: what is run here is judged by its output, not by what it covers.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(?:NODE_OPTIONS$|_?TAP)/.test(name)),
  )
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, words, {
      cwd: folder,
      // As `node --env-file` gives it to a newcomer who has made a secret.
      env: { ...env, AUTH_JWT_SECRET: randomBytes(64).toString('base64url') },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 60_000,
    })
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
}

/**
 * Whether a program printed what the page says; `…` stands for anything within a line, and alone on a line for any
 * lines. What the logger of Fastify printed is left out, unless the page shows it.
 */
export function isExpectedOutput(actual: string, expected: string): boolean {
  const lines = expected.trim().split('\n')
  const pattern = lines
    .map((line) =>
      line.trim() === '…'
        ? String.raw`(?:.*\n)*?`
        : `${line.split('…').map(escapeRegExp).join('.*')}\n`,
    )
    .join('')
  const logged = expected.includes('"msg":') ? /\r/g : /^\{"level":.*\n|\r/gm
  // What `node --test` ends with, on a terminal and elsewhere.
  const printed = actual.replaceAll(logged, '').replaceAll(/^# (?=\w+ \d+$)/gm, 'ℹ ')
  return new RegExp(`^${pattern}$`).test(`${printed.trim()}\n`)
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
}

/** What a block of shell commands asks for that there is not. */
export function shellProblems(text: string, scripts: Readonly<Record<string, string>>): string[] {
  const namesIn = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, name = '']) => name)
  return [
    ...namesIn(/\bnpm run ([\w:-]+)/g)
      .filter((name) => !Object.hasOwn(scripts, name))
      .map((name) => `package.json has no script ${JSON.stringify(name)}`),
    ...namesIn(/\bnpx fastify-authn[\s\\]+(\S+)/g)
      .filter((name) => !cliCommands.some((each) => each.name === name))
      .map((name) => `fastify-authn has no command ${JSON.stringify(name)}`),
    ...namesIn(/^(\$) /gm).map(() => 'it has a prompt'),
  ]
}
