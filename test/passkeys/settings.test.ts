// Who may change the passkeys of a user, and what functions of the app may do wrong.
import t from 'tap'
import type { Passkey, PasskeysOptions } from '../../lib/index.js'
import { answerOf } from '../helpers/accounts.js'
import {
  assertionOf,
  attestationOf,
  base64url,
  be,
  credentialOf,
  up,
  uv,
} from '../helpers/authenticator.js'
import { sessionOf } from '../helpers/client.js'
import { until } from '../helpers/load.js'
import { browser, passkeysApp, passkeysOver, type StoredPasskey } from '../helpers/passkeys.js'
import { eventsOf, sessionApp, storeWith } from '../helpers/sessions.js'
import type { SessionStore } from '../../lib/sessions/index.js'

const forbidden = '403 ERR_AUTH_FORBIDDEN'
const last = '409 ERR_AUTH_PASSKEY_LAST'
const fault = '500 ERR_AUTH_PASSKEYS'
const invalid = '401 ERR_AUTH_JWT_INVALID'

t.test('the last way to log in stays', async (t) => {
  const { post, add, logIn, users, table } = await passkeysApp(t)
  const headers = await logIn(3)
  const ids = []
  for (let count = 0; count < 2; count += 1)
    ids.push((await add(browser(), headers)).json<{ id: string }>().id)
  const remove = async (id?: string) => answerOf(await post('/passkeys/remove', { id }, headers))
  t.equal(await remove(ids[0]), '204')
  t.equal(await remove(ids[0]), '403 ERR_AUTH_PASSKEY_INVALID', 'it is gone')
  const [row] = table
  t.equal(await remove(ids[1]), last)
  t.equal(table[0], row, 'not even for a moment')
  const carol = users[2] as { password: string | null }
  carol.password = '!'
  t.equal(await remove(ids[1]), last, 'no hash')
  carol.password = users[0]?.password ?? null
  t.equal(await remove(ids[1]), '204')
  const corp = { issuer: 'http://127.0.0.1:1', clientId: 'x', username: () => null }
  const other = await passkeysApp(t, {}, { loginWith: { corp }, cookies: { apps: true } })
  const session = await other.post(
    '/begin',
    { id: 3, how: { amr: ['mfa'] } },
    { 'token-delivery': 'body' },
  )
  const own = sessionOf(session)
  const { id } = (await other.add(browser(), own)).json<{ id: string }>()
  t.equal((await other.post('/passkeys/remove', { id }, own)).statusCode, 204, 'a provider')
})

t.test('a hash is no way to log in where no login asks for a password', async (t) => {
  const subject = (user: object) => (user as { id: number }).id
  const login = { usernameField: 'email', subject, passwords: false } as const
  const { post, add } = await passkeysApp(t, {}, { login })
  const headers = sessionOf(await post('/begin', { id: 1, how: { amr: ['mfa'] } }))
  const { id } = (await add(browser(), headers)).json<{ id: string }>()
  t.equal(answerOf(await post('/passkeys/remove', { id }, headers)), last)
})

t.test('a user changes the own passkeys alone, and has a limited number', async (t) => {
  const { app, post, add, logIn, table } = await passkeysApp(t, { most: 1 })
  const headers = await logIn()
  const { id } = (await add(browser(), headers)).json<{ id: string }>()
  t.equal(answerOf(await post('/passkeys/options', {}, headers)), forbidden)
  const bob = await logIn(2)
  for (const url of ['/passkeys/rename', '/passkeys/remove'])
    t.equal(answerOf(await post(url, { id, name: 'x' }, bob)), '403 ERR_AUTH_PASSKEY_INVALID')
  const { token, publicKey } = (await post('/passkeys/options', {}, bob)).json<{
    token: string
    publicKey: { challenge: string }
  }>()
  t.equal((await add(browser(), bob)).statusCode, 201)
  const response = attestationOf(credentialOf(2), publicKey.challenge)
  t.equal(answerOf(await post('/passkeys', { token, response }, bob)), forbidden, 'one at a time')
  t.equal(table.length, 2)
  for (const name of ['x'.repeat(65), 7, 'a\u0000', '\ud800', null])
    t.equal((await post('/passkeys/rename', { id, name }, headers)).statusCode, 400)
  for (const name of ['', 'x'.repeat(64), 'Ключ 🔑'])
    t.equal((await post('/passkeys/rename', { id, name }, headers)).statusCode, 204)
  t.match((await app.inject({ url: '/passkeys', headers })).json(), {
    passkeys: [{ name: 'Ключ 🔑' }],
  })
})

