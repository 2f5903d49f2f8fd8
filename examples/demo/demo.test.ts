// program: demo, in npm run test:all
import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import { hashPassword } from 'fastify-authn'
import { buildApp } from './app.js'
import { banner } from './banner.js'
import { readSettings } from './config.js'
import { explain, StartError } from './errors.js'
import type { KeptMail } from './mailbox.js'
import { prepareKeys } from './keys.js'
import { openDatabase } from './database.js'
import { createUserService, demoUsers, newcomer, seedUsers } from './users.js'
import { admin, environment, headerOf, secret, settingsFor, startDemo } from '../support/demo.js'
import { basic, bearer, expectAnswer, login } from '../support/requests.js'
import { visitor } from '../../test/helpers/openid-provider.js'
import { unlessFound } from '../../test/helpers/programs.js'
import { nodeArguments, programOf, root } from '../../test/helpers/project.js'
import { keys, privatePem } from '../../test/helpers/tokens.js'

/** For all tests that are not about keys: making a key of RSA takes long. */
const keysDir = t.testdir()

const [alice, bob] = demoUsers
const profiles = {
  alice: { id: 1, name: 'alice', email: 'alice@example.org', role: 'editor' },
  bob: { id: 2, name: 'bob', email: 'bob@example.org', role: 'author' },
}
const hello = { title: 'Hello', text: 'A note that anyone can read.', published: true }
const published = [
  { id: 2, owner: 'alice', ...hello },
  { id: 4, owner: 'bob', ...hello },
]
const noCredentials = { error: 'Invalid or missing authentication header.' }
const wrongCredentials = { error: 'Invalid credentials.' }
const wrongToken = { error: 'Your authentication token is invalid.' }
const notAccepted = { error: 'This route does not accept these credentials.' }
const noScope = { error: 'Your credentials do not allow this action.' }
const noRole = { error: 'You are not allowed to do this.' }
const noNote = { error: 'You have no such note.' }
const bearerChallenge = 'Bearer realm="Authorization required"'

