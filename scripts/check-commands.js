// Runs every command of the packed program, each in a process of its own, with servers of Redis and PostgreSQL for those that
// work with a store: what a command needs, and only another file happens to load, is found only there.
import { deepEqual, equal, match } from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import path from 'node:path'
import { tsImport } from 'tsx/esm/api'

const helper = (name) => tsImport(`../test/helpers/${name}.ts`, import.meta.url)

/** What the checks below try. A new command fails until it is here and there. */
const tried =
  'secret,keys,keys init,keys rotate,keys revoke,keys list,hash,token,inspect,doctor,sessions schema,sessions list,sessions revoke,api-keys schema,api-keys issue,api-keys list,api-keys revoke'

/**
 * @param cwd - a folder with the package, ioredis and pg in its node_modules
 * @param program - the file of the program
 */
export function commandChecks(cwd, program) {
  const run = runnerOf(cwd, program)
  const checks = {
    'the help names these commands': () => helps(run),
    'commands for keys': () => keyCommands(run, path.join(cwd, 'key-files')),
    'commands for tokens and passwords': () => tokenCommands(run),
  }
  for (const name of ['Redis', 'PostgreSQL']) {
    checks[`commands with ${name}`] = () => storeCommands(run, cwd, name)
  }
  return checks
}

/** @returns what runs a command line: it fails for another exit code than the expected one, and returns what was printed */
function runnerOf(cwd, program) {
  return async (line, { exit = 0, input = '', env = {}, stdout = 'pipe' } = {}) => {
    const child = spawn(process.execPath, [program, ...line.split(' ')], {
      cwd,
      env: { PATH: process.env.PATH, NODE_ENV: 'production', ...env },
      stdio: ['pipe', stdout, 'pipe'],
      timeout: 60_000,
    })
    const printed = { stdout: '', stderr: '' }
    for (const name of Object.keys(printed)) {
      child[name]?.on('data', (data) => (printed[name] += data))
    }
    // A command that reads nothing may have ended before.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    const code = await new Promise((resolve, reject) => {
      child.once('error', reject).once('close', resolve)
    })
    equal(code, exit, `${line}: ${printed.stdout}${printed.stderr}`)
    return printed
  }
}

/** The help of each command. */
async function helps(run) {
  const found = []
  const visit = async (names) => {
    const { stdout } = await run([...names, '--help'].join(' '))
    if (names.length === 0) equal((await run('help')).stdout, stdout)
    if (stdout.includes('--json')) found.push(names.join(' '))
    const [, inside = ''] = /\nCommands:\n((?: .*\n)*)/.exec(stdout) ?? []
    for (const [, name] of inside.matchAll(/^ {2}([a-z][a-z-]*)/gm)) {
      if (name !== 'help') await visit([...names, name])
    }
  }
  await visit([])
  deepEqual(new Set(found), new Set(tried.split(',')))
}

async function keyCommands(run, folder) {
  match((await run('secret')).stdout, /^AUTH_JWT_SECRET=[\w-]{86}\n$/)
  match((await run(`keys ES256 --out ${folder}`)).stdout, /^AUTH_JWT_ECDSA_PRIVATE=.*\n/)
  const options = `--key-set ${path.join(folder, 'keys.json')}`
  const keys = async () => JSON.parse((await run(`keys list ${options} --json`)).stdout).keys
  await run(`keys init ES256 ${options}`)
  const [first] = await keys()
  await run(`keys rotate ${options}`, { exit: 1 })
  const leaked = (await run(`token --sub alice ${options}`)).stdout
  await run(`keys rotate ${options} --settle 0`)
  await run(`inspect ${options}`, { input: leaked })
  await run(`keys revoke ${options} ${first.kid}`)
  match((await run(`inspect ${options}`, { input: leaked, exit: 1 })).stdout, /unknown kid/)
  equal((await keys()).length, 2)
  await run(`doctor ${options}`)
}