t.test('an app gets the tokens of a passkey in the body if it asks', async (t) => {
  const { add, answer, logIn, post } = await passkeysApp(t)
  const passkey = browser()
  t.equal((await add(passkey, await logIn())).statusCode, 201)
  t.equal(answerOf(await post('/login/passkey', await answer(passkey))), '200 tokens')
  const other = await passkeysApp(t, {}, { cookies: { apps: true } })
  const wish = { 'token-delivery': 'body' }
  const begun = await other.post('/begin', { id: 1, how: { amr: ['pwd'] } }, wish)
  await other.add(passkey, sessionOf(begun))
  const inBody = await other.post('/login/passkey', await other.answer(passkey), wish)
  t.equal(answerOf(inBody), '200 tokens')
  t.strictSame(inBody.cookies, [])
  const ofBrowser = { ...wish, 'sec-fetch-site': 'same-origin' }
  const rejected = await other.post('/login/passkey', await other.answer(passkey), ofBrowser)
  t.equal(answerOf(rejected), '400 ERR_AUTH_TOKEN_DELIVERY')
})

t.test('requests at once leave the last passkey, and add no more than are allowed', async (t) => {
  let waiting: (() => void)[] | null = null
  const table: StoredPasskey[] = []
  const over = passkeysOver(table)
  const options = {
    ...over,
    most: 2,
    /** Where `waiting` is set, two requests get the same answer. */
    async list(user: never) {
      const answer = await over.list(user)
      if (waiting === null) return answer
      await new Promise<void>((resolve) => waiting?.push(resolve))
      return answer
    },
  }
  const { post, add, ask, logIn } = await passkeysApp(t, options)
  const headers = await logIn(3)
  const twice = async (url: string, bodies: object[]) => {
    const held = (waiting = [] as (() => void)[])
    const sent = bodies.map((body) => post(url, body, headers))
    await until(() => held.length === 2, 'both requests')
    waiting = null
    for (const resolve of held) resolve()
    return (await Promise.all(sent)).map(answerOf)
  }
  await add(browser(), headers)
  const asked = [await ask('/passkeys/options', headers), await ask('/passkeys/options', headers)]
  const added = asked.map(({ token, publicKey }) => ({
    token,
    response: browser().create(publicKey),
  }))
  const answers = await twice('/passkeys', added)
  t.ok(answers.includes(forbidden))
  t.equal(table.length, 1 + answers.filter((answer) => answer.startsWith('201')).length)
  if (table.length === 1) await add(browser(), headers)
  const ids = table.map(({ data }) => ({ id: data.id }))
  const removed = await twice('/passkeys/remove', ids)
  t.ok(removed.includes(last))
  t.equal(table.length, removed.filter((answer) => answer === last).length)
  t.equal((await post('/passkeys/options', {}, headers)).statusCode, table.length === 2 ? 403 : 200)
})

t.test('a counter that has not grown is logged, and lets the user in', async (t) => {
  const { ask, post, logIn, lines, table } = await passkeysApp(t)
  const headers = await logIn()
  const credential = credentialOf(1)
  const asked = await ask('/passkeys/options', headers)
  const response = attestationOf(credential, asked.publicKey.challenge, { counter: 5 })
  await post('/passkeys', { token: asked.token, response }, headers)
  const flags = up | uv | be
  for (const [counter, warns] of [
    [6, 0],
    [6, 1],
    [2, 2],
    [0, 3],
    [0, 3],
    [9, 3],
  ] as const) {
    const { token, publicKey } = await ask('/login/passkey/options')
    const response = assertionOf(credential, publicKey.challenge, { counter, flags })
    t.equal((await post('/login/passkey', { token, response })).statusCode, 200)
    t.equal(table[0]?.data.counter, counter)
    t.equal(
      lines.filter((line) => line.includes('counter of a passkey')).length,
      warns,
      String(counter),
    )
  }
})

