// What users change in a session of theirs: password, address, and whether there is an account.
import t from 'tap'
import { memoryApiKeys } from '../../lib/api-keys/index.js'
import {
  accountsApp,
  answerOf,
  jarOf,
  newPassword,
  pages,
  password,
  type AccountUser,
} from '../helpers/accounts.js'
import { bearer } from '../helpers/app.js'
import { cookiesOf, tls } from '../helpers/cookies.js'
import { retryAfterOf } from '../helpers/load.js'
import { startProvider } from '../helpers/provider.js'
import { breakable, claimsOf, eventsOf, heldStore, pairOf } from '../helpers/sessions.js'

const alice = 'alice@example.com'
const moved = 'alice@new.example'
const invalid = '400 ERR_AUTH_LINK_INVALID'
const wrong = '403 ERR_AUTH_CURRENT_PASSWORD'
const change = { currentPassword: password, password: newPassword }

t.test('a change of password logs in its user, whoever has the address by then', async (t) => {
  const { table, logIn, post } = await accountsApp(t, {
    async update(user, { passwordHash }) {
      const [one, other] = table as [AccountUser, AccountUser]
      one.password = passwordHash
      Object.assign(one, { email: moved })
      Object.assign(other, { email: user.email })
      return true
    },
  })
  const response = await post('/password/change', change, await logIn())
  t.equal(claimsOf(pairOf(response).token).sub, 1)
})

t.test('with cookies, a sign-up and a new or first password set those of a login', async (t) => {
  const { post, logIn, me, tokenOf } = await accountsApp(t, {}, { cookies: true })
  const carol = await logIn(3)
  const set = { token: await tokenOf('/password/set', {}, carol), password: newPassword }
  const signUp = {
    token: await tokenOf('/sign-up', { email: 'dora@example.com' }),
    password: newPassword,
  }
  for (const [email, headers, url, body] of [
    [alice, await logIn(), '/password/change', change],
    ['carol@example.com', carol, '/password/change', set],
    ['dora@example.com', {}, '/sign-up/finish', signUp],
  ] as const) {
    const response = await post(url, body, headers)
    const login = await post('/login', { email, password: newPassword })
    t.match([response.statusCode, response.body], [200, login.body])
    const shown = (each: typeof response): unknown[] =>
      cookiesOf(each).map(({ name, attributes }) => [name, attributes])
    t.strictSame(shown(response), shown(login))
    t.strictSame([await me(headers), await me(jarOf(response))], [401, 200])
    t.equal((await post('/login/refresh', undefined, jarOf(response))).statusCode, 200)
  }
})

t.test('the current password is compared and counted as that of a login', async (t) => {
  const { post, send, logIn, table, asked, mails } = await accountsApp(t)
  const headers = await logIn()
  const before = JSON.stringify(table)
  const more = { email: moved, password: newPassword }
  for (const url of ['/password/change', '/email/change', '/account/delete']) {
    for (const currentPassword of [undefined, ''])
      t.equal(await send(url, { ...more, currentPassword }, headers), wrong, url)
    t.equal(await send(url, { ...more, currentPassword: newPassword }, headers), wrong, url)
  }
  // The fifth wrong one would end a session.
  let next = headers
  for (let each = 3; each < 10; each += 1) {
    if (each % 4 === 0) next = await logIn()
    t.equal(await send('/password/change', { ...more, currentPassword: 'x' }, next), wrong)
  }
  for (const url of ['/password/change', '/email/change', '/account/delete']) {
    const response = await post(url, { ...change, email: moved }, headers)
    t.equal(answerOf(response), '429 ERR_AUTH_TOO_MANY_ATTEMPTS', url)
    t.ok(retryAfterOf(response) > 0)
  }
  t.equal(await send('/login', { email: alice, password }), '429 ERR_AUTH_TOO_MANY_ATTEMPTS')
  t.equal(JSON.stringify(table), before)
  t.strictSame(await mails(), [])
  t.notOk(asked.includes(moved))
})

t.test('the current password is of the account that is changed', async (t) => {
  // The address went to bob since the access token was issued, or since the user was read.
  let isAfter = false
  const users: Record<string, AccountUser> = {}
  const { table, send, logIn } = await accountsApp(
    t,
    {},
    {
      userService: {
        findByUsername: (name: string | number) =>
          isAfter && name === alice ? users.bob : table.find(({ id }) => id === Number(name)),
      },
    },
  )
  Object.assign(users, { bob: table[1] })
  const headers = await logIn()
  isAfter = true
  const before = JSON.stringify(table)
  for (const url of ['/password/change', '/email/change', '/account/delete'])
    t.equal(await send(url, { ...change, email: moved }, headers), wrong, url)
  t.equal(JSON.stringify(table), before)
})

