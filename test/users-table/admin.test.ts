// program: its own
// The admin API: what each route changes and shows, who may call it, and what is rejected.
import { randomUUID } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { answerOf, newPassword } from '../helpers/accounts.js'
import { basic, bearer } from '../helpers/app.js'
import type { Headers } from '../helpers/client.js'
import { movableClock } from '../helpers/load.js'
import { claimsOf, eventsOf } from '../helpers/sessions.js'
import { usersApp, watchedStore } from '../helpers/users-app.js'
import { authn, type AuthMark, type UsersOptions } from '../../lib/index.js'
import { memoryUsers } from '../../lib/users-table/index.js'
import { fastify, secret } from '../helpers/app.js'

const auth = { role: 'admin' }
const invalid = '400 FST_ERR_VALIDATION'
const own = '409 ERR_AUTH_OWN_ACCOUNT'
const unknown = '404 ERR_AUTH_NOT_FOUND'
const changes = ['', '/disable', '/enable', '/log-out', '/second-factor/disable', '/remove']

async function adminApp(t: Test, users: Partial<UsersOptions> = {}, options: object = {}) {
  const found = await usersApp(t, { admin: { auth }, ...users }, options)
  const root = await found.create('root@example.com', { roles: ['admin'] })
  const bob = await found.create('bob@example.com', { name: 'Bob', plan: 'free' })
  const jar = await found.enter('root@example.com')
  const at = (path: string): string => `/admin/users${path}`
  return {
    ...found,
    root,
    bob,
    jar,
    ask: (path: string, body: object | string = {}, headers: Headers = jar) =>
      found.send(at(path), body, headers),
    get: (path: string, headers: Headers = jar) => found.app.inject({ url: at(path), headers }),
    row: (id: string) => found.store.find(id),
  }
}

t.test('users are listed by the filters of a query, and what is wrong is a 400', async (t) => {
  const { get, bob, root, ask } = await adminApp(t)
  await ask(`/${bob}/disable`)
  const idsOf = async (query: string) =>
    (await get(query)).json<{ users: { id: string }[] }>().users.map(({ id }) => id)
  const cases: [string, string[]][] = [
    ['', [bob, root]],
    ['?limit=200', [bob, root]],
    ['?email=BO', [bob]],
    ['?email=%25', []],
    ['?email=', [bob, root]],
    ['?role=admin', [root]],
    ['?disabled=true', [bob]],
    ['?disabled=false&limit=1', [root]],
  ]
  for (const [query, ids] of cases) t.strictSame(await idsOf(query), ids, query)
  const { next } = (await get('?limit=1')).json<{ next: string }>()
  t.strictSame(await idsOf(`?limit=1&after=${next}`), [root])
  const wrong =
    'limit=0 limit=201 limit=1e1 limit=-1 limit= limit limit=1&limit=1 disabled=1 disabled= disabled=TRUE after=no after= role= other=1 __proto__=1 email=%00 role=%0a email=%ED%A0%80%07'
  for (const query of wrong.split(' ')) t.equal(answerOf(await get(`?${query}`)), invalid, query)
})

t.test('a user is shown without secrets', async (t) => {
  const { app, bob, get, enter, connect, enable, addPasskey, row, lines, jar } = await adminApp(t)
  const headers = await enter('bob@example.com')
  await connect(headers, '7')
  await addPasskey((await enable(headers)).headers)
  const shown = (await get(`/${bob}`)).json<Record<string, object[]>>()
  t.match(shown, {
    id: bob,
    email: 'bob@example.com',
    name: 'Bob',
    plan: 'free',
    roles: [],
    disabledAt: null,
    hasPassword: true,
    hasSecondFactor: true,
    identities: [{ provider: 'corp', subject: '7', created: String }],
  })
  t.strictSame(Object.keys(shown.passkeys?.[0] ?? {}), ['id', 'name', 'created', 'lastUsed'])
  t.strictSame(
    shown.sessions,
    JSON.parse(JSON.stringify(await app.authn.sessions.list(bob))) as unknown,
  )
  const { password, secondFactor } = (await row(bob)) ?? {}
  const told = [JSON.stringify(shown), (await get('')).body, lines.join('')].join('')
  const secrets = [password, secondFactor, newPassword, ...Object.values(jar)].map(String)
  for (const each of secrets) t.notOk(told.includes(each))
  for (const each of ['password', 'secondFactor']) t.notOk(Object.hasOwn(shown, each))
})