t.test('the routes of the demo answer as its README says', async (t) => {
  const settings = settingsFor(environment(keysDir))
  const database = await openDatabase(settings)
  const app = await buildApp(settings, database)
  t.teardown(() => app.close())
  const token = await login(t, app, '/login', alice)
  const counts = async (): Promise<{ users: number; notes: number }> => {
    const response = await app.inject({ url: '/admin/stats', headers: basic(admin) })
    const { users, notes } = response.json<{ users: number; notes: number }>()
    return { users, notes }
  }

  await t.test('printRoutes() prints examples/demo/routes.txt', async (t) => {
    const kept = new URL('./routes.txt', import.meta.url)
    // Is the change meant? Then copy what was printed into the file.
    t.equal(app.authn.printRoutes(), readFileSync(kept, 'utf8').replaceAll('\r', ''))
  })

  await t.test('a login with JSON or a form returns a token, a wrong password a 401', async (t) => {
    const answer = expectAnswer(t, app)
    t.match(headerOf(token), { alg: 'HS256' })

    const form = await app.inject({
      method: 'POST',
      url: '/login',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: `username=${bob.name}&password=${bob.password}`,
    })
    t.equal(form.statusCode, 200)
    const headers = bearer(form.json<{ token: string }>().token)
    await answer({ url: '/me', headers }, 200, profiles.bob)

    const payload = { username: alice.name, password: bob.password }
    await answer({ method: 'POST', url: '/login', payload }, 401, wrongCredentials)
  })

  await t.test('each route accepts its credentials and rejects others', async (t) => {
    const [rs256, es256] = [
      await login(t, app, '/rs256/login', alice),
      await login(t, app, '/es256/login', bob),
    ]
    t.match([headerOf(rs256), headerOf(es256)], [{ alg: 'RS256' }, { alg: 'ES256' }])
    const broken = bearer('broken')
    const mixed = basic({ name: bob.name, password: alice.password })
    const welcome = { name: 'fastify-authn demo', login: 'POST /login' }
    const anonymous = { reader: null, notes: published }
    const text = `# Shopping\n\nTea, and no cake that says "eat me".\n\n# Hello\n\n${hello.text}\n`
    const rows: [url: string, headers: Record<string, string>, status: number, body: unknown][] = [
      ['/', {}, 200, welcome],
      ['/', broken, 200, welcome],
      ['/me', token, 200, profiles.alice],
      ['/me', rs256, 401, wrongToken],
      ['/greeting', {}, 200, { greeting: 'Hello, stranger!' }],
      ['/greeting', token, 200, { greeting: 'Hello, alice!' }],
      ['/greeting', broken, 401, wrongToken],
      ['/feed', {}, 200, anonymous],
      ['/feed', broken, 200, anonymous],
      ['/feed', token, 200, { reader: 'alice', notes: published }],
      ['/account', basic(bob), 200, profiles.bob],
      ['/account', mixed, 401, wrongCredentials],
      ['/export', token, 200, text],
      ['/export', basic(bob), 200, text],
      ['/admin/stats', basic(alice), 401, wrongCredentials],
      ['/admin/health', {}, 200, { status: 'ok' }],
      ['/rs256/me', rs256, 200, profiles.alice],
      ['/rs256/me', token, 401, notAccepted],
      ['/es256/me', es256, 200, { user: profiles.bob, scope: 'notes:read' }],
      ['/es256/me', token, 401, notAccepted],
    ]
    const answer = expectAnswer(t, app)
    for (const [url, headers, status, body] of rows) await answer({ url, headers }, status, body)
    const stats = await app.inject({ url: '/admin/stats', headers: basic(admin) })
    const hashing = { running: 0 }
    t.match(stats.json(), { admin: 'root', users: 2, notes: 4, authn: { hashing } })
  })

  await t.test('a note is made with a token that has the scope, and a 403 without', async (t) => {
    const answer = expectAnswer(t, app)
    const before = await counts()
    const payload = { title: 'Tea', text: 'At five.' }
    const request = { method: 'POST', url: '/es256/notes', payload } as const
    const headers = await login(t, app, '/es256/login', bob)
    await answer({ ...request, headers }, 403, noScope, {
      'www-authenticate': `${bearerChallenge}, error="insufficient_scope", error_description="The token lacks the required scope", scope="notes:write"`,
    })
    await answer(request, 401, noCredentials)
    t.strictSame(await counts(), before, 'no handler ran')

    const writer = await login(t, app, '/es256/login', alice)
    const created = { id: 5, owner: 'alice', ...payload, published: false }
    await answer({ ...request, headers: writer }, 201, created, { location: '/notes/5' })
    await answer({ method: 'DELETE', url: '/notes/5', headers: token }, 204, '')
    t.strictSame(await counts(), before)
  })

  await t.test('an editor deletes a published note, an author gets a 403', async (t) => {
    const answer = expectAnswer(t, app)
    const request = { method: 'DELETE', url: '/notes/published/4' } as const
    const author = await login(t, app, '/login', bob)
    for (const headers of [basic(bob), author]) await answer({ ...request, headers }, 403, noRole)
    await answer(request, 401, noCredentials)
    await answer({ url: '/notes/published' }, 200, published)

    await answer({ ...request, headers: token }, 204, '')
    await answer({ url: '/notes/published' }, 200, published.slice(0, 1))
    const gone = { error: 'There is no such note.' }
    await answer({ ...request, headers: basic(alice) }, 404, gone)
    const restore = { method: 'PUT', url: '/notes/4', headers: author, payload: hello } as const
    await answer(restore, 200, published[1])
  })

  await t.test('users change their own notes, and get a 404 for those of others', async (t) => {
    const answer = expectAnswer(t, app)
    const before = await counts()
    const [payload, headers] = [{ title: 'Tea', text: 'At five.' }, token]
    for (const method of ['GET', 'PUT', 'DELETE'] as const)
      await answer({ method, url: '/notes/1', payload }, 401, noCredentials)

    const own = { url: '/notes/6', headers }
    const created = { id: 6, owner: 'alice', ...payload, published: false }
    const location = { location: own.url }
    await answer({ method: 'POST', url: '/notes', headers, payload }, 201, created, location)
    await answer(own, 200, created)
    const content = { title: 'Milk', text: '', published: true }
    const replaced = { id: 6, owner: 'alice', ...content }
    await answer({ ...own, method: 'PUT', payload: content }, 200, replaced)
    await answer({ url: '/notes/published' }, 200, [...published, replaced])
    const list = (await app.inject({ url: '/notes', headers })).json<unknown[]>()
    t.match([list.length, ...list], [3, { id: 1, title: 'Shopping' }, { id: 2 }, replaced])
    await answer({ ...own, method: 'DELETE' }, 204, '')
    for (const url of [own.url, '/notes/4']) {
      for (const method of ['GET', 'PUT', 'DELETE'] as const)
        await answer({ method, url, headers, payload: content }, 404, noNote)
    }
    t.strictSame(await counts(), before)
  })

  await t.test('a note or an id that the database would reject gets a 400', async (t) => {
    const notes = [
      { title: '', text: '' },
      { title: 'x'.repeat(201), text: '' },
      { title: 'a', text: 'a\u0000b' },
    ].map((payload) => ({ method: 'POST', url: '/notes', payload }) as const)
    const ids = ['0', '-1', 'a', '2147483648', '1e99', '1.5', '%00']
    for (const request of [...notes, ...ids.map((id) => ({ url: `/notes/${id}` }))]) {
      const { statusCode, body } = await app.inject({ ...request, headers: token })
      t.match([statusCode, JSON.parse(body)], [400, { code: 'FST_ERR_VALIDATION' }], request.url)
    }
    t.match(await counts(), { notes: 4 })
  })

  await t.test('an API key works for the notes of its owner until it is revoked', async (t) => {
    const answer = expectAnswer(t, app)
    const make = (url: string, headers: Record<string, string>, payload: object) =>
      app.inject({ method: 'POST', url, headers, payload })
    const statusOf = async (url: string): Promise<number> =>
      (await app.inject({ url, headers })).statusCode
    const wanted = { name: 'backup', scopes: ['notes:read'], days: 30 }
    const made = await make('/keys', token, wanted)
    t.match([made.statusCode, made.headers['cache-control']], [201, 'no-store'])
    const { key, id } = made.json<{ key: string; id: string }>()
    t.match(key, /^demo_[\dA-Za-z]{54}$/)
    const headers = bearer(key)
    t.match((await app.inject({ url: '/notes', headers })).json(), [{ owner: 'alice' }, {}])
    t.equal((await make('/notes', headers, { title: 'a', text: '' })).statusCode, 403)
    // Where people log in, and where keys are made, a key is none.
    for (const url of ['/me', '/keys', '/app/notes', '/app/keys', '/rs256/me']) {
      t.equal(await statusOf(url), 401, url)
    }
    t.equal((await make('/keys', headers, wanted)).statusCode, 401)

    const more = { ...wanted, scopes: ['notes:read', 'admin'] }
    t.equal((await make('/keys', token, more)).statusCode, 400)
    const owned = await make('/keys', token, { ...wanted, owner: 'bob' })
    t.equal(owned.json<{ owner: string }>().owner, 'alice', 'whatever the body says')

    const other = await login(t, app, '/login', bob)
    const none = { error: 'You have no such key that works.' }
    await answer({ url: '/keys', headers: other }, 200, [], { 'cache-control': 'no-store' })
    const revoke = { method: 'DELETE', url: `/keys/${id}` } as const
    await answer({ ...revoke, headers: other }, 404, none)
    const rotate = { method: 'POST', url: `/keys/${id}/rotate`, headers: other } as const
    await answer({ ...rotate, payload: {} }, 404, none)
    await answer({ ...revoke, headers: token }, 204, '')
    t.equal(await statusOf('/notes'), 401)
  })

  await t.test('the API document shows how a key is made', async (t) => {
    const { paths } = (await app.inject('/docs/json')).json<{ paths: Record<string, unknown> }>()
    const schema = { properties: { key: { type: 'string' }, createdAt: { format: 'date-time' } } }
    t.match(paths['/keys/'], {
      post: {
        requestBody: { content: { 'application/json': { example: { days: 30 } } } },
        responses: { 201: { content: { 'application/json': { schema } } } },
      },
    })
  })

  await t.test('pages of the demo load without scripts or styles of elsewhere', async (t) => {
    const statusOf = async (url: string): Promise<number> => (await app.inject(url)).statusCode
    const home = await app.inject({ url: '/', headers: { accept: 'text/html,*/*' } })
    t.match([home.statusCode, home.headers.location], [302, '/app/'])
    for (const file of [
      '',
      'page.js',
      'fastify-authn-browser.js',
      'accounts.js',
      'mailbox.js',
      'keys.js',
      'elements.js',
      'page.css',
    ]) {
      const { statusCode, headers } = await app.inject(`/app/${file}`)
      t.equal(statusCode, 200, file)
      t.match(headers['content-security-policy'], /^default-src 'none'; script-src 'self';/)
    }
    const { body } = await app.inject('/app/')
    t.notMatch(body, /<script(?![^>]* src=)|<style| style=| on\w+=|javascript:|https?:/)
    const script = (await app.inject('/app/page.js')).body
    for (const { name, password } of demoUsers)
      t.match(script, `'${name}', password: '${password}'`)

    const links = [...body.matchAll(/href="(\/(?:docs|pages)[^"]*)"/g)].map(([, url]) =>
      String(url),
    )
    t.ok(links.length > 5)
    links.push('/pages/docs/README.md', '/pages/docs/images/demo-page.png', '/pages/README.md')
    for (const url of links) t.ok((await statusOf(url)) < 400, url)
    const page = (await app.inject('/pages/docs/README.md')).body
    t.match(page, /<a href="guides\/access\.md">/)
    t.notMatch(page, /<script|<style| style=/)
    const missing = ['package.json', 'docs/../package.json', 'docs/nothing.md']
    for (const file of missing) t.equal(await statusOf(`/pages/${file}`), 404, file)
  })

  await t.test('the session routes work for the user of the cookie only', async (t) => {
    const login = async ({ name, password }: { name: string; password: string }) => {
      const payload = { username: name, password }
      const response = await app.inject({ method: 'POST', url: '/app/login', payload })
      t.equal(response.body, '{"expiresIn":300}')
      const cookie = response.cookies.map((each) => `${each.name}=${each.value}`).join('; ')
      return { cookie, 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' }
    }
    const [mine, other] = [await login(alice), await login(bob)]
    const list = async (headers: Record<string, string>) =>
      (await app.inject({ url: '/app/sessions', headers })).json<{ sid: string }[]>()
    t.match(await list(mine), [{ address: '127.0.0.1', isThis: true }])
    const statusOf = async (
      method: 'GET' | 'POST' | 'DELETE',
      url: string,
      headers: Record<string, string> = mine,
    ): Promise<number> => (await app.inject({ method, url, headers })).statusCode
    const [[own], [theirs]] = [await list(mine), await list(other)]
    t.equal(await statusOf('DELETE', `/app/sessions/${theirs?.sid}`), 404, 'of another user')
    t.equal((await list(other)).length, 1)
    const evil = { ...mine, origin: 'https://evil.example' }
    t.equal(await statusOf('POST', '/app/notes', evil), 403)
    const unpublish = '/app/notes/published/99'
    t.equal(await statusOf('DELETE', unpublish), 404)
    t.equal(await statusOf('DELETE', unpublish, other), 403)
    const anonymous = await app.inject({ method: 'DELETE', url: unpublish })
    t.notMatch(anonymous.headers['www-authenticate'], 'Basic', 'no prompt of the browser')
    t.equal(await statusOf('DELETE', `/app/sessions/${own?.sid}`), 204)
    t.equal(await statusOf('GET', '/app/me'), 401)
  })

  await t.test('users are added once, and a new hash replaces only the one it was', async (t) => {
    const users = createUserService(database)
    const hashOf = async (name: string): Promise<string | undefined> =>
      (await users.findByUsername(name, {} as FastifyRequest))?.password ?? undefined
    const [strong, other] = [await hashOf('alice'), await hashOf('bob')]
    t.match(strong, /^\$2b\$05\$/)
    const weak = await hashPassword(alice.password, { cost: 4 })
    for (const [previous, now] of [
      [other, strong],
      [strong, weak],
    ]) {
      const user = { ...profiles.alice, password: '' }
      await users.updatePasswordHash?.(user, weak, previous ?? '')
      t.equal(await hashOf('alice'), now)
    }
    await seedUsers(database, settings.passwordCost)
    t.strictSame([await hashOf('alice'), await hashOf('bob')], [weak, other], 'seeded once')
    t.match(await counts(), { users: 2, notes: 4 })
  })
})