t.test('a login rehashes an old hash, and a change of password does not', async (t) => {
  const updatePasswordHash = (): void => void rehashed.push('rehashed')
  const rehashed: string[] = []
  const { table, app, send, logIn } = await accountsApp(
    t,
    {},
    {
      hashing: { cost: 5 },
      userService: {
        findByUsername: (name: string | number) =>
          table.find(({ id, email }) => id === Number(name) || email === name),
        updatePasswordHash,
      },
    },
  )
  t.equal(await send('/password/change', change, await logIn()), '200 tokens')
  t.strictSame(rehashed, [])
  t.notOk(app.authn.needsRehash(String(table[0]?.password)))
})

t.test('a user who is deleted while the password changes gets no session', async (t) => {
  const { table, send, logIn } = await accountsApp(t, {
    update: () => table.splice(0, 1).length > 0,
  })
  t.equal(await send('/password/change', change, await logIn()), '403 ERR_AUTH_LOGIN_REFUSED')
})

t.test('the second of two changes at once leaves the session of the first alone', async (t) => {
  const { post, me, logIn } = await accountsApp(t)
  const headers = await logIn()
  const both = await Promise.all([1, 2].map(() => post('/password/change', change, headers)))
  const codes = both.map(({ statusCode }) => statusCode)
  t.match(
    codes.toSorted((one, other) => one - other),
    [200, /40[13]/],
  )
  t.equal(await me(bearer(pairOf(both[codes.indexOf(200)] as never).token)), 200)
})

t.test('an account that changes meanwhile is not overwritten', async (t) => {
  const { send, logIn, mails, tokenOf, me } = await accountsApp(t, { update: () => false })
  const events = eventsOf(t, 'account')
  const carol = await logIn(3)
  const set = { token: await tokenOf('/password/set', {}, carol), password: newPassword }
  t.equal(await send('/password/change', change, await logIn()), wrong)
  t.equal(await send('/password/change', set, carol), invalid, 'a first password')
  t.strictSame([await mails(), events], [[], []])
  t.equal(await me(await logIn(3)), 200)
})

t.test(
  'a change without a store is a 503 that changes nothing, and links work later',
  async (t) => {
    const store = breakable(heldStore().factory)
    const setting = await accountsApp(t, {}, { sessions: { store: store.factory } })
    const { send, logIn, table, tokenOf, me } = setting
    const [headers, carol] = [await logIn(), await logIn(3)]
    const email = { email: moved, currentPassword: password }
    const token = await tokenOf('/email/change', email, headers)
    const forgot = await tokenOf('/password/forgot', { email: 'bob@example.com' })
    const reset = { token: forgot, password: newPassword }
    const set = { token: await tokenOf('/password/set', {}, carol), password: newPassword }
    const before = JSON.stringify(table)
    store.failure = new Error('away')
    for (const [url, body, session] of [
      ['/password/change', change, headers],
      ['/password/change', set, carol],
      ['/account/delete', change, headers],
      ['/email/confirm', { token }, headers],
      ['/password/reset', reset, {}],
    ] as const)
      t.equal(await send(url, body, session), '503 ERR_AUTH_STORE_UNAVAILABLE', url)
    t.equal(JSON.stringify(table), before)
    t.equal(await me(headers), 200, 'not logged out')
    store.failure = null
    t.equal(await send('/password/change', set, carol), '200 tokens')
    t.equal(await send('/email/confirm', { token }, headers), '204')
    const bob = await logIn(2)
    t.equal(await send('/password/reset', reset), '204')
    t.equal(await me(bob), 401)
  },
)