t.test('a change that others get in the way of is tried again', async (t) => {
  let lost = 0
  const setting = await passkeysApp(t)
  const { table, add, enter, post, logIn } = setting
  const headers = await logIn()
  const passkey = browser()
  const { id } = (await add(passkey, headers)).json<{ id: string }>()
  const row = table[0] as { data: Passkey }
  const list = async () => {
    const found = [row.data]
    if (lost > 0) row.data = { ...row.data, name: `${(lost -= 1)}` }
    return found
  }
  const other = await passkeysApp(t, {
    list,
    update: (_user, after, before) => row.data === before && (row.data = after),
  })
  lost = 4
  t.equal(answerOf(await other.enter(passkey)), '200 tokens')
  t.equal(row.data.name, '0', 'the name of the others')
  lost = 5
  const sent = await other.enter(passkey)
  t.equal(answerOf(sent), '503 ERR_AUTH_OVERLOADED')
  t.equal(sent.headers['retry-after'], '1')
  lost = 4
  t.equal(
    (await other.post('/passkeys/rename', { id, name: 'mine' }, await other.logIn())).statusCode,
    204,
  )
  t.equal(row.data.name, 'mine')
  t.equal(answerOf(await post('/passkeys/rename', { id, name: 'x' }, headers)), '204')
  t.equal(answerOf(await enter(passkey)), '200 tokens')
})

t.test('what the statements resolve to counts as what it says', async (t) => {
  const rowCount = (result: unknown) => ({ command: 'UPDATE', rowCount: Number(Boolean(result)) })
  const table: StoredPasskey[] = []
  const over = passkeysOver(table)
  const { answer, post, add, logIn, lines } = await passkeysApp(t, {
    ...over,
    add: async (...given) => rowCount(await over.add(...given)),
    update: async (...given) => rowCount(await over.update(...given)),
    remove: async (user, id) => {
      const { length } = table
      await over.remove(user, id, false)
      return rowCount(table.length < length)
    },
  })
  const headers = await logIn()
  const passkey = browser()
  const { id } = (await add(passkey, headers)).json<{ id: string }>()
  const body = await answer(passkey)
  const sent = await Promise.all([1, 2, 3].map(() => post('/login/passkey', body)))
  t.equal(sent.filter(({ statusCode }) => statusCode === 200).length, 1, 'a response works once')
  for (const name of ['mine', 'mine'])
    t.equal(answerOf(await post('/passkeys/rename', { id, name }, headers)), '204')
  t.equal(answerOf(await post('/passkeys/remove', { id }, headers)), '204')
  t.notMatch(lines.join(''), /"level":50/)
})

t.test('what says that it was stored or removed, and was not, is an internal error', async (t) => {
  const rows: [what: string, functions: Partial<PasskeysOptions>, name: string][] = [
    ['add stores nothing', { add: () => true }, 'add'],
    ['add has another key under the id', { list: () => [other] }, 'add'],
    ['add returns a text', { add: () => 'OK' as never }, 'add'],
    ['remove removes nothing', { remove: () => ({ count: 0 }) }, 'remove'],
    ['remove returns nothing, and removes nothing', { remove: () => undefined }, 'remove'],
    ['remove returns a text', { remove: () => 'OK' as never }, 'remove'],
  ]
  const other = { id: 'x', publicKey: 'x', counter: 0, at: 0, transports: [] } as never
  for (const [what, functions, name] of rows) {
    const { add, post, logIn, lines } = await passkeysApp(t, functions)
    const headers = await logIn()
    const added = await add(browser(), headers)
    const { id } = added.json<{ id?: string }>()
    const last = name === 'add' ? added : await post('/passkeys/remove', { id }, headers)
    t.equal(answerOf(last), fault, what)
    t.match(lines.join(''), `passkeys.${name}()`, what)
  }
})

t.test(
  'functions of the app that fail are internal errors, or an error for the client',
  async (t) => {
    const data = { id: 'x', publicKey: 'x', counter: 0, at: 0 }
    const fail = () => {
      throw new Error('secret of the database')
    }
    const teapot = () => Object.assign(new Error('no'), { statusCode: 418 })
    const lists: unknown[] = [null, {}, 'x', [null], [JSON.stringify(data)], [{ data }]]
    for (const key of Object.keys(data)) lists.push([{ ...data, [key]: undefined }])
    lists.push([{ ...data, used: '[]' }])
    for (const list of [fail, ...lists.map((value) => () => value)]) {
      const { app, post, logIn } = await passkeysApp(t, { list: list as never })
      const headers = await logIn()
      t.equal((await app.inject({ url: '/passkeys', headers })).statusCode, 500)
      const sent = await post('/passkeys/options', {}, headers)
      t.match(sent.json(), { code: 'ERR_AUTH_PASSKEYS' })
      t.notMatch(sent.body, /secret/)
    }
    const { add, logIn } = await passkeysApp(t, { add: fail })
    t.equal(answerOf(await add(browser(), await logIn())).slice(0, 21), fault.slice(0, 21))
    const other = await passkeysApp(t, { add: teapot })
    t.equal((await other.add(browser(), await other.logIn())).statusCode, 418)
  },
)