t.test('accounts: a login by address is one of the name, and no name is used again', async (t) => {
  const app = await startDemo(t, environment(keysDir))
  const post = (path: string, payload: object, cookie = '') =>
    app.inject({ method: 'POST', url: `/app/${path}`, payload, headers: { cookie } })
  const cookieOf = ({ cookies }: { cookies: { name: string; value: string }[] }): string =>
    cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
  const mails = async () => (await app.inject('/app/mails')).json<KeptMail[]>()
  /** Signs up, and gives the cookie. */
  const signUp = async (email: string): Promise<string> => {
    t.equal((await post('sign-up', { email })).statusCode, 202)
    const [{ open, to } = { open: null, to: '' }] = await mails()
    t.equal(to, email.toLowerCase())
    const [path, token] = String(open).split('#')
    t.equal((await app.inject(String(path))).headers['content-type'], 'text/html; charset=utf-8')
    const finished = await post('sign-up/finish', { token, password })
    t.equal(finished.statusCode, 200)
    t.equal((await post('sign-up/finish', { token, password })).statusCode, 400, 'works once')
    return cookieOf(finished)
  }
  const me = async (cookie: string) =>
    (await app.inject({ url: '/app/me', headers: { cookie } })).json()
  const sessionsOf = async (cookie: string) =>
    (await app.inject({ url: '/app/sessions', headers: { cookie } })).json<unknown[]>().length

  // By name, by address and with the provider: the same sub, and so one list of sessions.
  const { name, email } = profiles.alice
  const byName = await post('login', { username: name, password: alice.password })
  const byAddress = await post('login', { username: 'Alice@example.org', password: alice.password })
  t.equal(await sessionsOf(cookieOf(byName)), 2)
  for (const path of ['/login', '/rs256/login', '/es256/login']) {
    const headers = await login(t, app, path, { name: email, password: alice.password })
    const profile = await app.inject({ url: `${path.replace('login', '')}me`, headers })
    t.match(profile.body, '"name":"alice"', path)
  }

  const password = 'a long passphrase of mine'
  const carol = await signUp('Carol.Jones@example.org')
  const profile = {
    id: 3,
    name: 'carol-jones-3',
    email: 'carol.jones@example.org',
    role: 'author',
    hasPassword: true,
  }
  t.strictSame(await me(carol), profile)
  const made = await post('keys', { name: 'a', scopes: ['notes:read'], days: 1 }, carol)
  t.match(made.json(), { owner: profile.name, createdAt: /T/, lastUsedAt: null, key: /^demo_/ })
  const headers = bearer(made.json<{ key: string }>().key)
  t.equal((await app.inject({ url: '/notes', headers })).statusCode, 200)
  t.equal((await post('account/delete', { currentPassword: password }, carol)).statusCode, 204)
  t.equal((await app.inject({ url: '/notes', headers })).statusCode, 401, 'the key is dead')
  t.match((await mails())[0], { subject: 'Your account was deleted', open: null })
  const next = await me(await signUp('carol.jones@example.org'))
  t.match(next, { email: profile.email, name: /^carol-jones-[4-9]$/ })

  // Also the name of a user of the demo, who is there again after a restart.
  const cookie = cookieOf(byAddress)
  const kept = await post('keys', { name: 'a', scopes: ['notes:read'], days: 1 }, cookie)
  await post('account/delete', { currentPassword: alice.password }, cookie)
  const keys = await app.authn.apiKeys.list('alice')
  t.match(keys, [{ id: kept.json<{ id: string }>().id, revokedAt: Date }])
})

