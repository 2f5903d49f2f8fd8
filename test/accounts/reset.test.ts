// Forgotten passwords: who opens the link in the mailbox chooses another one, and all sessions end.
import t, { type Test } from 'tap'
import type { AccountsOptions, StoreResult } from '../../lib/index.js'
import {
  accountsApp,
  accountsOver,
  answerOf,
  newPassword,
  password,
  type AccountUser,
} from '../helpers/accounts.js'
import { bearer } from '../helpers/app.js'
import { sessionOf } from '../helpers/client.js'
import { deferred } from '../helpers/flows.js'
import { until } from '../helpers/load.js'
import { breakable, eventsOf, heldStore } from '../helpers/sessions.js'

const alice = 'alice@example.com'
const invalid = '400 ERR_AUTH_LINK_INVALID'
type Update = AccountsOptions<AccountUser>['update']

/** An app whose session store can be taken away, and whose `update` can be changed. */
async function setting(t: Test, options: object = {}) {
  const store = breakable(heldStore().factory)
  const hooks: { update: ((update: () => unknown) => unknown) | null } = { update: null }
  const updates: unknown[][] = []
  const functions: { update?: Update } = {}
  const made = await accountsApp(
    t,
    {
      update(user, after, before) {
        updates.push([after, before])
        const stored = (): unknown => functions.update?.(user, after, before)
        return (hooks.update === null ? stored() : hooks.update(stored)) as StoreResult
      },
    },
    { sessions: { store: store.factory }, ...options },
  )
  functions.update = accountsOver(made.table).update
  return { ...made, store, hooks, updates }
}

t.test('a reset resets the throttle of its user', async (t) => {
  const { send, tokenOf, enter } = await accountsApp(t, {}, { throttle: {} })
  for (let attempt = 0; attempt < 10; attempt += 1) await enter(alice, 'wrong')
  t.equal(await enter(alice, password), 429)
  const token = await tokenOf('/password/forgot', { email: alice })
  t.equal(await send('/password/reset', { token, password: newPassword }), '204')
  t.equal(await enter(alice, newPassword), 200)
})

t.test('a reset revokes logins with the old password, even simultaneous ones', async (t) => {
  const { post, hooks, tokenOf, me, send } = await setting(t)
  const token = await tokenOf('/password/forgot', { email: alice })
  let headers = {}
  hooks.update = async (update) => {
    const response = await post('/login', { email: alice, password })
    headers = sessionOf(response)
    t.equal(await me(headers), 200)
    return update()
  }
  t.equal(await send('/password/reset', { token, password: newPassword }), '204')
  t.equal(await me(headers), 401, 'one that has ended before the update')

  const late = await setting(t)
  const { promise, resolve } = deferred()
  late.hooks.update = async (update) => {
    await promise
    return update()
  }
  const again = await late.tokenOf('/password/forgot', { email: alice })
  const before = late.store.calls.length
  const reset = late.send('/password/reset', { token: again, password: newPassword })
  await until(() => late.updates.length > 0, 'it is updated')
  t.strictSame(late.store.calls.slice(before), ['revoke'])
  const create = late.store.calls.length
  const login = late.post('/login', { email: alice, password })
  await until(() => late.store.calls.length > create, 'its session is stored')
  resolve()
  t.equal(await reset, '204')
  const { body, statusCode } = await login
  const { token: own = '' } = JSON.parse(body) as { token?: string }
  t.ok(statusCode === 401 || (await late.me(bearer(own))) === 401)
  t.strictSame(await late.app.authn.sessions.list(1), [])
})

t.test('where the store goes away after the update, the old password is back', async (t) => {
  const { store, hooks, post, tokenOf, updates, table, enter, send, mails } = await setting(t)
  const events = eventsOf(t, 'account')
  const token = await tokenOf('/password/forgot', { email: alice })
  const before = JSON.stringify(table)
  hooks.update = async (update) => {
    store.failure = new Error('away')
    return update()
  }
  const payload = { token, password: newPassword }
  const response = await post('/password/reset', payload)
  t.equal(answerOf(response), '503 ERR_AUTH_STORE_UNAVAILABLE')
  t.match(response.headers, { 'retry-after': /^\d+$/ })
  t.equal(JSON.stringify(table), before)
  t.equal(updates.length, 2)
  t.strictSame([await mails(), events], [[], []], 'nobody is told')
  Object.assign(store, { failure: null })
  hooks.update = null
  t.equal(await enter(alice, password), 200)
  t.equal(await send('/password/reset', payload), '204')
})

t.test('an update that stores nothing, or throws, is no reset', async (t) => {
  const conflict = Object.assign(new Error('for the client'), { statusCode: 409, code: 'LOCKED' })
  const rows: [title: string, update: () => unknown, answer: string][] = [
    ...[undefined, null, false, 0, { rowCount: 0, rows: [] }].map(
      (value): [string, () => unknown, string] => [
        JSON.stringify(value) ?? 'undefined',
        () => value,
        invalid,
      ],
    ),
    ['a text', () => 'OK', '500 ERR_AUTH_ACCOUNTS'],
    ['an error', async () => new Error('locked'), '500 ERR_AUTH_ACCOUNTS'],
    ['throws', () => Promise.reject(new Error('a secret')), '500 ERR_AUTH_ACCOUNTS'],
    ['throws a 409', () => Promise.reject(conflict), '409 LOCKED'],
  ]
  const { hooks, send, tokenOf, mails } = await setting(t)
  const events = eventsOf(t, 'account')
  const token = await tokenOf('/password/forgot', { email: alice })
  const payload = { token, password: newPassword }
  for (const [title, update, answer] of rows) {
    hooks.update = update
    t.equal(await send('/password/reset', payload), answer, title)
    t.strictSame([await mails(), events], [[], []], title)
  }
  hooks.update = null
  t.equal(await send('/password/reset', payload), '204', 'its link still works')
})

