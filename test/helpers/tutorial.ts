// Follows a page of docs/start as its reader does, from an empty folder. How such a page is written is said at the head
// of test/readme.test.ts.
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Writable } from 'node:stream'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { findProgram } from './programs.js'
import { isCompiled, programOf, root } from './project.js'
import { isProxied } from './proxies.js'
import { blocksOf, isExpectedOutput, readPage, type Block } from './readme.js'
import { freePort } from './redis-server.js'

/** Milliseconds: for the commands of a block, and for a server to end after Ctrl-C. */
const patience = 90_000
const longestEnd = 10_000
const run = promisify(execFile)

/** What the page takes for granted, and is elsewhere in the test. */
export interface Surroundings {
  /** More variables of the reader's environment. `node --env-file` does not replace them. */
  readonly env?: Readonly<Record<string, string>>
  /** Ports of this machine, by those on the page. From 3000 to 3999 they are the reader's own, and need no entry. */
  readonly ports?: Readonly<Record<number, number>>
  /** Markdown of pages that are not in the project. */
  readonly pages?: Readonly<Record<string, string>>
}

/**
 * Does everything that pages say, one after the other, up to the first block that does not do what it says.
 * Servers run on until the next page says otherwise, or the test ends.
 *
 * @param pages - such as `docs/start/web-app.md`
 */
export async function follow(
  t: Pick<Test, 'pass' | 'fail' | 'comment' | 'teardown'>,
  pages: readonly string[],
  more: Surroundings = {},
) {
  const home = mkdtempSync(path.join(tmpdir(), 'fastify-authn-tutorial-'))
  const port = await freePort()
  const env = { ...(await environment(home)), PORT: String(port), ...more.env }
  const reader = new Reader(path.join(home, 'empty'), env, { 3000: port, ...more.ports })
  t.teardown(async () => {
    await reader.end()
    rmSync(home, { recursive: true, force: true })
  })
  const followed = {
    /** Where the app listens that is on port 3000 of the page. */
    origin: `http://127.0.0.1:${port}`,
    /** What the servers have printed lately. */
    shown: () => reader.shown(),
    /** Goes on with more pages. */
    async follow(pages: readonly string[]) {
      for (const page of pages) {
        const start = performance.now()
        const isDone = await followOne(page)
        // scripts/run-tests.js tells these seconds at its end.
        t.comment(`${page}: ${Math.round((performance.now() - start) / 1000)} s`)
        if (!isDone) return
      }
    },
  }
  await followed.follow(pages)
  return followed

  /** @returns whether every step did what the page says */
  async function followOne(page: string): Promise<boolean> {
    for (const step of stepsOf(page, more.pages?.[page] ?? readPage(page))) {
      const where = `${step.page}:${step.line}`
      try {
        await reader.take(step)
        t.pass(where)
      } catch (error) {
        const found = `${(error as Error).message}\n${reader.shown()}`
        t.fail(where, { found: found.split('\n') })
        return false
      }
    }
    return true
  }
}

/** A block that is a file or commands. */
interface Step extends Block {
  /** The prose since the block before, and its last line. */
  readonly prose: string
  readonly sentence: string
  /** The block that says what the commands print. */
  readonly answer: Block | null
}

function stepsOf(page: string, markdown: string): Step[] {
  const lines = markdown.split('\n')
  const steps: Step[] = []
  let end = 0
  for (const block of blocksOf(markdown, page)) {
    const prose = lines.slice(end, block.line - 1).filter((line) => !/^\s*(?:<!--.*)?$/.test(line))
    const step = { ...block, prose: prose.join('\n'), sentence: prose.at(-1) ?? '', answer: null }
    end = block.line + block.text.split('\n').length + 1
    const before = steps.at(-1)
    const isAnswer =
      /^(?:text|json)$/.test(block.language) && block.marker === null && fileOf(step) === null
    if (isAnswer && before?.language === 'sh' && before.answer === null)
      steps.splice(-1, 1, { ...before, answer: block })
    else steps.push(step)
  }
  return steps
}