t.test('keys, tokens and notes are still there after a restart', async (t) => {
  const directory = t.testdir()
  const keysDir = join(directory, 'keys')
  const env = environment(keysDir, { DEMO_DATA_DIR: join(directory, 'new', 'data') })
  const files = ['rsa.pem', 'ecdsa.pem'].map((name) => join(keysDir, name))
  const read = (): string[] => files.map((file) => readFileSync(file, 'utf8'))

  const first = await startDemo(t, env)
  const pem = read()
  t.match(pem, [/^-----BEGIN PRIVATE KEY-----/, /^-----BEGIN PRIVATE KEY-----/])
  if (process.platform !== 'win32') {
    const modes = [...files, keysDir].map((path) => statSync(path).mode & 0o777)
    t.strictSame(modes, [0o600, 0o600, 0o700])
  }
  const token = await login(t, first, '/rs256/login', alice)
  const payload = { title: 'Kept', text: '', published: true }
  const headers = await login(t, first, '/login', alice)
  const created = await first.inject({ method: 'POST', url: '/notes', headers, payload })
  t.equal(created.statusCode, 201)
  await first.close()

  const second = await startDemo(t, env)
  const answer = expectAnswer(t, second)
  t.strictSame(read(), pem, 'the keys are not replaced')
  await answer({ url: '/rs256/me', headers: token }, 200, profiles.alice)
  await answer({ url: '/notes/published' }, 200, [
    ...published,
    { id: 5, owner: 'alice', ...payload },
  ])
})