t.test('each change is made, told and answered', async (t) => {
  const { bob, ask, row, actions, enter, me, enable, logIn } = await adminApp(t)
  const told = eventsOf(t, 'secondFactor')
  const headers = await enter('bob@example.com')
  const { headers: strong } = await enable(headers)
  t.equal(await ask(`/${bob}`, { roles: ['editor'], name: null }), '204')
  t.match(await row(bob), { roles: ['editor'], name: null, plan: 'free' })
  t.equal(await ask(`/${bob}/enable`), '204')
  t.equal(await me(strong), 200, 'who is not disabled stays logged in')
  t.equal(await ask(`/${bob}/log-out`), '204')
  t.equal(await me(strong), 401)
  for (let twice = 0; twice < 2; twice += 1) {
    t.equal(await ask(`/${bob}/disable`), '204')
    t.equal(await ask(`/${bob}/second-factor/disable`), '204')
  }
  t.match(await row(bob), { disabledAt: Date, secondFactor: null })
  t.match(told.at(-1), { action: 'disabled', sub: bob })
  t.equal(told.filter(({ action }) => action === 'disabled').length, 1)
  t.equal(await ask(`/${bob}/enable`), '204')
  t.equal((await logIn('bob@example.com')).statusCode, 200)
  t.equal(await ask(`/${bob}/remove`), '204')
  t.equal(await row(bob), null)
  t.strictSame(actions(), ['updated', 'disabled', 'enabled', 'removed'])
})

t.test('a second factor is removed although others change it meanwhile', async (t) => {
  let lost = 3
  const users = memoryUsers()
  const table = users.open()
  const store = watchedStore(async (method) => {
    if (method !== 'swap' || lost === 0) return
    lost -= 1
    const [{ id, secondFactor } = { id: '' }] = (await table.list({ limit: 1 })).users
    await table.swap(
      id,
      { secondFactor: `changed ${lost}` },
      { secondFactor: secondFactor ?? null },
    )
  }, users)
  const { bob, ask } = await adminApp(t, { store })
  await table.swap(bob, { secondFactor: 'a' }, {})
  t.equal(await ask(`/${bob}/second-factor/disable`), '204')
  t.match([lost, (await table.find(bob))?.secondFactor], [0, null])
})

t.test('users are created, or invited where the option accounts is set', async (t) => {
  const newUser = ({ admin, email }: { admin?: object; email: string | null }) => ({
    plan: `of ${email} ${JSON.stringify(admin)}`,
  })
  const given = { email: ' Eve@Example.com ', name: 'Eve', roles: ['editor'] }
  const plan = 'of eve@example.com {"name":"Eve","roles":["editor"]}'
  const user = { email: 'eve@example.com', name: 'Eve', roles: ['editor'], plan }
  const alone = await adminApp(t, { newUser }, { accounts: undefined })
  const response = await alone.post('/admin/users', given, alone.jar)
  t.equal(response.statusCode, 201)
  t.match(response.json(), { ...user, disabledAt: null })
  t.notOk(Object.hasOwn(response.json(), 'password'))

  const mailing = await adminApp(t, { newUser })
  t.equal(await mailing.ask('', given), '202 {}')
  t.equal(await mailing.store.findByEmail(user.email), null)
  const [mail] = await mailing.mails()
  t.equal(mail?.kind, 'invitation')
  const password = newPassword
  t.match(await mailing.send('/sign-up/finish', { token: mail?.token, password }), /^200/)
  t.match(await mailing.store.findByEmail(user.email), user)

  for (const { ask, bob } of [alone, mailing]) {
    await ask(`/${bob}/disable`)
    for (const email of ['bob@example.com', 'EVE@example.com'])
      t.equal(await ask('', { email }), '409 ERR_AUTH_ACCOUNT_EXISTS')
  }
  t.strictSame(await mailing.mails(), [])
})

t.test(
  'an invitation ends with the admin who has sent it, and is short enough to be used',
  async (t) => {
    for (const end of ['disable', 'remove'] as const) {
      const { app, ask, mails, send, root } = await adminApp(t)
      t.equal(await ask('', { email: 'eve@example.com', roles: ['admin'] }), '202 {}')
      const [mail] = await mails()
      await app.authn.users[end](root, null)
      const finish = { token: mail?.token, password: newPassword }
      t.equal(await send('/sign-up/finish', finish), '400 ERR_AUTH_LINK_INVALID', end)
      t.equal(await app.authn.users.findByEmail('eve@example.com'), null)
    }
    const { ask, mails } = await adminApp(t)
    const roles = Array.from({ length: 40 }, (_, at) => `${at}${'\u6f22'.repeat(90)}`)
    t.match(await ask('', { email: 'fay@example.com', roles }), /^400/)
    t.strictSame(await mails(), [])
  },
)

t.test('what users.newUser makes of an admin’s user is checked too', async (t) => {
  for (const roles of ['admin', [1], ['a\0'], {}]) {
    const { ask, store } = await adminApp(
      t,
      { newUser: () => ({ roles }) },
      { accounts: undefined },
    )
    t.equal(await ask('', { email: 'eve@example.com' }), '403 ERR_AUTH_FORBIDDEN')
    t.equal(await store.findByEmail('eve@example.com'), null)
  }
})