async function tokenCommands(run) {
  const [, secret] = (await run('secret')).stdout.trim().split('=')
  const env = { AUTH_JWT_SECRET: secret }
  for (const [algorithm, start] of Object.entries({
    bcrypt: '$2b$',
    scrypt: '$scrypt$',
    argon2id: '$argon2id$',
  })) {
    const { stdout } = await run(`hash --algorithm ${algorithm}`, { input: 'open sesame\n' })
    equal(stdout.slice(0, start.length), start)
  }
  const { stdout: token } = await run('token --sub alice --issuer me --audience a', { env })
  await run('inspect --issuer me --audience a', { env, input: token })
  match((await run('inspect', { env, input: token, exit: 1 })).stdout, /claim aud/)
  match((await run('inspect', { input: 'abc', exit: 1 })).stdout, /no token/)
  await run('doctor', { env })
  const wrong = { AUTH_JWT_SECRET: 'short', AUTH_JWT_EXPIRY: '15m', AUTH_BASIC_USERNAME: 'a' }
  const { findings } = JSON.parse((await run('doctor --json', { env: wrong, exit: 1 })).stdout)
  const problems = findings.filter(({ level }) => level === 'error').map(({ problem }) => problem)
  equal(problems.length, 3, problems.join('\n'))
}

/** @returns the variable that names the store, without its first part; its value; and how to make its tables, if it has some */
const stores = {
  async Redis(endings) {
    const { redisServer } = await helper('redis-server')
    const { port } = await redisServer(endings)
    return { variable: 'REDIS_URL', url: `redis://127.0.0.1:${port}`, migrate: null }
  },
  async PostgreSQL(endings) {
    const { postgresServer } = await helper('postgres-server')
    const server = await postgresServer(endings)
    const pool = server.pool()
    return { variable: 'DATABASE_URL', url: server.url, migrate: (sql) => pool.query(sql) }
  },
}

async function storeCommands(run, cwd, name) {
  const { findProgram } = await helper('programs')
  if (findProgram(name) === null) return `skipped: needs ${name} on PATH`
  // Writes to the store what the commands find there.
  const alone = runnerOf(cwd, path.join(cwd, 'alone.mjs'))
  const endings = []
  try {
    const store = await stores[name]({ teardown: (end) => endings.push(end) })
    await sessionCommands(run, alone, store)
    await apiKeyCommands(run, alone, store)
  } finally {
    for (const end of endings.toReversed()) await end()
  }
  return undefined
}

async function sessionCommands(run, alone, { variable, url, migrate }) {
  const { stdout: sql } = await run('sessions schema --prefix shop')
  await migrate?.(sql)
  const env = { [`AUTH_SESSIONS_${variable}`]: url }
  const sessions = (line, more) => run(`sessions ${line} --prefix shop`, { env, ...more })
  match((await sessions('list alice')).stdout, /^No sessions/)
  await sessions('revoke alice', { exit: 1 })
  const begin = () => alone('sessions esm', { env: { [variable]: url } })
  await begin()
  const {
    sessions: [{ sid }],
  } = JSON.parse((await sessions('list alice --json')).stdout)
  await sessions(`revoke --sid ${sid}`)
  await begin()
  match((await sessions('revoke alice')).stdout, /^1 session revoked/)
}

async function apiKeyCommands(run, alone, { variable, url, migrate }) {
  const { stdout: sql } = await run('api-keys schema --prefix shop')
  await migrate?.(sql)
  const env = { [`AUTH_API_KEYS_${variable}`]: url }
  const apiKeys = (line, more) => run(`api-keys ${line} --prefix shop`, { env, ...more })
  const issue = 'issue alice --key-prefix acme_live --name job --scope a:b --expires 90d'
  for (const kind of ['esm', 'cjs']) await alone(`api-keys ${kind}`, { env: { [variable]: url } })
  const { stdout: key } = await apiKeys(issue)
  match(key, /^acme_live_[0-9A-Za-z]{54}\n$/)
  const id = key.slice(10, 26)
  match((await apiKeys('list alice')).stdout, new RegExp(`^${id}  job  a:b`))
  match((await apiKeys(`revoke ${id}`)).stdout, /^1 key revoked/)
  if (existsSync('/dev/full')) {
    const full = openSync('/dev/full', 'w')
    const { stderr } = await apiKeys(issue, { exit: 1, stdout: full })
    closeSync(full)
    match(stderr, /revoked/)
    await apiKeys('revoke --owner alice', { exit: 1 })
  }
  const json = JSON.parse((await apiKeys(`${issue} --json`)).stdout)
  match((await apiKeys('revoke --owner alice --json')).stdout, new RegExp(json.id))
}