t.test('keys of the environment are used, and none is generated', async (t) => {
  const keysDir = join(t.testdir(), 'keys')
  const [rsa, ecdsa] = [privatePem(keys.rsa.privateKey), privatePem(keys.p256.privateKey)]
  const given = { AUTH_JWT_RSA_PRIVATE: rsa, AUTH_JWT_ECDSA_PRIVATE: ecdsa }
  const found = await prepareKeys(readSettings(environment(keysDir, given)))
  t.strictSame(found, { secret, rsa: { private: rsa }, ecdsa: { private: ecdsa } })
  t.notOk(existsSync(keysDir))
})

t.test('a database that fails is a 500, never a 401', async (t) => {
  let works = true
  let closed = 0
  const app = await buildApp(settingsFor(environment(keysDir)), {
    query: async () => {
      if (!works) throw new Error('connection to 10.0.0.7 lost')
      return []
    },
    close: async () => void (closed += 1),
  })
  const answer = expectAnswer(t, app)
  const failure = { error: 'Something went wrong here.' }
  await answer({ url: '/admin/health' }, 200, { status: 'ok' })
  works = false
  await answer({ url: '/admin/health' }, 500, failure)
  await answer({ url: '/account', headers: basic(alice) }, 500, failure)
  const payload = { username: alice.name, password: alice.password }
  await answer({ method: 'POST', url: '/login', payload }, 500, failure)
  works = true
  await answer({ url: '/account', headers: basic(alice) }, 401, wrongCredentials)
  await app.close()
  t.equal(closed, 1)
})