t.test('bodies are strict, and an id is one that the table can have', async (t) => {
  const seen: string[] = []
  const store = watchedStore((method) => void seen.push(method))
  const { bob, ask, get, row, lines, jar } = await adminApp(t, { store })
  const before = await row(bob)
  const bodies: [string, unknown][] = [
    ['name', 'a'.repeat(201)],
    ['name', 'a\0'],
    ['name', '\ud800'],
    ['name', 1],
    ['roles', 'admin'],
    ['roles', null],
    ['roles', ['']],
    ['roles', [1]],
    ['roles', ['a\n']],
    ['roles', ['a'.repeat(101)]],
    ['roles', Array.from({ length: 101 }, () => 'a')],
    ['email', 'x@example.com'],
    ['password', 'a'],
    ['disabledAt', null],
  ]
  for (const [name, value] of bodies) {
    t.equal(await ask(`/${bob}`, { [name]: value }), invalid, name)
    if (name !== 'email')
      t.equal(await ask('', { email: 'x@example.com', [name]: value }), invalid, name)
  }
  for (const email of [undefined, null, 1, '', 'x', 'a@b@c', '\0@example.com'])
    t.equal(await ask('', { email }), invalid)
  const typed = { ...jar, 'content-type': 'application/json' }
  for (const path of changes) {
    t.equal(await ask(`/${bob}${path}`, { 'secret member': 1 }), invalid, path)
    t.equal(await ask(`/${bob}${path}`, '[]', typed), invalid)
    t.equal(await ask(`/${randomUUID()}${path}`), unknown, path)
  }
  t.equal(answerOf(await get(`/${randomUUID()}`)), unknown)
  t.strictSame(await row(bob), before)
  t.notMatch(lines.join(''), /secret member|"level":(?:50|60)/)
  for (const id of [bob.toUpperCase(), bob.replaceAll('-', ''), 'x', '%00', '%F0%9F%98%80', '1']) {
    seen.length = 0
    t.equal(answerOf(await get(`/${id}`)), unknown, id)
    for (const path of changes) t.equal(await ask(`/${id}${path}`), unknown, `${id}${path}`)
    t.ok(seen.every((method) => method === 'find'))
    t.equal(seen.length, 7, 'only the admin is looked up')
  }
})

t.test('admins cannot lock themselves out by mistake', async (t) => {
  const { root, ask, row, me, jar } = await adminApp(t)
  const before = await row(root)
  for (const body of [{ roles: [] }, { roles: ['admin'] }, { name: 'Root', roles: ['admin'] }])
    t.equal(await ask(`/${root}`, body), own)
  for (const path of ['/disable', '/second-factor/disable', '/remove'])
    t.equal(await ask(`/${root}${path}`), own, path)
  t.strictSame(await row(root), before)
  t.equal(await me(jar), 200)
  t.equal(await ask(`/${root}`, { name: 'Root' }), '204')
  t.match(await row(root), { name: 'Root', roles: ['admin'] })
  t.equal(await ask(`/${root}/log-out`), '204')
  t.equal(await me(jar), 401)
})

t.test('only a session of an admin will do', async (t) => {
  const mark = { ...auth, use: ['jwt', 'basic', 'apiKey'] } as AuthMark
  const { app, root, bob, ask, get, row, jar, enter } = await adminApp(t, { admin: { auth: mark } })
  const [, token = ''] = /token=([^;]+)/.exec(String(jar.cookie)) ?? []
  const claims = claimsOf(token)
  const issue = (changed: object) =>
    bearer(app.jwtService.generateTokenWithClaims(changed as never))
  const { key } = await app.authn.apiKeys.issue({
    owner: root,
    name: 'job',
    scopes: [],
    expiresAt: null,
  })
  const forbidden = '403 ERR_AUTH_FORBIDDEN'
  const cases: [string, Headers, string][] = [
    ['nothing', {}, '401 ERR_AUTH_NO_CREDENTIALS'],
    ['another user', await enter('bob@example.com'), forbidden],
    ['Basic', basic('root@example.com', newPassword), forbidden],
    ['an API key', bearer(key), forbidden],
    ['no session', bearer(app.jwtService.generateToken(root)), forbidden],
    ['act', issue({ ...claims, act: { sub: bob } }), forbidden],
  ]
  const before = JSON.stringify([await row(root), await row(bob)])
  for (const [title, headers, answer] of cases) {
    for (const path of ['', `/${bob}`]) t.equal(answerOf(await get(path, headers)), answer, title)
    for (const path of ['', ...changes.map((each) => `/${bob}${each}`)]) {
      const body = path === '' ? { email: 'x@example.com' } : {}
      t.equal(await ask(path, body, headers), answer, `${title}: ${path}`)
    }
  }
  const foreign = { ...jar, 'sec-fetch-site': 'cross-site' }
  t.equal(await ask(`/${bob}/remove`, {}, foreign), '403 ERR_AUTH_CROSS_SITE')
  t.equal(JSON.stringify([await row(root), await row(bob)]), before)
})