t.test('a subject is kept in the passkey', async (t) => {
  const login = (subject: () => string | number) => ({ login: { subject } })
  const users = (sub: string | number) => ({
    findByUsername: (name: string | number) =>
      name === sub || name === 1 ? { id: 1, email: null, password: null } : null,
  })
  for (const [sub, status] of [
    ['ä'.repeat(31), 201],
    ['ä'.repeat(31) + 'x', 500],
    ['"', 201],
    [2 ** 53, 201],
  ] as const) {
    const options = { ...login(() => sub), userService: users(sub) }
    const { ask, post, logIn, enter } = await passkeysApp(t, {}, options)
    const headers = await logIn()
    const asked = await post('/passkeys/options', {}, headers)
    t.equal(asked.statusCode, status === 201 ? 200 : 500, String(sub))
    if (status === 500) continue
    const { user } = asked.json<{ publicKey: { user: { id: string; name: string } } }>().publicKey
    t.equal(user.id, base64url(JSON.stringify(sub)))
    t.equal(user.name, String(sub), 'in place of the address')
    const passkey = browser()
    const { token, publicKey } = await ask('/passkeys/options', headers)
    await post('/passkeys', { token, response: passkey.create(publicKey) }, headers)
    t.equal((await enter(passkey)).statusCode, 200)
  }
})

t.test('support removes all passkeys of a user', async (t) => {
  const removed = eventsOf(t, 'passkey')
  let works = true
  const table: StoredPasskey[] = []
  const over = passkeysOver(table)
  const remove: typeof over.remove = (...given) => (works ? over.remove(...given) : undefined)
  const { app, post, add, logIn, enter } = await passkeysApp(t, { ...over, remove }, {}, (app) =>
    app.post<{ Body: { name: never } }>('/support', async (request) => ({
      removed: await app.authn.passkeys.removeAll(request.body.name, request),
    })),
  )
  const support = async (name: unknown) => answerOf(await post('/support', { name }))
  const [headers, ofBob] = [await logIn(), await logIn(2)]
  const [phone, laptop, other] = [browser(), browser(), browser()]
  for (const passkey of [phone, laptop]) await add(passkey, headers)
  await add(other, ofBob)
  works = false
  t.equal(await support('alice@example.com'), fault, 'what removes nothing')
  works = true
  removed.length = 0
  t.equal(await support('alice@example.com'), '200 {"removed":2}')
  t.match(removed, [
    { action: 'removed', sub: '1', registration: '/' },
    { action: 'removed', sub: '1', request: { url: '/support' } },
  ])
  t.equal(answerOf(await enter(phone)), '403 ERR_AUTH_PASSKEY_INVALID')
  t.equal(answerOf(await enter(other)), '200 tokens')
  t.equal((await app.inject({ url: '/me', headers })).statusCode, 200, 'sessions stay')
  for (const name of [1, 'nobody@example.com', '', '\u0000', 'x'.repeat(2000), null])
    t.equal(await support(name), '200 {"removed":0}')
  const without = await sessionApp(t)
  t.throws(() => without.authn.passkeys, { code: 'ERR_AUTH_OPTION', message: /passkeys/ })
})

t.test('of a session that another process has revoked just now, nothing changes', async (t) => {
  const outside = {} as SessionStore
  const store = storeWith((real) => {
    Object.assign(outside, real)
    // This process has not heard of it yet.
    return { watch: (watcher) => watcher.caughtUp() }
  })
  const { table, add, post, logIn } = await passkeysApp(t, {}, { sessions: { store } })
  await add(browser(), await logIn(), 'mine')
  const id = table[0]?.data.id
  const before = JSON.stringify(table)
  for (const url of ['/passkeys/remove', '/passkeys/rename']) {
    const headers = await logIn()
    await outside.revoke({ sub: '1' }, 1000, 'another process')
    t.equal(answerOf(await post(url, { id, name: 'theirs' }, headers)), invalid, url)
    t.equal(JSON.stringify(table), before, url)
  }
})
