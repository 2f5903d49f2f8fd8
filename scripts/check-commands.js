// Runs each command of the packed program once, in a process of its own: what it needs, and only another file happens to
// load, is found only there. What the commands do is tested in test/cli/.
import { deepEqual, equal, match } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const AUTH_JWT_SECRET =
  'a'.repeat(20) + 'bcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_'
/** There is no store: the package for it is loaded, and cannot connect. */
const noStore = ['REDIS_URL', 'DATABASE_URL'].map((name) => [
  name,
  `${name === 'REDIS_URL' ? 'redis' : 'postgres'}://127.0.0.1:1`,
])
const noUsers = {
  exit: 1,
  input: 'open sesame\n',
  env: { AUTH_USERS_DATABASE_URL: 'postgres://127.0.0.1:1' },
}
const away = /ECONNREFUSED/
const keySet = '--key-set keys.json'

/**
 * Command lines in their order, with what they print. Those with a store fail.
 *
 * @type {[string, RegExp, { exit?: number, input?: string, store?: string, env?: Record<string, string> }?][]}
 */
const lines = [
  ['secret', /^AUTH_JWT_SECRET=/],
  ['keys ES256 --out key-files', /^AUTH_JWT_ECDSA_PRIVATE=/],
  [`keys init ES256 ${keySet}`, /./],
  [`keys rotate ${keySet} --settle 0`, /ES256/],
  [`keys list ${keySet}`, /ES256/],
  [`keys revoke ${keySet} none`, /key/i, { exit: 1 }],
  ['hash --algorithm bcrypt', /^\$2b\$/, { input: 'open sesame\n' }],
  ['hash --algorithm scrypt', /^\$scrypt\$/, { input: 'open sesame\n' }],
  ['hash --algorithm argon2id', /^\$argon2id\$/, { input: 'open sesame\n' }],
  ['token --sub alice', /^eyJ/],
  ['inspect', /no token/, { input: 'abc', exit: 1 }],
  ['doctor', /./],
  ['schema --prefix shop', /shop_users[^]*shop_sessions[^]*shop_api_keys/],
  ['users schema --prefix shop', /CREATE TABLE/i],
  ['users create --email ada@example.com --prefix shop', away, noUsers],
  ['users list --prefix shop', away, noUsers],
  ['users disable ada@example.com --prefix shop', away, noUsers],
  ['users enable ada@example.com --prefix shop', away, noUsers],
  ['users roles ada@example.com admin --prefix shop', away, noUsers],
  ['users remove ada@example.com --prefix shop', away, noUsers],
  ['users import - --skip --prefix shop', away, noUsers],
  ['sessions schema --prefix shop', /CREATE TABLE/i],
  ['sessions list alice --prefix shop', away, { store: 'SESSIONS' }],
  ['sessions revoke alice --prefix shop', away, { store: 'SESSIONS' }],
  ['api-keys schema --prefix shop', /CREATE TABLE/i],
  [
    'api-keys issue alice --key-prefix acme --name job --expires 90d --prefix shop',
    away,
    { store: 'API_KEYS' },
  ],
  ['api-keys list alice --prefix shop', away, { store: 'API_KEYS' }],
  ['api-keys revoke --owner alice --prefix shop', away, { store: 'API_KEYS' }],
]

/**
 * @param cwd - a folder with the package, ioredis and pg in its node_modules
 * @param program - the file of the program
 */
export function commandChecks(cwd, program) {
  const run = async (line, { exit = 0, input = '', env = {} } = {}) => {
    const running = promisify(execFile)(process.execPath, [program, ...line.split(' ')], {
      cwd,
      env: { PATH: process.env.PATH, NODE_ENV: 'production', AUTH_JWT_SECRET, ...env },
      timeout: 60_000,
    })
    // A command that reads nothing may have ended before.
    running.child.stdin.on('error', () => undefined).end(input)
    const { code = 0, stdout, stderr } = await running.catch((error) => error)
    equal(code, exit, `${line}: ${stdout}${stderr}`)
    return stdout + stderr
  }
  return {
    'the help names the commands that are run here': async () => {
      const named = await commandsIn((words) => run([...words, '--help'].join(' ')))
      const tried = named.filter((name) =>
        lines.some(([line]) => `${line} `.startsWith(`${name} `)),
      )
      deepEqual(tried, named)
    },
    'each command runs': async () => {
      for (const [line, expected, { store, ...options } = {}] of lines) {
        const runs = store
          ? noStore.map(([name, url]) => ({ exit: 1, env: { [`AUTH_${store}_${name}`]: url } }))
          : [options]
        for (const each of runs) match(await run(line, each), expected, line)
      }
    },
  }
}

/** The commands with options of their own, as the help shows them. */
async function commandsIn(help, words = []) {
  const text = await help(words)
  const found = text.includes('--json') ? [words.join(' ')] : []
  const [, inside = ''] = /\nCommands:\n((?: .*\n)*)/.exec(text) ?? []
  for (const [, name] of inside.matchAll(/^ {2}([a-z][a-z-]*)/gm)) {
    if (name !== 'help') found.push(...(await commandsIn(help, [...words, name])))
  }
  return found
}