t.test('startup fails with a reason for a weak secret and an unreachable database', async (t) => {
  let closed = 0
  const database = { query: async () => [], close: async () => void (closed += 1) }
  const settings = settingsFor(environment(keysDir, { AUTH_JWT_SECRET: 'short' }))
  await t.rejects(buildApp(settings, database), { code: 'ERR_AUTH_KEY', message: /jwt\.secret/ })
  t.equal(closed, 1, 'the database is closed')

  // Nothing listens on port 1.
  const DATABASE_URL = 'postgres://me:my-password@127.0.0.1:1/demo'
  const error: unknown = await openDatabase(readSettings({ DATABASE_URL })).catch(
    (reason: unknown) => reason,
  )
  t.match(error, { name: 'StartError', message: /^DATABASE_URL is set, but .*ECONNREFUSED/ })
  t.notMatch(explain(error), 'my-password')
})

t.test('settings come from the environment, and are generated where it is empty', async (t) => {
  const settings = readSettings({})
  t.match(settings, {
    host: '127.0.0.1',
    port: 3000,
    jwt: { secret: /^[\w-]{43}$/ },
    basic: { username: 'admin', password: /^[\w-]{16}$/ },
    passwordCost: 10,
    madeUp: { secret: true, basic: true },
  })
  t.not(readSettings({}).jwt.secret, settings.jwt.secret, 'another one for each run')

  const given = { PORT: '0', DEMO_DATA_DIR: '/data', AUTH_JWT_EXPIRY: '60' }
  t.match(readSettings(environment('/keys', given)), {
    port: 0,
    dataDir: '/data',
    jwt: { secret, expiry: 60 },
    basic: { username: admin.name, password: admin.password },
    madeUp: { secret: false, basic: false },
  })

  for (const PORT of ['-1', '65536', '3000x']) {
    t.throws(() => readSettings({ PORT }), { name: 'StartError', message: /^PORT is / })
  }
  t.throws(() => readSettings({ LOG_LEVEL: 'loud' }), { message: /^LOG_LEVEL is "loud"/ })
  t.throws(() => readSettings({ AUTH_JWT_EXPIRY: 'long' }), { code: 'ERR_AUTH_OPTION' })
})