t.test('a login.claims with another sub is a 500, and changes nothing', async (t) => {
  const login = {
    usernameField: 'email',
    subject: (user: object) => (user as AccountUser).id,
    claims: () => ({ sub: sub.current }),
  }
  const sub: { current?: string | number } = {}
  const { table, send, tokenOf, logIn, lines, mails } = await setting(t, { login })
  const token = await tokenOf('/password/forgot', { email: alice })
  const headers = await logIn()
  sub.current = 'other'
  const before = JSON.stringify(table)
  t.equal(await send('/password/reset', { token, password: newPassword }), '500 ERR_AUTH_ACCOUNTS')
  const change = { currentPassword: password, password: newPassword, email: 'a@b.example' }
  for (const url of ['/password/change', '/email/change', '/account/delete'])
    t.equal(await send(url, change, headers), '500 ERR_AUTH_ACCOUNTS', url)
  t.equal(JSON.stringify(table), before)
  lines.length = 0
  t.equal(await send('/password/forgot', { email: alice }), '202 {}')
  t.strictSame(await mails(), [])
  t.match(lines.join(), /login\.subject.*ERR_AUTH_ACCOUNTS/)
})

t.test('a login.claims with another sub than login.subject is a 500 at each login', async (t) => {
  const given: { sub?: string | number } = {}
  const login = {
    usernameField: 'email',
    subject: (user: object) => (user as AccountUser).id,
    claims: () => ({ ...given, team: 'red' }),
  }
  const { app, post, lines, tokenOf } = await accountsApp(t, {}, { login })
  const body = { email: alice, password }
  const first = await post('/login', body)
  t.equal(answerOf(first), '200 tokens')
  const { refreshToken } = JSON.parse(first.body) as { refreshToken: string }
  const token = await tokenOf('/sign-up', { email: 'dora@example.com' })
  const fault = '500 ERR_AUTH_ACCOUNTS'
  given.sub = 'other'
  lines.length = 0
  t.equal(answerOf(await post('/login', body)), fault)
  t.match(lines.join(''), /login\.claims.*login\.subject/)
  t.equal(answerOf(await post('/begin', { id: 1 })), fault)
  t.equal(answerOf(await post('/login/refresh', { refreshToken })), fault)
  t.equal((await app.authn.sessions.list(1)).length, 1)
  t.strictSame(await app.authn.sessions.list('other'), [])
  // Stores have strings.
  for (given.sub of [1, '1']) {
    t.equal(answerOf(await post('/login', body)), '200 tokens')
    t.equal(answerOf(await post('/login/refresh', { refreshToken })), '200 tokens')
  }
  const dora = { token, password: newPassword }
  t.equal(
    answerOf(await post('/sign-up/finish', dora)),
    '500 ERR_AUTH_ACCOUNTS',
    'she has the id 4',
  )
})

t.test('a subject that fails, and a user without an address, are a 500', async (t) => {
  const failing = {
    usernameField: 'email',
    subject: () => Promise.reject(new Error('a secret')),
  }
  const { app, table, lines, mails, send } = await accountsApp(t, {}, { login: failing })
  t.equal(await send('/password/forgot', { email: alice }), '202 {}')
  t.strictSame(await mails(), [])
  t.match(lines.join(), /ERR_AUTH_TOKEN_FUNC/)
  t.equal(table.length, 3)
  t.match(app.authn.stats().accounts, { mails: 0, mailsFailed: 0 })
  const other = await accountsApp(t, { emailField: 'mail' })
  for (const url of ['/sign-up', '/password/forgot'])
    t.equal(await other.send(url, { email: alice }), '202 {}')
  t.strictSame(await other.mails(), [])
  t.match(other.lines.join(), /accounts\.emailField/)
  const own = { currentPassword: password, password: newPassword }
  t.equal(await other.send('/password/change', own, await other.logIn()), '500 ERR_AUTH_ACCOUNTS')
})

t.test(
  'a subject that is the address is a 500, since the next user of it would get its sessions',
  async (t) => {
    const subject = (user: object): string => String((user as AccountUser).email)
    const login = { usernameField: 'email', subject }
    const { send, post, mails, lines } = await accountsApp(t, {}, { login })
    const headers = sessionOf(await post('/login', { email: alice, password }))
    const change = { email: 'alice@new.example', currentPassword: password }
    t.equal(await send('/email/change', change, headers), '500 ERR_AUTH_ACCOUNTS')
    t.equal(await send('/password/forgot', { email: alice }), '202 {}')
    t.strictSame(await mails(), [])
    t.match(lines.join(''), /login\.subject returned the address/)
  },
)
