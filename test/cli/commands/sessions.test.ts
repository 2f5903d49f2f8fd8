// program: redis
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { redisSessions, sqlSessions } from '../../../lib/sessions/index.js'
import { sqlSchema } from '../../../lib/sessions/stores/sql-schema.js'
import { newSession } from '../../../lib/testing/stores/suite.js'
import { cli, type Ran } from '../../helpers/cli.js'
import { postgresServer } from '../../helpers/postgres-server.js'
import { unlessFound } from '../../helpers/programs.js'
import { redisServer } from '../../helpers/redis-server.js'
import type { SessionStore } from '../../../types/sessions.js'

t.test('sessions schema prints the SQL of the tables', async (t) => {
  const { exit, stdout, stderr } = await cli('sessions schema --prefix shop')
  t.strictSame([exit, stdout, stderr], [0, `${sqlSchema('shop')}\n`, ''])
  const { sql } = JSON.parse((await cli('sessions schema --prefix shop --json')).stdout) as {
    sql: string
  }
  t.equal(sql, sqlSchema('shop'))
  const wrong = await cli(['sessions', 'schema', '--prefix', 'a;b'])
  t.strictSame([wrong.exit, wrong.stdout], [1, ''])
  t.match(wrong.stderr, 'option --prefix')
})

t.test('wrong usage exits with 2', async (t) => {
  for (const [words, message] of [
    ['sessions lst', "unknown command 'lst'"],
    ['sessions schema alice --prefix shop', 'too many arguments'],
    ['sessions list --prefix shop', "missing required argument 'sub'"],
    ['sessions revoke --prefix shop', 'expected either <sub>'],
    ['sessions revoke alice --sid x --prefix shop', 'expected either <sub>'],
    ['sessions schema', "required option '--prefix <prefix>'"],
    ['sessions list alice', "required option '--prefix <prefix>'"],
    ['sessions revoke alice', "required option '--prefix <prefix>'"],
  ] as const) {
    const { exit, stdout, stderr } = await cli(words)
    t.strictSame([exit, stdout], [2, ''], words)
    t.ok(stderr.includes(message), stderr)
  }
})

t.test('a store that is missing or unusable exits without its password', async (t) => {
  const none = await cli('sessions list alice --prefix shop')
  t.equal(none.exit, 1)
  t.match(none.stderr, 'AUTH_SESSIONS_REDIS_URL and AUTH_SESSIONS_DATABASE_URL are not set')
  const env = {
    AUTH_SESSIONS_REDIS_URL: 'redis://:secret@127.0.0.1:1',
    AUTH_SESSIONS_DATABASE_URL: 'postgres://user:secret@127.0.0.1:1/app',
  }
  t.match(await cli('sessions list alice --prefix shop', { env }), {
    exit: 2,
    stderr: /are both set/,
  })
  for (const [name, value] of Object.entries(env)) {
    const away = await cli('sessions revoke alice --prefix shop', { env: { [name]: value } })
    t.match(away, { exit: 1, stdout: '' })
    t.match(away.stderr, `the store that ${name} names cannot be used: ECONNREFUSED`)
    t.notMatch(away.stderr, 'secret')
  }
  const [redis, postgres] = Object.keys(env) as [string, string]
  const wrong = [
    [redis, ':sec:ret@127.0.0.1:1'],
    [redis, 'redis:/:secret@127.0.0.1:1'],
    [redis, 'redis://u:sec/ret@127.0.0.1:1'],
    [redis, 'secret'],
    [postgres, 'postgres://u:secret@no port'],
    [postgres, 'u:secret@127.0.0.1:1/app'],
    [postgres, 'postgres:/sec:ret@127.0.0.1:1/app'],
    [postgres, 'postgres:u:secret@127.0.0.1:1/app'],
    [postgres, 'postgress://u:secret@127.0.0.1:1/app'],
    [postgres, 'postgres://u:12/sec?ret@127.0.0.1:1/app'],
    [postgres, 'postgres://secret:12#ret@127.0.0.1:1/app'],
    [postgres, 'postgres://u:sec@ret@127.0.0.1:1/app'],
  ] as const
  for (const [name, value] of wrong) {
    const { exit, stdout, stderr } = await cli('sessions list alice --prefix shop', {
      env: { [name]: value },
    })
    t.strictSame([exit, stdout], [1, ''], value)
    t.match(stderr, `${name} is not the URL of a store`, value)
    t.notMatch(stderr, /sec|ret@|u:12/, value)
  }
})

