// program: redis
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { verifyPassword } from '../../../lib/index.js'
import { sqlApiKeys } from '../../../lib/api-keys/index.js'
import { sqlSessions } from '../../../lib/sessions/index.js'
import { newSession } from '../../../lib/testing/stores/suite.js'
import { sqlUsers } from '../../../lib/users-table/index.js'
import { cli, cliProcess, FakeTerminal, piped, Written } from '../../helpers/cli.js'
import { postgresServer } from '../../helpers/postgres-server.js'
import { unlessFound } from '../../helpers/programs.js'

const email = 'ada@example.com'
const hash = '$2b$10$abcdefghijklmnopqrstuu5Y0sT4sX0yOeQ0n4r0aJ3vB1dC2eF3g'
const id = '0f8fad5b-d9cb-469f-a165-70867728950e'

t.test('schema prints the SQL of all tables, users schema that of users', async (t) => {
  const { stdout } = await cli('schema --prefix shop')
  for (const words of ['users', 'sessions', 'api-keys']) {
    const part = await cli(`${words} schema --prefix shop`)
    t.ok(stdout.includes(part.stdout.trim()), words)
  }
  t.match(JSON.parse((await cli('schema --prefix shop --json')).stdout), { sql: stdout.trim() })
  t.match(await cli(['schema', '--prefix', 'a;b']), { exit: 1, stdout: '' })
})

t.test('wrong usage exits with 2, before a password is asked for', async (t) => {
  for (const words of [
    'users',
    'users create --prefix shop',
    'users create --prefix shop --email nobody',
    `users create --prefix shop --email ${email} --name ${'x'.repeat(201)}`,
    `users create --prefix shop --email ${email} --role ${'x'.repeat(101)}`,
    'users list',
    'users list --prefix shop --limit 0',
    'users list --prefix shop --limit 201',
    'users disable --prefix shop',
    `users roles ${email} admin --none --prefix shop`,
    'users import --prefix shop',
  ]) {
    t.match(await cli(words, { stdin: new FakeTerminal() }), { exit: 2, stdout: '' }, words)
  }
  t.match(await cli('users list --prefix shop'), {
    exit: 1,
    stderr: /AUTH_USERS_DATABASE_URL and AUTH_SESSIONS_DATABASE_URL are not set/,
  })
})

const skip = unlessFound('PostgreSQL')