t.test('users log in with the demo provider, which ends with the demo', async (t) => {
  const app = await startDemo(t, environment(keysDir))
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  const start = `${origin}/app/login/demo`
  const provider = new URL((await visitor().open(start)).headers.get('location') ?? '').origin
  for (const { name } of demoUsers) {
    const { choose, open } = visitor()
    const response = await open(await choose(start, name))
    t.match([response.status, response.headers.get('location')], [303, '/app/?provider=demo'])
    t.match(await (await open(`${origin}/app/me`)).json(), { name })
  }
  for (const visit of ['first', 'second']) {
    const { choose, open } = visitor()
    await open(await choose(start, newcomer))
    const profile = await (await open(`${origin}/app/me`)).json()
    t.match(profile, { id: 3, name: newcomer, email: null, hasPassword: false }, visit)
  }
  const { choose, open } = visitor()
  const cancelled = await open(await choose(start, ''))
  const failure = '/app/?error=ERR_AUTH_LOGIN_DENIED&provider=demo'
  t.equal(cancelled.headers.get('location'), failure)
  t.equal((await open(`${origin}/app/me`)).status, 401)
  await app.close()
  await t.rejects(fetch(provider), TypeError, 'the provider is closed')
})

t.test('the banner shows users and commands, and no secret of the environment', async (t) => {
  const address = 'http://127.0.0.1:3000'
  const madeUp = readSettings({})
  const text = banner(address, madeUp)
  t.match(text, 'alice / wonderland-1865 (editor), bob / builder-1999 (author)')
  t.match(text, `-u admin:${madeUp.basic.password} ${address}/admin/stats`)
  t.notMatch(text, String(madeUp.jwt.secret))
  t.notMatch(text, 'Warning')
  t.notMatch(text, '\u001b', 'no colours without a terminal')

  const given = { HOST: '::', DATABASE_URL: 'postgres://me:hidden@db/demo' }
  const guarded = banner('http://[::]:3000', readSettings(environment('/keys', given)))
  t.match(guarded, "-u root 'http://[::]:3000/admin/stats'")
  t.match(guarded, /Warning +anyone who reaches ::/)
  for (const hidden of [secret, admin.password, 'hidden']) t.notMatch(guarded, hidden)
})