t.test('a change of address warns the old mailbox, and keeps the sessions', async (t) => {
  const setting = await accountsApp(t)
  const { send, mails, logIn, me, stored, tokenOf, asked, enter } = setting
  const events = eventsOf(t, 'account')
  const sessions = [await logIn(), await logIn()] as const
  const reset = await tokenOf('/password/forgot', { email: alice })
  const email = { email: ' Alice@NEW.example', currentPassword: password }
  t.equal(await send('/email/change', email, sessions[0]), '202 {}')
  t.equal(stored(1)?.email, alice, 'not yet')
  const sent = (await mails()).toSorted((one, other) => one.kind.localeCompare(other.kind))
  const user = { id: 1, email: alice }
  const [warning, confirm] = sent as [(typeof sent)[number], (typeof sent)[number]]
  const rest = { expiresIn: 3600, lang: 'en', user }
  t.strictSame(sent, [
    {
      kind: 'email-change',
      to: alice,
      link: `${pages}/reset#${warning.token}`,
      token: warning.token,
      ...rest,
    },
    {
      kind: 'email-confirm',
      to: moved,
      link: `${pages}/email#${confirm.token}`,
      token: confirm.token,
      ...rest,
    },
  ])
  asked.length = 0
  t.equal(await send('/email/confirm', { token: confirm.token }, sessions[1]), '204')
  t.ok(asked.includes(moved), 'it is looked up again')
  t.equal(stored(1)?.email, moved)
  t.strictSame(await Promise.all(sessions.map(me)), [200, 200])
  t.match(await mails(), [{ kind: 'email-changed', to: alice, link: undefined, user: { id: 1 } }])
  t.match(events, [{ action: 'email-changed', sub: '1' }])
  t.strictSame([await enter(alice, password), await enter(moved, password)], [401, 200])
  for (const token of [reset, warning.token, confirm.token]) {
    t.equal(await send('/password/reset', { token, password: newPassword }), invalid)
    t.equal(await send('/email/confirm', { token }, sessions[0]), invalid)
  }
})

t.test('the warning has a way out, which stops the change and every session', async (t) => {
  const { send, mails, logIn, me, stored } = await accountsApp(t)
  const thief = await logIn()
  await send('/email/change', { email: moved, currentPassword: password }, thief)
  const sent = await mails()
  const tokenTo = (kind: string) => sent.find((mail) => mail.kind === kind)?.token
  const reset = { token: tokenTo('email-change'), password: newPassword }
  t.equal(await send('/password/reset', reset), '204')
  t.equal(await me(thief), 401)
  const confirm = { token: tokenTo('email-confirm') }
  t.equal(await send('/email/confirm', confirm, await logIn()), invalid)
  t.equal(stored(1)?.email, alice)
})

t.test(
  'a taken address gets the same 202 and no e-mail, and the old mailbox is told',
  async (t) => {
    const { post, mails, logIn } = await accountsApp(t)
    const headers = await logIn()
    const ask = async (email: string): Promise<unknown[]> => {
      const request = { email, currentPassword: password }
      const response = await post('/email/change', request, headers)
      const { date, ...kept } = response.headers
      t.ok(date)
      return [response.statusCode, kept, response.body]
    }
    const free = await ask(moved)
    const told = (await mails()).find(({ kind }) => kind === 'email-change')
    const shown = { ...told, link: String, token: String }
    t.match(shown, { to: alice, expiresIn: 3600 })
    for (const taken of ['bob@example.com', 'carol@example.com', alice]) {
      t.strictSame(await ask(taken), free, taken)
      const sent = await mails()
      t.strictSame(
        sent.map((mail) => ({ ...mail, link: String, token: String })),
        [shown],
        taken,
      )
      t.match(sent, [{ link: String, token: String }])
    }
  },
)

t.test('an address that is taken before it is confirmed is a 400', async (t) => {
  const unique = (): never => {
    throw Object.assign(new Error('duplicate key'), { code: '23505' })
  }
  let update = unique as () => unknown
  const setting = await accountsApp(t, { update: () => update() as boolean })
  const { send, tokenOf, logIn, table, mails } = setting
  const headers = await logIn()
  const token = await tokenOf('/email/change', { email: moved, currentPassword: password }, headers)
  const confirm = (): Promise<string> => send('/email/confirm', { token }, headers)
  t.equal(await confirm(), '500 ERR_AUTH_ACCOUNTS', 'it throws, and the address is free')
  update = () => {
    table.push({ id: 9, email: moved, password: null })
    return unique()
  }
  t.equal(await confirm(), invalid, 'the unique index has the last word')
  update = () => t.fail('is not called')
  t.equal(await confirm(), invalid, 'it is looked up before')
  table.pop()
  update = () => null
  t.equal(await confirm(), invalid, 'the account has changed')
  t.strictSame(await mails(), [])
})