t.test('users in PostgreSQL', { skip }, async (t) => {
  const server = await postgresServer(t)
  const pool = server.pool()
  const env = { AUTH_USERS_DATABASE_URL: server.url }
  const query = (text: string, params: unknown[]) => pool.query(text, params)
  const store = sqlUsers({ query, prefix: 'shop' }).open()
  const run = (words: string, stdin = piped('open sesame\n')) =>
    cli(`users ${words} --prefix shop`, { env, stdin })
  const json = async (words: string) =>
    JSON.parse((await run(`${words} --json`)).stdout) as Record<string, unknown>
  t.match(await run('list'), { exit: 1, stderr: /npx fastify-authn users schema --prefix shop/ })
  await pool.query((await cli('users schema --prefix shop')).stdout)
  const file = (...lines: unknown[]): string => {
    const name = path.join(t.testdirName, 'users.jsonl')
    writeFileSync(name, lines.map((each) => JSON.stringify(each)).join('\n'))
    return name
  }
  t.testdir({})

  await t.test('create makes an admin, and an address is taken', async (t) => {
    t.match(await run('list'), { exit: 0, stdout: 'No users.\n' })
    const made = await run('create --email ADA@Example.com --name Ada --role admin --role b')
    t.match(made, { exit: 0, stderr: '' })
    const user = await store.findByEmail(email)
    t.match(user, { id: made.stdout.trim(), email, name: 'Ada', roles: ['admin', 'b'] })
    t.ok(await verifyPassword('open sesame', user?.password))
    t.match(await run(`create --email ${email}`), { exit: 1, stdout: '' })
    t.match(await run('create --email b@example.com', piped('')), { exit: 1 })
    t.match(await json('create --email bob@example.com'), { ok: true, email: 'bob@example.com' })
    const fallback = { AUTH_SESSIONS_DATABASE_URL: server.url }
    t.match(await cliProcess('users list --prefix shop', fallback), { exit: 0, stdout: /ada@/ })
  })

  await t.test('list filters, pages and shows no secrets', async (t) => {
    const first = await json('list --limit 1')
    t.match(first, { users: [{ email: 'bob@example.com' }] })
    t.match(await json(`list --after ${String(first.next)}`), { users: [{ email }], next: null })
    t.match((await json('list --email ADA')).users, [{ email }])
    t.match((await json('list --role admin')).users, [{ email }])
    t.strictSame((await json('list --disabled')).users, [])
    t.match(await run('list --after x'), { exit: 2 })
    const shown = (await run('list')).stdout + JSON.stringify(await json('list'))
    t.notMatch(shown, /\$2b\$|password|secondFactor/)
  })

  await t.test('roles are printed, set and taken away', async (t) => {
    t.equal((await run(`roles ${email}`)).stdout, 'admin\nb\n')
    t.match(await run(`roles ${email} support`), { exit: 0, stdout: 'support\n' })
    t.match(await json(`roles ${email}`), { roles: ['support'] })
    t.match(await run(`roles ${email} --none`), { exit: 0 })
    t.strictSame((await store.findByEmail(email))?.roles, [])
  })

  await t.test('disable, enable and remove work without the tables of others', async (t) => {
    t.match(await json(`disable ${email}`), { sessions: null })
    t.ok((await store.findByEmail(email))?.disabledAt)
    t.match((await run('list --disabled')).stdout, new RegExp(`${email} .*disabled 20`))
    t.match(await run(`enable ${email}`), { exit: 0, stderr: /not in this database/ })
    t.equal((await store.findByEmail(email))?.disabledAt, null)
    t.match(await json('remove bob@example.com'), { sessions: null, apiKeys: null })
    t.equal(await store.findByEmail('bob@example.com'), null)
  })

  await t.test('disable, enable and remove revoke sessions of all registrations', async (t) => {
    await pool.query((await cli('schema --prefix shop')).stdout)
    const { id: sub } = (await store.findByEmail(email)) ?? { id: '' }
    const sessions = ['default', 'admin'].map((name) =>
      sqlSessions({ query, prefix: 'shop' }).open(name),
    )
    for (const words of ['disable', 'enable', 'remove']) {
      for (const each of sessions) await each.create(newSession({ sub }))
      if (words === 'remove') {
        const key = { id: 'k'.repeat(16), digest: 'd', owner: sub, ownerType: 'string', name: 'n' }
        const times = { createdAt: 1, expiresAt: null, lastUsedAt: null, revokedAt: null }
        const keys = sqlApiKeys({ query, prefix: 'shop' }).open('default')
        await keys.create({ ...key, ...times, scopes: [], replacedBy: null } as never, 9)
      }
      const done = await json(`${words} ${sub.toUpperCase()}`)
      t.match(done, { ok: true, sessions: 2, ...(words === 'remove' ? { apiKeys: 1 } : {}) })
      for (const each of sessions) t.strictSame(await each.list(sub), [], words)
    }
    for (const words of ['disable', 'enable', 'remove', 'roles']) {
      for (const unknown of [sub, email, 'x']) {
        t.match(await run(`${words} ${unknown}`), { exit: 1, stdout: '' })
      }
    }
  })

  await t.test('an import of wrong lines stores nothing, and shows no value', async (t) => {
    await pool.query(
      'ALTER TABLE shop_users ADD plan text NOT NULL DEFAULT $$free$$, ADD age int, ADD handle text UNIQUE',
    )
    const own = { provider: 'google', issuer: 'https://google.example', subject: '7' }
    const other = { ...own, subject: '8' }
    await store.create(
      { id, email: 'owner@example.com', name: null, roles: [], password: null, columns: {} },
      own,
    )
    const ada = id.replace('0', '2')
    await store.create(
      { id: ada, email, name: null, roles: [], password: null, columns: {} },
      { ...own, subject: 'ada' },
    )
    const address = { email: 'hidden@example.com' }
    const wrong = [
      7,
      null,
      [],
      {},
      { email: null },
      { email: 'hidden' },
      { ...address, id: 'hidden' },
      { ...address, passwordHash: 'hidden' },
      { ...address, passwordHash: '$2b$31$' + hash.slice(7) },
      { ...address, name: 'hidden\n' },
      { ...address, roles: 'hidden' },
      { ...address, name: 'hidden \ufffd' },
      { ...address, identities: 'hidden' },
      { ...address, roles: [''] },
      { ...address, createdAt: 'hidden' },
      { ...address, createdAt: '2024-02-30' },
      { ...address, identities: [{ issuer: 'hidden' }] },
      { ...address, nickname: 'hidden' },
      { ...address, age: 'hidden' },
      { ...address, plan: null },
      { ...address, plan: 'hidden\0' },
      { ...address, identities: [other, other] },
      ...['password', 'created_at', 'DisabledAt', 'second-factor', '__proto__'].map((name) =>
        Object.fromEntries([
          ['email', 'hidden@example.com'],
          [name, 'hidden'],
        ]),
      ),
      { ...address, id },
      { ...address, identities: [own] },
      { id, identities: [{ ...own, subject: 'ada' }] },
    ]
    for (const line of wrong) {
      const name = file({ email: 'good@example.com' }, line)
      const { exit, stdout, stderr } = await run(`import ${name}`)
      t.strictSame([exit, /line 2: /.test(stderr)], [1, true], `${JSON.stringify(line)} ${stderr}`)
      t.notMatch(stdout + stderr, 'hidden')
      t.equal(await store.findByEmail('good@example.com'), null)
    }
    const [broken, long] = ['{"email":', `{"name":"${'x'.repeat(2 ** 21)}"}`]
    for (const [text, reason] of [
      [broken, /line 2: /],
      [long, /1 MiB/],
    ] as const) {
      const name = file()
      writeFileSync(name, `{"email":"good@example.com"}\n${text}`)
      t.match(await run(`import ${name}`), { exit: 1, stderr: reason })
      t.equal(await store.findByEmail('good@example.com'), null)
    }
    const twice = { ...address, identities: [other] }
    for (const again of [address, { email: 'x@example.com', identities: [other] }]) {
      t.match(await json(`import ${file(twice, again)}`), { wrong: 1, imported: 0 })
    }
    const several = { email: 'owner@example.com', id: id.replace('0', '1') }
    t.match(await json(`import ${file(several)}`), { present: 1, wrong: 0 })
    t.match(await json(`import ${file(...Array.from({ length: 30 }, () => 7))}`), {
      wrong: 30,
      problems: { length: 20 },
    })
    t.match(await run('import none.jsonl'), { exit: 1, stderr: /ENOENT/ })
    t.match(await run('import -'), { exit: 2 })
  })

  await t.test('an import stores what is right, and can be run again', async (t) => {
    const google = { provider: 'google', issuer: 'https://google.example', subject: '9' }
    const uuid = 'A'.repeat(8) + id.slice(8)
    const lines = [
      {
        email: 'Eve@Example.com',
        passwordHash: hash,
        name: 'Eve\u2028x',
        roles: ['a'],
        plan: 'pro',
      },
      { identities: [google], createdAt: '2020-01-02T03:04:05.678Z', handle: 'same' },
      { id: uuid, email: null, createdAt: '2020-01-02', plan: 'pro' },
    ]
    t.match(await json(`import ${file(...lines)}`), { ok: true, imported: 3, present: 0 })
    t.match(await store.findByEmail('eve@example.com'), {
      password: hash,
      roles: ['a'],
      plan: 'pro',
    })
    const at = new Date('2020-01-02T03:04:05.678Z')
    const found = await store.findByIdentity(google.issuer, google.subject)
    t.match(found, { email: null, createdAt: at, plan: 'free' })
    t.match((await run('list')).stdout, /no address/)
    t.match(await store.find(uuid.toLowerCase()), { createdAt: new Date('2020-01-02') })
    t.match(await json(`import ${file(...lines)}`), { ok: true, imported: 0, present: 3 })

    const foreign = { email: 'django@example.com', passwordHash: 'pbkdf2_sha256$1$a$b' }
    t.match(await run(`import ${file(foreign)}`), { exit: 1 })
    t.match(await run(`import ${file(foreign)} --any-hash`), { exit: 0 })

    const piping = [7, { email: 'f@example.com', handle: 'same' }, { email: 'g@example.com' }]
    const text = `\ufeff${piping.map((each) => JSON.stringify(each)).join('\r\n')}\r\n\r\n`
    const piped1 = await run('import - --skip', piped(text))
    t.match(piped1, { exit: 0, stdout: /^1 user imported, 0 .*, 2 lines left out/ })
    t.match(piped1.stderr, /line 1: .*\nline 2: .*shop_users_handle_key/)
    t.ok(await store.findByEmail('g@example.com'))
  })

  await t.test('an import goes on after a failure, and checks all batches first', async (t) => {
    const many = Array.from({ length: 2500 }, (_, at) => ({ email: `n${at}@example.com` }))
    t.match(await json(`import ${file(...many, 7)}`), { imported: 0, wrong: 1 })
    await pool.query(`CREATE FUNCTION away() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE 'away' USING ERRCODE = '57P01'; END $$;
      CREATE TRIGGER away BEFORE INSERT ON shop_users FOR EACH ROW
      WHEN (NEW.email = 'n1500@example.com') EXECUTE FUNCTION away()`)
    t.match(
      await run(`import - --skip`, piped(many.map((each) => JSON.stringify(each)).join('\n'))),
      {
        exit: 1,
        stderr: /57P01/,
      },
    )
    await pool.query('DROP TRIGGER away ON shop_users')
    t.match(await json(`import ${file(...many)}`), { imported: 1500, present: 1000 })
    const stderr = Object.assign(new Written(), { isTTY: true })
    t.match(await cli(`users import ${file(...many)} --prefix shop`, { env, stderr }), { exit: 0 })
    for (const words of ['2500 lines checked', '2500 lines stored']) t.match(stderr.text, words)
  })
})