t.test('an error of the driver is shown without the password', async (t) => {
  const folder = t.testdir({
    'package.json': '{}',
    node_modules: {
      pg: {
        'index.js': `exports.Pool = class {
          constructor({ connectionString }) { this.url = connectionString }
          on() {}
          async query() {
            const url = new URL(this.url)
            const all = [url.password, decodeURIComponent(url.password), url.search, ...url.searchParams.values()]
            throw new Error(this.url + ' ' + all.join(' '))
          }
          async end() {}
        }`,
      },
    },
  })
  const before = process.cwd()
  process.chdir(folder)
  t.teardown(() => process.chdir(before))
  for (const url of [
    'postgres://u:hid%40den@localhost/app',
    'postgres://localhost/app?user=u&password=hid%40den&sslmode=x',
    'postgres://localhost/app?PassWord=hid+den',
    'postgres://u:hid den@localhost/app',
    'postgres://u:hid:den@localhost/app',
  ]) {
    for (const json of ['', ' --json']) {
      const words = `sessions list alice --prefix shop${json}`
      const { exit, stdout, stderr } = await cli(words, {
        env: { AUTH_SESSIONS_DATABASE_URL: url },
      })
      t.equal(exit, 1)
      t.match(stdout + stderr, /localhost/)
      t.notMatch(stdout + stderr, /hid|den/, url)
    }
  }
})

t.test('a missing driver exits with 1 and names the package', async (t) => {
  const before = process.cwd()
  const empty = mkdtempSync(path.join(tmpdir(), 'fastify-authn-cli-'))
  process.chdir(empty)
  t.teardown(() => {
    process.chdir(before)
    rmSync(empty, { recursive: true })
  })
  const env = { AUTH_SESSIONS_REDIS_URL: 'redis://127.0.0.1:1' }
  const { exit, stderr } = await cli('sessions list alice --prefix shop', { env })
  t.equal(exit, 1)
  t.match(stderr, 'the package ioredis is not installed here')
  t.match(stderr, 'npm install ioredis')
})

/** Shows and revokes what is in a store. */
async function listAndRevoke(t: Test, run: (words: string) => Promise<Ran>, store: SessionStore) {
  const sub = 'alice'
  const sessions = [newSession({ sub }), newSession({ sub }), newSession({ sub: 'bob' })]
  for (const session of sessions) await store.create(session)
  const [one, two] = sessions.map(({ sid }) => sid)
  const listed = await run('sessions list alice')
  t.match(listed, { exit: 0, stderr: '' })
  t.match(listed.stdout, new RegExp(`^${two} .*\n${one} .*begun .*, 192.0.2.7 Suite/1.0\n$`))
  const { sessions: rows } = JSON.parse((await run('sessions list alice --json')).stdout) as {
    sessions: Record<string, string>[]
  }
  const { created, lastUsed, endsAt, ...rest } = rows[0] ?? {}
  t.strictSame(rest, { sid: two, address: '192.0.2.7', userAgent: 'Suite/1.0' })
  t.ok([created, lastUsed, endsAt].every((date) => new Date(String(date)).toJSON() === date))
  const first = await run(`sessions revoke --sid ${one}`)
  t.match(first, { exit: 0, stdout: '1 session revoked.\n' })
  t.match(first.stderr, '"default"', 'and says of which registration it was')
  t.match((await run('sessions revoke bob --registration admin')).stderr, '"admin"')
  t.match(await run(`sessions revoke --sid ${one}`), { exit: 1, stdout: '0 sessions revoked.\n' })
  t.strictSame(JSON.parse((await run('sessions revoke alice --json')).stdout), {
    ok: true,
    revoked: [two],
  })
  t.equal((await run('sessions list alice')).stdout, 'No sessions.\n')
  t.equal((await store.list('bob')).length, 1)
  t.match((await run('sessions list bob --registration admin')).stdout, 'No sessions.')
}

const noRedis = unlessFound('Redis')
t.test('sessions list and revoke work in Redis', { skip: noRedis }, async (t) => {
  const { port } = await redisServer(t)
  const client = new Redis(port, '127.0.0.1')
  t.teardown(() => client.disconnect())
  const env = { AUTH_SESSIONS_REDIS_URL: `redis://127.0.0.1:${port}` }
  await listAndRevoke(
    t,
    (words) => cli(`${words} --prefix shop`, { env }),
    redisSessions(client, { prefix: 'shop' }).open('default'),
  )
})

const noPostgres = unlessFound('PostgreSQL')
t.test('sessions list and revoke work in PostgreSQL', { skip: noPostgres }, async (t) => {
  const server = await postgresServer(t)
  const pool = server.pool()
  const env = { AUTH_SESSIONS_DATABASE_URL: server.url }
  const missing = await cli('sessions list alice --prefix shop', { env })
  t.match(missing.stderr, 'npx fastify-authn sessions schema')
  await pool.query((await cli('sessions schema --prefix shop')).stdout)
  const query = (text: string, params: unknown[]) => pool.query(text, params)
  const store = sqlSessions({ query, prefix: 'shop' }).open('default')
  await listAndRevoke(t, (words) => cli(`${words} --prefix shop`, { env }), store)
})