t.test('a deletion revokes all sessions, clears the cookies and tells the mailbox', async (t) => {
  const setting = await accountsApp(t, {}, { cookies: true })
  const { post, mails, me, logIn, app, table, tokenOf, send } = setting
  const events = eventsOf(t, 'account')
  const sessions = [await logIn(), await logIn(), await logIn(2)] as const
  const token = await tokenOf('/password/forgot', { email: alice })
  const response = await post('/account/delete', { currentPassword: password }, sessions[0])
  t.match([response.statusCode, response.body], [204, ''])
  const found = cookiesOf(response).map(({ value, attributes }) => value + attributes['max-age'])
  t.strictSame(found, ['0', '0'], 'both are empty, and end')
  t.strictSame(
    table.map(({ id }) => id),
    [2, 3],
  )
  t.strictSame(await Promise.all(sessions.map(me)), [401, 401, 200])
  t.strictSame(await app.authn.sessions.list(1), [])
  t.match(await mails(), [{ kind: 'account-deleted', to: alice, link: undefined }])
  t.match(events, [{ action: 'deleted', sub: '1' }])
  t.equal(await send('/password/reset', { token, password: newPassword }), invalid)
})

t.test('API keys outlive a reset and a change, and not their owner', async (t) => {
  const apiKeys = { store: memoryApiKeys(), prefix: 'shop' }
  const setting = await accountsApp(t, {}, { apiKeys }, (app) =>
    app.get('/job', { config: { auth: { use: 'apiKey' } } }, () => 'done'),
  )
  const { app, send, logIn, tokenOf, table } = setting
  const issued = { owner: '1', name: 'job', scopes: [], expiresAt: null }
  const { key } = await app.authn.apiKeys.issue(issued)
  const job = async (): Promise<number> =>
    (await app.inject({ url: '/job', headers: bearer(key) })).statusCode
  const token = await tokenOf('/password/forgot', { email: alice })
  t.equal(await send('/password/reset', { token, password }), '204')
  t.equal(await send('/password/change', change, await logIn()), '200 tokens')
  t.equal(await job(), 200)
  const own = { currentPassword: newPassword }
  t.equal(await send('/account/delete', own, await logIn()), '204')
  t.equal(table.length, 2)
  t.equal(await job(), 401)
})

t.test('without remove there is no deletion, and its errors are told apart', async (t) => {
  const without = await accountsApp(t, { remove: undefined } as object)
  t.notOk(without.app.hasRoute({ method: 'POST', url: '/account/delete' }))
  const locked = Object.assign(new Error('for the client'), { statusCode: 409, code: 'LOCKED' })
  for (const [error, answer] of [
    [new Error('a secret'), '500 ERR_AUTH_ACCOUNTS'],
    [locked, '409 LOCKED'],
  ] as const) {
    const { send, logIn, mails, me } = await accountsApp(t, {
      remove: () => Promise.reject(error),
    })
    const events = eventsOf(t, 'account')
    const session = await logIn()
    t.equal(await send('/account/delete', change, session), answer)
    t.strictSame([await mails(), events, await me(session)], [[], [], 200])
  }
})

t.test('a login at a provider is as old as its ID token says', async (t) => {
  const provider = await startProvider(t)
  const loginWith = { corp: { issuer: provider.url, clientId: 'shop', username: () => 3 } }
  const options = { loginWith, cookies: true } as const
  const { app, send } = await accountsApp(t, {}, options, undefined, { trustProxy: true })
  const now = Math.floor(Date.now() / 1000)
  const later = '401 ERR_AUTH_INSUFFICIENT_AUTHENTICATION'
  const rows: [authTime: number | undefined, answer: string][] = [
    [0, later],
    [now - 660, later],
    [now - 540, '202 {}'],
    [undefined, '202 {}'],
    [now + 200, '202 {}'],
    [now + 1e6, later],
  ]
  for (const [auth_time, answer] of rows) {
    provider.idToken = { claims: { auth_time } }
    const begun = await app.inject({ url: '/login/corp', headers: tls })
    const { pathname, search } = provider.visit(new URL(String(begun.headers.location)))
    const headers = { ...tls, ...jarOf(begun) }
    const finished = await app.inject({ url: pathname + search, headers })
    const session = { ...tls, ...jarOf(finished), 'sec-fetch-site': 'same-origin' }
    t.equal(await send('/email/change', { email: moved }, session), answer, String(auth_time))
    const [newest] = await app.authn.sessions.list(3)
    const expected =
      auth_time === undefined ? undefined : Math.min(auth_time * 1000, Number(newest?.created))
    t.equal(newest?.authenticated?.getTime(), expected)
  }
})