t.test('a body that is held until the admin is none any more changes nothing', async (t) => {
  const clock = movableClock(t)
  const { app, root, bob, row, store, enter } = await adminApp(t)
  const update = { columns: {} }
  const ends: [string, () => Promise<unknown>, string][] = [
    ['log-out', () => app.authn.sessions.revoke({ sub: root }), '401 ERR_AUTH_JWT_INVALID'],
    ['lost role', () => store.update(root, { ...update, roles: [] }), '403 ERR_AUTH_FORBIDDEN'],
    ['disabled', () => app.authn.users.disable(root, null), '401 ERR_AUTH_JWT_INVALID'],
  ]
  const before = await row(bob)
  for (const [title, end, answer] of ends) {
    for (const path of changes) {
      await app.authn.users.enable(root, null)
      await store.update(root, { ...update, roles: ['admin'] })
      const headers = { ...(await enter('root@example.com')), 'content-type': 'application/json' }
      const payload = new PassThrough()
      payload.write('{')
      const url = `/admin/users/${bob}${path}`
      const response = app.inject({ method: 'POST', url, headers, payload })
      for (let turns = 0; turns < 50; turns += 1) await setImmediate()
      await end()
      await clock.advance(3000)
      payload.end(path === '' ? '"name":"x"}' : '}')
      t.equal(answerOf(await response), answer, `${title}: ${path}`)
    }
  }
  t.strictSame(await row(bob), before)
})

t.test('registrations with one store share its users, each with its own admin API', async (t) => {
  const store = memoryUsers()
  const found = await usersApp(t, { store })
  const { create, enter, me, post } = found
  const inner = fastify(t)
  const more = {
    jwt: { secret },
    sessions: true,
    errorBody: ({ code }: object & { code: string }) => ({ code }),
  }
  const scope = async (each: typeof inner) => {
    await each.register(authn, {
      users: { store, admin: { auth, path: '/staff' } },
      ...more,
    } as never)
  }
  await inner.register(scope, { prefix: '/office' })
  await inner.ready()
  const bob = await create('bob@example.com')
  await create('root@example.com', { roles: ['admin'] })
  const jar = await enter('bob@example.com')
  const login = await inner.inject({
    method: 'POST',
    url: '/office/login',
    payload: { email: 'root@example.com', password: newPassword },
  })
  const headers = bearer(login.json<{ token: string }>().token)
  const url = `/office/staff/${bob}/disable`
  t.equal(answerOf(await inner.inject({ method: 'POST', url, headers })), '204')
  t.equal(await me(jar), 401)
  t.equal((await post(`/office/staff/${bob}/enable`, {}, headers)).statusCode, 404)
})

t.test('a wrong setting makes startup fail, and names the option', async (t) => {
  const start = async (admin: object, declare?: string, more: object = {}) => {
    const app = fastify(t)
    const declared = (): unknown =>
      declare === undefined ? undefined : app.get(declare.slice(1), () => '')
    if (declare?.startsWith('<')) declared()
    const users = { store: memoryUsers(), admin: { auth, ...admin } }
    await app.register(authn, { users, jwt: { secret }, sessions: true, ...more } as never)
    if (declare?.startsWith('>')) declared()
    await app.ready()
  }
  const marks = [true, 'optional', 'try', false, { mfa: true }, { fresh: 60 }, { use: 'jwt' }, {}]
  for (const each of [...marks, { mode: 'optional', role: 'a' }, undefined])
    await t.rejects(start({ auth: each }), /option "users\.admin\.auth"/)
  for (const path of ['', '/', 'admin', '/admin/', '/a?b', '/a#', '/a*', '/a b', 1])
    await t.rejects(start({ path }), { code: 'ERR_AUTH_OPTION', message: /"users\.admin\.path"/ })
  for (const path of ['/admin/users', '/admin/users/:id', '/admin/users/:name'])
    for (const when of ['<', '>'])
      await t.rejects(start({}, when + path), /option "users\.admin\.path"/, when + path)
  await t.rejects(start({ path: '/login' }), /option "users\.admin\.path": POST \/login/)
  for (const more of [{ sessions: false }, { login: false }])
    await t.rejects(start({}, undefined, more), { message: /option "users\.admin" is set/ })
  await start({ auth: { scope: 'users' } }, '>/admin/users/me')
})