/** The file that a block is, or is added to, and where. */
function fileOf({ sentence }: Pick<Step, 'sentence'>): readonly string[] | null {
  return (
    /^(?:Create|Replace) `([^`]+)`.*:$/.exec(sentence) ??
    /^Add .*to `([^`]+)`, (above|below) `([^`]+)`:$/.exec(sentence)
  )
}

/** The files that a page has its reader create, by their names. */
export function filesOf(page: string): Map<string, string> {
  const files = stepsOf(page, readPage(page)).map((step) => [fileOf(step)?.[1], step.text] as const)
  return new Map(files.filter((file): file is [string, string] => file[0] !== undefined))
}

/** Somebody with an editor and some terminals. */
class Reader {
  folder: string
  readonly #env: NodeJS.ProcessEnv
  readonly #ports: Map<number, number>
  #servers: Terminal[] = []
  #terminal: Terminal

  constructor(folder: string, env: NodeJS.ProcessEnv, ports: NonNullable<Surroundings['ports']>) {
    mkdirSync(folder)
    this.folder = folder
    this.#env = env
    this.#ports = new Map(Object.entries(ports).map(([from, to]) => [Number(from), to]))
    this.#terminal = new Terminal(folder, env, shell)
  }

  async take(step: Step): Promise<void> {
    if (step.prose.includes('Ctrl-C')) await this.#interrupt()
    if (step.marker === 'not run' || isProxied(step)) return
    if (step.marker !== null) throw new Error(`the comment "${step.marker}" means nothing here`)
    const text = await this.#translated(step.text)
    const answer = step.answer && (await this.#translated(step.answer.text))
    const [, name, side, anchor = ''] = fileOf(step) ?? []
    if (name !== undefined && side !== undefined) this.#insert(name, side, anchor, text)
    else if (name !== undefined) this.#write(name, `${text}\n`)
    else if (step.language !== 'sh') throw new Error('this is neither a file nor a command')
    else if (/leave it running/i.test(step.sentence)) await this.#serve(text, answer)
    else await this.#type(text, answer, step.answer?.language === 'json')
  }

  /** What the servers have printed lately, such as for whoever has to find out why a step has failed. */
  shown(): string {
    return this.#servers.map(({ output }) => output.slice(-4000)).join('\n---\n')
  }

  async end(): Promise<void> {
    await this.#interrupt()
    await this.#terminal.end()
  }

  /** With ports of the test in place of those of the page. */
  async #translated(text: string): Promise<string> {
    const pattern = /(?<=\b(?:127\.0\.0\.1:|localhost:|PORT=))\d{4}\b/g
    for (const [from] of text.matchAll(pattern)) {
      const isNew = from.startsWith('3') && !this.#ports.has(Number(from))
      if (isNew) this.#ports.set(Number(from), await freePort())
    }
    return text.replaceAll(pattern, (from) => String(this.#ports.get(Number(from)) ?? from))
  }

  #write(name: string, text: string): void {
    const file = path.join(this.folder, name)
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(file, text)
  }

  /** Beside the only line of a file that contains the anchor, and as far to the right as that. */
  #insert(name: string, side: string, anchor: string, text: string): void {
    const lines = readFileSync(path.join(this.folder, name), 'utf8').split('\n')
    const found = lines.flatMap((line, at) => (line.includes(anchor) ? [at] : []))
    const [at = 0] = found
    if (found.length !== 1) throw new Error(`${found.length} lines of ${name} have ${anchor}`)
    const indent = /^ */.exec(lines[at] ?? '')?.[0] ?? ''
    const added = text.split('\n').map((line) => (line === '' ? '' : indent + line))
    lines.splice(side === 'above' ? at : at + 1, 0, ...added)
    this.#write(name, lines.join('\n'))
  }

  /** Commands that end. They must succeed, unless the page says what they print: a command may be shown to fail. */
  async #type(text: string, answer: string | null, isJson: boolean): Promise<void> {
    const script = path.join(this.folder, '../commands.sh')
    writeFileSync(script, `set ${answer === null ? '-' : '+'}e\n${text}\n`)
    const { printed, folder } = await this.#terminal.type(script)
    this.folder = folder
    if (answer === null) return
    const isRight = isJson
      ? isLike(JSON.parse(printed), JSON.parse(answer))
      : isExpectedOutput(printed, answer)
    if (!isRight) throw new Error(`expected\n${answer}\nfound\n${printed}`)
  }

  /** A command that goes on. What follows is typed into a terminal that knows no variables of this one. */
  async #serve(text: string, answer: string | null): Promise<void> {
    if (answer === null) throw new Error('the page does not say what it prints')
    const server = new Terminal(this.folder, this.#env, text)
    this.#servers.push(server)
    await server.until((output) => isExpectedOutput(output, `…\n${answer}\n…`))
    await this.#terminal.end()
    this.#terminal = new Terminal(this.folder, this.#env, shell)
  }

  /** Ctrl-C, in each terminal in which a server runs. */
  async #interrupt(): Promise<void> {
    const servers = this.#servers
    this.#servers = []
    await Promise.all(servers.map((server) => server.end()))
  }
}

/** Printed after the commands of a block, with the folder. */
const mark = '-- typed in '
/** Runs the files that it is told of, one after the other, as one shell. */
const shell = `while IFS= read -r commands <&3; do . "$commands"; echo "${mark}$PWD --"; done`

class Terminal {
  output = ''
  readonly #child: ChildProcess
  readonly #closed: Promise<unknown>
  #isClosed = false
  #noticed: () => void = () => undefined

  constructor(cwd: string, env: NodeJS.ProcessEnv, commands: string) {
    // A group of its own, all of which gets Ctrl-C.
    this.#child = spawn('sh', ['-c', `exec 2>&1\n${commands}`], {
      cwd,
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
    })
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.output += text
      this.#noticed()
    })
    const kill = (): void => this.#signal('SIGKILL')
    process.once('exit', kill)
    this.#closed = once(this.#child, 'close').then(() => {
      process.off('exit', kill)
      this.#isClosed = true
      this.#noticed()
    })
  }

  async type(file: string): Promise<{ printed: string; folder: string }> {
    this.output = ''
    const pipe = this.#child.stdio[3] as Writable
    pipe.write(`${file}\n`)
    await this.until((output) => output.endsWith(' --\n') && output.includes(mark))
    const at = this.output.lastIndexOf(mark)
    const folder = this.output.slice(at + mark.length, -' --\n'.length)
    return { printed: this.output.slice(0, at), folder }
  }

  /** @throws when the process ends before, or takes too long */
  async until(isThere: (output: string) => boolean): Promise<void> {
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      this.#noticed()
    }, patience)
    while (!isThere(this.output)) {
      if (this.#isClosed || isLate) {
        clearTimeout(timer)
        throw new Error(`${isLate ? 'it takes too long' : 'it has failed'}:\n${this.output}`)
      }
      await new Promise<void>((resolve) => {
        this.#noticed = resolve
      })
    }
    clearTimeout(timer)
  }

  /** Ctrl-C. @throws when a process stays */
  async end(): Promise<void> {
    if (this.#isClosed) return
    let wasKilled = false
    const timer = setTimeout(() => {
      wasKilled = true
      this.#signal('SIGKILL')
    }, longestEnd)
    this.#signal('SIGINT')
    await this.#closed
    clearTimeout(timer)
    if (wasKilled) throw new Error(`it does not end after Ctrl-C:\n${this.output}`)
  }

  /** To all processes of the group, of which the first may have ended already. */
  #signal(signal: NodeJS.Signals): void {
    try {
      process.kill(-Number(this.#child.pid), signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

/** Whether a value is that of the page, in whose strings `…` stands for anything. */
function isLike(actual: unknown, expected: unknown): boolean {
  if (typeof expected === 'string') {
    return typeof actual === 'string' && isExpectedOutput(actual, expected)
  }
  if (typeof expected !== 'object' || expected === null) return actual === expected
  if (typeof actual !== 'object' || actual === null) return false
  const [found, wanted] = [Object.entries(actual), Object.entries(expected)]
  return (
    Array.isArray(actual) === Array.isArray(expected) &&
    found.length === wanted.length &&
    wanted.every(([name, value]) => isLike((actual as Record<string, unknown>)[name], value))
  )
}

/** What npm and the runner of the tests tell their programs, and what would configure an app. */
const notTheirs =
  /^(?:npm_(?!config_)|npm_config_(?:(?:local_|global_)?prefix|loglevel)$|NODE_(?:ENV|OPTIONS)$|_?TAP|AUTH_|INIT_CWD$|COVERAGE_|[A-Z]+_URL$)/i

/** The environment of a newcomer, in which `npm install` needs no network. */
async function environment(home: string): Promise<NodeJS.ProcessEnv> {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !notTheirs.test(name)),
  )
  const [{ filename = '' } = {}] = JSON.parse(
    (
      await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', home], {
        cwd: root,
      })
    ).stdout,
  ) as { filename?: string }[]
  await run('tar', ['-xzf', path.join(home, filename), '-C', home])
  const folders = (env.PATH ?? '')
    .split(path.delimiter)
    .filter((folder) => !folder.includes('node_modules'))
  const npm = findProgram('npm')
  const program = path.join(home, 'bin/npm')
  mkdirSync(path.dirname(program))
  const loader = isCompiled ? '' : `--import '${import.meta.resolve('tsx')}' `
  const install = `${loader}'${programOf('test/helpers/npm-install.ts')}'`
  writeFileSync(
    program,
    `#!/bin/sh
case "$1" in
  install | i) shift; exec '${process.execPath}' ${install} '${home}/package' "$@" ;;
  *) exec '${npm}' "$@" ;;
esac
`,
    { mode: 0o755 },
  )
  // The optimizing compiler of WebAssembly takes more of the processor than it saves PGlite.
  const node = path.join(home, 'bin/node')
  writeFileSync(node, `#!/bin/sh\nexec '${process.execPath}' --liftoff-only "$@"\n`, {
    mode: 0o755,
  })
  // The original takes half a second longer.
  const npx = path.join(home, 'bin/npx')
  writeFileSync(npx, '#!/bin/sh\nexec "node_modules/.bin/$@"\n', { mode: 0o755 })
  return {
    ...env,
    PATH: [path.dirname(program), path.dirname(process.execPath), ...folders].join(path.delimiter),
    npm_config_offline: 'true',
    npm_config_update_notifier: 'false',
    npm_config_loglevel: 'error',
  }
}