/** Runs the program of the demo, which has to end with 0 after a signal. */
function run(t: Test, more: Record<string, string>) {
  const own = /^(?:AUTH_|DEMO_|(?:DATABASE_URL|HOST|PORT|LOG_LEVEL)$)/
  const kept = Object.entries(process.env).filter(([name]) => !own.test(name))
  const env = { ...Object.fromEntries(kept), NO_COLOR: '1', NO_PROXY: '*', PORT: '0', ...more }
  const args = [...nodeArguments, programOf('examples/demo/main.ts')]
  const child = spawn(process.execPath, args, { cwd: root, env })
  t.teardown(() => child.kill('SIGKILL'))
  const printed = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed.out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (printed.err += text))
  const closed = once(child, 'close')
  return {
    printed,
    async address(): Promise<string> {
      while (!printed.out.includes('Ctrl-C') && child.exitCode === null) await sleep(25)
      return / listens on (http:.*)$/m.exec(printed.out)?.[1] ?? `none: ${printed.err}`
    },
    async stop(signal: NodeJS.Signals): Promise<void> {
      child.kill(signal)
      await closed
      t.strictSame([child.exitCode, printed.err], [0, ''], `the end after ${signal}`)
      t.match(printed.out, /\nClosed\.\n$/)
    },
  }
}

const skip = process.platform === 'win32' ? 'needs bash' : unlessFound('curl')

t.test(
  'the lines that the demo prints work, and its tokens outlive Ctrl-C',
  { skip },
  async (t) => {
    const directory = { DEMO_KEYS_DIR: join(t.testdir(), 'keys') }
    const first = run(t, directory)
    const address = await first.address()
    const lines = first.printed.out.match(/(?<=^ {2})(?:curl |TOKEN=|KEY=).*$/gm) ?? []
    t.equal(lines.length, 29)
    const pasted = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', lines.join('\n')])
    t.equal(pasted.stdout.split('\n').filter((line) => line.includes('"error"')).length, 4)
    for (const part of [
      'HTTP/1.1 401 Unauthorized',
      'authentification est absent',
      'HTTP/1.1 403 Forbidden',
      '{"id":1,"name":"alice","email":"alice@example.org","role":"editor"}',
      '"title":"Tea"',
      'Hello, stranger!',
      'Hello, alice!',
      '"reader":null',
      '# Shopping',
      '"admin":"admin"',
      '{"status":"ok"}',
      '"device":"curl","isThis":true',
      '"scope":"notes:read notes:write"',
      'HTTP/1.1 204 No Content',
    ])
      t.ok(pasted.stdout.includes(part), part)
    const { name, password } = alice
    const body = new URLSearchParams({ username: name, password })
    const login = await fetch(`${address}/rs256/login`, { method: 'POST', body })
    const { token } = (await login.json()) as { token: string }

    // A browser holds a connection open, on which it has sent nothing.
    const socket = connect(Number(new URL(address).port), '127.0.0.1')
    await once(socket, 'connect')
    socket.on('error', () => undefined)
    await first.stop('SIGINT')
    socket.destroy()
    // The keys of RSA stay, the secret is a new one.
    const AUTH_JWT_SECRET = randomBytes(32).toString('base64url')
    const second = run(t, { ...directory, AUTH_JWT_SECRET })
    const me = await fetch(`${await second.address()}/rs256/me`, { headers: bearer(token) })
    t.match(await me.json(), { name: 'alice' })
    await second.stop('SIGTERM')
    t.notMatch(second.printed.out, AUTH_JWT_SECRET)
  },
)

t.test('explain() says how to mend an error at startup', async (t) => {
  const listening = { syscall: 'listen', address: '127.0.0.1', port: 80 }
  const rows: [error: unknown, explained: RegExp][] = [
    [{ ...listening, code: 'EADDRINUSE' }, /127\.0\.0\.1, port 80.*PORT=3001 npm start/],
    [{ ...listening, code: 'EACCES' }, /1023/],
    [{ ...listening, code: 'EADDRNOTAVAIL' }, /^HOST/],
    [{ code: 'ERR_AUTH_OPTION' }, /^no$/],
    [{ code: 'EACCES', path: '/x' }, /^no$/],
  ]
  for (const [more, expected] of rows) {
    t.match(explain(Object.assign(new Error('no'), more)), expected)
  }
  t.equal(explain(new StartError('PORT is wrong.')), 'PORT is wrong.')
  t.match(explain(new TypeError('a bug')), /^TypeError: a bug\n\s+at /)
  t.equal(explain('a string'), 'a string')
})
