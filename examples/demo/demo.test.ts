// program: demo, in npm run test:all
import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { buildApp } from './app.js'
import { banner } from './banner.js'
import { readSettings } from './config.js'
import { explain, StartError } from './errors.js'
import type { KeptMail } from './mailbox.js'
import { prepareKeys } from './keys.js'
import { openDatabase } from './database.js'
import { demoUsers } from './people.js'
import { admin, environment, algorithmOf, secret, settingsFor, startDemo } from '../support/demo.js'
import { basic, bearer, expectAnswer, login } from '../support/requests.js'
import { unlessFound } from '../../test/helpers/programs.js'
import { nodeArguments, programOf, root } from '../../test/helpers/project.js'
import { keys, privatePem } from '../../test/helpers/tokens.js'

/** For all tests that are not about keys: making a key of RSA takes long. */
const keysDir = t.testdir()

const [alice, bob] = demoUsers
/** What `request.user` shows of a user, as JSON. */
async function profileOf({ authn }: FastifyInstance, email: string) {
  const { disabledAt: _, ...shown } = { ...(await authn.users.findByEmail(email)) }
  return { ...shown, createdAt: shown.createdAt?.toJSON() }
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

type Row = [
  request: string,
  headers: Record<string, string>,
  status: number,
  body: unknown,
  payload?: object,
  answered?: Record<string, unknown>,
]

/** Sends requests one after the other, each of which has to be answered so. */
async function expectRows(t: Test, app: FastifyInstance, rows: readonly Row[]): Promise<void> {
  const answer = expectAnswer(t, app)
  for (const [request, headers, status, body, payload, answered] of rows) {
    const [method = '', url = ''] = request.split(' ')
    const sent = { method: method as 'GET', url, headers, ...(method !== 'GET' && { payload }) }
    await answer(sent, status, body, answered)
  }
}

const cookieOf = ({ cookies }: { cookies: { name: string; value: string }[] }): string =>
  cookies.map(({ name, value }) => `${name}=${value}`).join('; ')

t.test('the routes of the demo answer as its README says', async (t) => {
  const settings = settingsFor(environment(keysDir))
  const database = await openDatabase(settings)
  const app = await buildApp(settings, database)
  t.teardown(() => app.close())
  const profiles = {
    alice: await profileOf(app, alice.email),
    bob: await profileOf(app, bob.email),
  }
  const token = await login(t, app, '/login', alice)
  const author = await login(t, app, '/login', bob)
  const rs256 = await login(t, app, '/rs256/login', alice)
  const reader = await login(t, app, '/es256/login', bob)
  const writer = await login(t, app, '/es256/login', alice)
  const stats = async (): Promise<object> =>
    (await app.inject({ url: '/admin/stats', headers: basic(admin) })).json()

  await t.test('printRoutes() prints examples/demo/routes.txt', async (t) => {
    const kept = new URL('./routes.txt', import.meta.url)
    // Is the change meant? Then copy what was printed into the file.
    t.equal(app.authn.printRoutes(), readFileSync(kept, 'utf8').replaceAll('\r', ''))
  })

  await t.test('each route accepts its credentials and rejects others', async (t) => {
    t.strictSame([token, rs256, reader].map(algorithmOf), ['HS256', 'RS256', 'ES256'])
    const broken = bearer('broken')
    const mixed = { ...bob, password: alice.password }
    const welcome = { name: 'fastify-authn demo', login: 'POST /login' }
    const anonymous = { reader: null, notes: published }
    const text = `# Shopping\n\nTea, and no cake that says "eat me".\n\n# Hello\n\n${hello.text}\n`
    await expectRows(t, app, [
      ['GET /', {}, 200, welcome],
      ['GET /', broken, 200, welcome],
      ['POST /login', {}, 401, wrongCredentials, { email: bob.email, password: 'wrong' }],
      ['GET /me', token, 200, profiles.alice],
      ['GET /me', author, 200, profiles.bob],
      ['GET /me', rs256, 401, wrongToken],
      ['GET /greeting', {}, 200, { greeting: 'Hello, stranger!' }],
      ['GET /greeting', token, 200, { greeting: 'Hello, alice!' }],
      ['GET /greeting', broken, 401, wrongToken],
      ['GET /feed', {}, 200, anonymous],
      ['GET /feed', broken, 200, anonymous],
      ['GET /feed', token, 200, { reader: 'alice', notes: published }],
      ['GET /account', basic(bob), 200, profiles.bob],
      ['GET /account', basic(mixed), 401, wrongCredentials],
      ['GET /export', token, 200, text],
      ['GET /export', basic(bob), 200, text],
      ['GET /admin/stats', basic(alice), 401, wrongCredentials],
      ['GET /admin/health', {}, 200, { status: 'ok' }],
      ['GET /rs256/me', rs256, 200, profiles.alice],
      ['GET /rs256/me', token, 401, notAccepted],
      ['GET /es256/me', reader, 200, { user: profiles.bob, scope: 'notes:read' }],
      ['GET /es256/me', token, 401, notAccepted],
    ])
    t.match(await stats(), { admin: 'root', users: 2, notes: 4, authn: {} })
  })

  await t.test('scopes, roles and owners decide what happens to notes', async (t) => {
    const tea = { title: 'Tea', text: 'At five.' }
    const made = (id: number) => ({ id, owner: 'alice', ...tea, published: false })
    const milk = { title: 'Milk', text: '', published: true }
    const replaced = { id: 6, owner: 'alice', ...milk }
    const scope = {
      'www-authenticate': `Bearer realm="Authorization required", error="insufficient_scope", error_description="The token lacks the required scope", scope="notes:write"`,
    }
    const shared = '/notes/published'
    const others = ['/notes/6', '/notes/4'].flatMap((url): Row[] => [
      [`GET ${url}`, token, 404, noNote],
      [`PUT ${url}`, token, 404, noNote, milk],
      [`DELETE ${url}`, token, 404, noNote],
    ])
    await expectRows(t, app, [
      ['POST /es256/notes', {}, 401, noCredentials, tea],
      ['POST /es256/notes', reader, 403, noScope, tea, scope],
      ['POST /es256/notes', writer, 201, made(5), tea, { location: '/notes/5' }],
      ['DELETE /notes/5', token, 204, ''],
      [`DELETE ${shared}/4`, {}, 401, noCredentials],
      [`DELETE ${shared}/4`, basic(bob), 403, noRole],
      [`DELETE ${shared}/4`, author, 403, noRole],
      [`GET ${shared}`, {}, 200, published],
      [`DELETE ${shared}/4`, token, 204, ''],
      [`GET ${shared}`, {}, 200, published.slice(0, 1)],
      [`DELETE ${shared}/4`, basic(alice), 404, { error: 'There is no such note.' }],
      ['PUT /notes/4', author, 200, published[1], hello],
      ['GET /notes/1', {}, 401, noCredentials],
      ['POST /notes', token, 201, made(6), tea, { location: '/notes/6' }],
      ['GET /notes/6', token, 200, made(6)],
      ['PUT /notes/6', token, 200, replaced, milk],
      [`GET ${shared}`, {}, 200, [...published, replaced]],
      ['DELETE /notes/6', token, 204, ''],
      ...others,
    ])
    t.match(await stats(), { users: 2, notes: 4 })
  })

  await t.test('a note or an id that the database would reject gets a 400', async (t) => {
    const rejected = async (method: 'GET' | 'POST', url: string, payload?: object) => {
      const response = await app.inject({
        method,
        url,
        headers: token,
        ...(payload && { payload }),
      })
      t.match([response.statusCode, response.json()], [400, { code: 'FST_ERR_VALIDATION' }], url)
    }
    for (const title of ['', 'x'.repeat(201), 'a\u0000b'])
      await rejected('POST', '/notes', { title, text: '' })
    for (const id of ['0', '-1', 'a', '2147483648', '1e99', '1.5', '%00'])
      await rejected('GET', `/notes/${id}`)
  })

  await t.test('an API key works for the notes of its owner until it is revoked', async (t) => {
    const make = async (scopes: string[]) => {
      const payload = { name: 'backup', scopes, days: 30, owner: 'bob' }
      return app.inject({ method: 'POST', url: '/keys', headers: token, payload })
    }
    t.equal((await make(['notes:read', 'admin'])).statusCode, 400)
    const made = await make(['notes:read'])
    t.match([made.statusCode, made.headers['cache-control']], [201, 'no-store'])
    const owner = profiles.alice.id
    t.match(made.json(), { owner, key: /^demo_[\dA-Za-z]{54}$/ }, 'not the owner of the body')
    const { key, id } = made.json<{ key: string; id: string }>()
    const headers = bearer(key)
    t.match((await app.inject({ url: '/notes', headers })).json(), [{ owner: 'alice' }, {}])
    // Where people log in, and where keys are made, a key is none.
    for (const url of ['/me', '/keys', '/app/notes', '/app/keys', '/rs256/me'])
      t.equal((await app.inject({ url, headers })).statusCode, 401, url)
    const none = { error: 'You have no such key that works.' }
    await expectRows(t, app, [
      ['POST /notes', headers, 403, noScope, { title: 'a', text: '' }],
      ['GET /keys', author, 200, [], {}, { 'cache-control': 'no-store' }],
      [`DELETE /keys/${id}`, author, 404, none],
      [`POST /keys/${id}/rotate`, author, 404, none, {}],
      [`DELETE /keys/${id}`, token, 204, ''],
    ])
    t.equal((await app.inject({ url: '/notes', headers })).statusCode, 401)
  })

  await t.test('pages of the demo load without scripts or styles of elsewhere', async (t) => {
    const statusOf = async (url: string): Promise<number> => (await app.inject(url)).statusCode
    const home = await app.inject({ url: '/', headers: { accept: 'text/html,*/*' } })
    t.match([home.statusCode, home.headers.location], [302, '/app/'])
    const files = ['', 'page.js', 'page.css', 'fastify-authn-browser.js', 'accounts.js', 'users.js']
    for (const file of [...files, 'login', 'mailbox.js', 'elements.js', 'keys.js']) {
      const { statusCode, headers } = await app.inject(`/app/${file}`)
      t.equal(statusCode, 200, file)
      t.match(headers['content-security-policy'], /^default-src 'none'; script-src 'self';/)
    }
    const { body } = await app.inject('/app/')
    t.notMatch(body, /<script(?![^>]* src=)|<style| style=| on\w+=|javascript:|https?:/)
    const script = (await app.inject('/app/page.js')).body
    for (const { email, password } of demoUsers)
      t.match(script, `'${email}', password: '${password}'`)

    const links = body.match(/(?<=href=")\/(?:docs|pages)[^"]*(?=")/g) ?? []
    t.ok(links.length > 5)
    const images = ['/pages/docs/images/demo-page.png', '/pages/README.md']
    for (const url of [...links, ...images]) t.ok((await statusOf(url)) < 400, url)
    const page = (await app.inject('/pages/docs/README.md')).body
    t.match(page, /<a href="guides\/access\.md">/)
    t.notMatch(page, /<script|<style| style=/)
    const missing = ['package.json', 'docs/../package.json', 'docs/nothing.md']
    for (const file of missing) t.equal(await statusOf(`/pages/${file}`), 404, file)
  })

  await t.test('the session routes work for the user of the cookie only', async (t) => {
    const headersOf = async ({ email, password }: (typeof demoUsers)[number]) => {
      const payload = { email, password }
      return { cookie: cookieOf(await app.inject({ method: 'POST', url: '/app/login', payload })) }
    }
    const [mine, theirs] = [await headersOf(alice), await headersOf(bob)]
    const list = async (headers: Record<string, string>) =>
      (await app.inject({ url: '/app/sessions', headers })).json<{ sid: string }[]>()
    const sessions = await list(mine)
    t.match(sessions, [{ address: '127.0.0.1', isThis: true }])
    const revoke = { method: 'DELETE', url: `/app/sessions/${sessions[0]?.sid}` } as const
    t.equal((await app.inject({ ...revoke, headers: theirs })).statusCode, 404, 'of another user')
    t.equal((await app.inject({ ...revoke, headers: mine })).statusCode, 204)
    const unpublish = { method: 'DELETE', url: '/app/notes/published/99', headers: mine } as const
    const anonymous = await app.inject(unpublish)
    t.equal(anonymous.statusCode, 401)
    t.notMatch(anonymous.headers['www-authenticate'], 'Basic', 'no prompt of the browser')
  })

  await t.test('an admin disables a user, and the page says so at the login', async (t) => {
    const post = (url: string, payload: object, cookie = '') =>
      app.inject({ method: 'POST', url: `/app/${url}`, payload, headers: { cookie } })
    const enter = ({ email, password }: (typeof demoUsers)[number]) =>
      post('login', { email, password })
    const [admin, other] = [cookieOf(await enter(alice)), cookieOf(await enter(bob))]
    const url = `admin/users/${profiles.bob.id}`
    t.equal((await post(`${url}/disable`, {}, other)).statusCode, 403, 'by a user without the role')
    t.equal((await post(`${url}/disable`, {}, admin)).statusCode, 204)
    const statusOf = async (url: string, headers: Record<string, string>) =>
      (await app.inject({ url, headers })).statusCode
    t.equal(await statusOf('/app/me', { cookie: other }), 401)
    // The other registrations have the same users.
    t.equal(await statusOf('/me', author), 401)
    t.match((await enter(bob)).json(), { error: /suspended/ })
    t.equal((await post(`${url}/enable`, {}, admin)).statusCode, 204)
    t.equal((await enter(bob)).statusCode, 200)
  })
})

t.test('accounts: each user has an id, which sessions and API keys belong to', async (t) => {
  const app = await startDemo(t, environment(keysDir))
  const post = (path: string, payload: object, cookie = '') =>
    app.inject({ method: 'POST', url: `/app/${path}`, payload, headers: { cookie } })
  const get = async <T>(path: string, headers: Record<string, string> = {}) =>
    (await app.inject({ url: path, headers })).json<T>()
  const password = 'a long passphrase of mine'
  t.equal((await post('sign-up', { email: 'Carol.Jones@example.org' })).statusCode, 202)
  const [mail] = await get<KeptMail[]>('/app/mails')
  const email = 'carol.jones@example.org'
  t.equal(mail?.to, email)
  const [, token] = String(mail?.open).split('#')
  const cookie = cookieOf(await post('sign-up/finish', { token, password }))
  const profile = { ...(await profileOf(app, email)), hasPassword: true }
  t.match(profile, { id: /^[\da-f-]{36}$/, name: 'carol.jones', roles: [] })
  t.strictSame(await get('/app/me', { cookie }), profile)
  for (const path of ['', '/rs256', '/es256']) {
    const headers = await login(t, app, `${path}/login`, { name: '', email, password })
    t.match((await app.inject({ url: `${path}/me`, headers })).body, '"name":"carol.jones"', path)
  }

  const wanted = { name: 'a', scopes: ['notes:read'], days: 1 }
  const { key } = (await post('keys', wanted, cookie)).json<{ key: string }>()
  const statusOfKey = async () =>
    (await app.inject({ url: '/notes', headers: bearer(key) })).statusCode
  t.equal(await statusOfKey(), 200)
  t.equal((await post('account/delete', { currentPassword: password }, cookie)).statusCode, 204)
  t.equal(await statusOfKey(), 401, 'the key is dead')
  t.match(await get('/app/mails'), [{ subject: 'Your account was deleted', open: null }, {}])
})

t.test('a user logs in by the link or the code of a mail, and an admin does not', async (t) => {
  const app = await startDemo(t, environment(keysDir))
  const post = (path: string, payload: object) =>
    app.inject({ method: 'POST', url: `/app/login/${path}`, payload })
  const asked = async (email: string) => {
    const response = await post('mail', { email })
    t.equal(response.statusCode, 202)
    const mails = (await app.inject('/app/mails')).json<KeptMail[]>()
    return { ...response.json<{ token: string; sign: string }>(), mails }
  }
  t.strictSame((await asked(alice.email)).mails, [])
  for (const by of ['link', 'code']) {
    const { token: own, sign, mails } = await asked(bob.email)
    const [mail] = mails
    t.equal(mail?.to, bob.email)
    t.ok(mail?.subject.includes(sign))
    t.ok(mail?.text.includes('127.0.0.1'))
    const [page, token] = String(mail?.open).split('#')
    t.equal((await app.inject(String(page))).statusCode, 200)
    const code = /\d{6}/.exec(String(mail?.text))?.[0]
    const payload = by === 'link' ? { token } : { token: own, code }
    const cookie = cookieOf(await post('mail/finish', payload))
    t.match((await app.inject({ url: '/app/me', headers: { cookie } })).json(), { name: 'bob' })
    t.equal((await post('mail/finish', payload)).statusCode, 401, 'it was used')
  }
})

t.test('keys and notes are still there after a restart', async (t) => {
  const directory = t.testdir()
  const keysDir = join(directory, 'keys')
  const env = environment(keysDir, { DEMO_DATA_DIR: join(directory, 'new', 'data') })
  const files = ['rsa.pem', 'ecdsa.pem'].map((name) => join(keysDir, name))
  const read = (): string[] => files.map((file) => readFileSync(file, 'utf8'))
  const first = await startDemo(t, env)
  const pem = read()
  if (process.platform !== 'win32') {
    const modes = [...files, keysDir].map((path) => statSync(path).mode & 0o777)
    t.strictSame(modes, [0o600, 0o600, 0o700])
  }
  const note = { title: 'Kept', text: '', published: true }
  const kept = { id: 5, owner: 'alice', ...note }
  await expectRows(t, first, [
    ['POST /notes', await login(t, first, '/login', alice), 201, kept, note],
  ])
  await first.close()

  const second = await startDemo(t, env)
  t.strictSame(read(), pem, 'the keys are not replaced')
  // Users are added once.
  t.equal((await second.authn.users.list()).users.length, 2)
  await expectRows(t, second, [['GET /notes/published', {}, 200, [...published, kept]]])
})

t.test('a database that fails is a 500 or a 503, never a 401, and is closed at last', async (t) => {
  let works = true
  let closed = 0
  const database = {
    query: async () => {
      if (!works) throw new Error('connection to 10.0.0.7 lost')
      return []
    },
    close: async () => void (closed += 1),
  }
  const app = await buildApp(settingsFor(environment(keysDir)), database)
  works = false
  const failure = { error: 'Something went wrong here.' }
  const unavailable = { error: 'The server is busy. Please try again later.' }
  const credentials = { email: alice.email, password: alice.password }
  await expectRows(t, app, [
    ['GET /admin/health', {}, 500, failure],
    ['GET /account', basic(alice), 503, unavailable],
    ['POST /login', {}, 503, unavailable, credentials],
  ])
  await app.close()
  t.equal(closed, 1)

  works = true
  const weak = settingsFor(environment(keysDir, { AUTH_JWT_SECRET: 'short' }))
  await t.rejects(buildApp(weak, database), { code: 'ERR_AUTH_KEY' })
  t.equal(closed, 2, 'also where startup fails')
  // Nothing listens on port 1.
  const DATABASE_URL = 'postgres://me:my-password@127.0.0.1:1/demo'
  const unreachable = openDatabase(readSettings({ DATABASE_URL }))
  const error: unknown = await unreachable.catch((reason: unknown) => reason)
  t.match(explain(error), /^DATABASE_URL is set, but .*ECONNREFUSED/)
  t.notMatch(explain(error), 'my-password')
})

t.test('settings come from the environment, and are generated where it is empty', async (t) => {
  const settings = readSettings({})
  t.match(settings, { host: '127.0.0.1', port: 3000, passwordCost: 10 })
  t.match(settings.jwt.secret, /^[\w-]{43}$/)
  t.match(settings.basic, { username: 'admin', password: /^[\w-]{16}$/ })
  t.strictSame(settings.madeUp, { secret: true, basic: true })
  t.not(readSettings({}).jwt.secret, settings.jwt.secret, 'another one for each run')
  const variables = { PORT: '0', DEMO_DATA_DIR: '/data', AUTH_JWT_EXPIRY: '60' }
  const given = readSettings(environment('/keys', variables))
  t.match(given, { port: 0, dataDir: '/data', jwt: { secret, expiry: 60 } })
  t.strictSame(given.basic, { username: admin.name, password: admin.password })
  t.strictSame(given.madeUp, { secret: false, basic: false })
  for (const PORT of ['-1', '65536', '3000x'])
    t.throws(() => readSettings({ PORT }), { name: 'StartError', message: /^PORT is / })
  t.throws(() => readSettings({ LOG_LEVEL: 'loud' }), { message: /^LOG_LEVEL is "loud"/ })

  const keysDir = join(t.testdir(), 'keys')
  const [rsa, ecdsa] = [privatePem(keys.rsa.privateKey), privatePem(keys.p256.privateKey)]
  const pem = { AUTH_JWT_RSA_PRIVATE: rsa, AUTH_JWT_ECDSA_PRIVATE: ecdsa }
  const found = await prepareKeys(readSettings(environment(keysDir, pem)))
  t.strictSame(found, { secret, rsa: { private: rsa }, ecdsa: { private: ecdsa } })
  t.notOk(existsSync(keysDir), 'no key is generated')
})

t.test('the demo provider ends with the demo', async (t) => {
  const app = await startDemo(t, environment(keysDir))
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  const sent = await fetch(`${origin}/app/login/demo`, { redirect: 'manual' })
  const provider = new URL(sent.headers.get('location') ?? '').origin
  t.ok((await fetch(provider)).status < 500)
  await app.close()
  await t.rejects(fetch(provider), TypeError)
})

t.test('the banner shows users and commands, and no secret of the environment', async (t) => {
  const address = 'http://127.0.0.1:3000'
  const madeUp = readSettings({})
  const text = banner(address, madeUp)
  t.match(
    text,
    'alice@example.org / wonderland-1865 (admin, editor), bob@example.org / builder-1999 (author)',
  )
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

t.test('the printed lines work, and tokens outlive Ctrl-C', { skip }, async (t) => {
  const folder = t.testdir()
  const directory = { DEMO_KEYS_DIR: join(folder, 'keys'), DEMO_DATA_DIR: join(folder, 'data') }
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
    '"email":"alice@example.org","name":"alice","roles":["admin","editor"]',
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
  const { email, password } = alice
  const body = new URLSearchParams({ email, password })
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
})

t.test('explain() says how to mend an error at startup', async (t) => {
  const listening = { syscall: 'listen', address: '127.0.0.1', port: 80 }
  const rows: [error: object, explained: RegExp][] = [
    [{ ...listening, code: 'EADDRINUSE' }, /127\.0\.0\.1, port 80.*PORT=3001 npm start/],
    [{ ...listening, code: 'EACCES' }, /1023/],
    [{ ...listening, code: 'EADDRNOTAVAIL' }, /^HOST/],
    [{ code: 'ERR_AUTH_OPTION' }, /^no$/],
    [{ code: 'EACCES', path: '/x' }, /^no$/],
  ]
  for (const [more, expected] of rows)
    t.match(explain(Object.assign(new Error('no'), more)), expected)
  t.equal(explain(new StartError('PORT is wrong.')), 'PORT is wrong.')
  t.match(explain(new TypeError('a bug')), /^TypeError: a bug\n\s+at /)
  t.equal(explain('a string'), 'a string')
})
