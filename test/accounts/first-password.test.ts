// Users of providers, who may have no password and no address: what they can change, and how they get both.
import t, { type Test } from 'tap'
import type { AccountMail, AccountValues, AuthnOptions } from '../../lib/index.js'
import { clockOf } from '../helpers/clock.js'
import {
  accountsApp,
  accountsOver,
  hash,
  jarOf,
  newPassword,
  pages,
  password,
  type AccountUser,
} from '../helpers/accounts.js'
import { secret } from '../helpers/app.js'
import { sessionOf } from '../helpers/client.js'
import { cookiesOf, tls } from '../helpers/cookies.js'
import { startProvider } from '../helpers/provider.js'
import { eventsOf } from '../helpers/sessions.js'

const alice = 'alice@example.com'
const carol = 'carol@example.com'
const dora = 'dora@example.com'
const forbidden = '403 ERR_AUTH_FORBIDDEN'
const again = '401 ERR_AUTH_INSUFFICIENT_AUTHENTICATION'
const invalid = '400 ERR_AUTH_LINK_INVALID'
const wrong = '403 ERR_AUTH_CURRENT_PASSWORD'
const tooMany = '429 ERR_AUTH_TOO_MANY_MAILS'
const set = '/password/set'
const change = '/password/change'
const first = (token: string | undefined, password = newPassword) => ({ token, password })

/** An app with users without an address, and the values that `update` gets. */
async function setting(t: Test, options: Partial<AuthnOptions> = {}) {
  const befores: AccountValues[] = []
  const app = await accountsApp(
    t,
    {
      update(user, after, before) {
        befores.push(before)
        return accountsOver(app.table).update(user, after, before)
      },
    },
    // A user service may find ids as the numbers that tokens have, and no other spelling of them.
    {
      userService: {
        findByUsername: (name: string | number) => {
          const row = app.table.find(({ id, email }) => id === name || email === name)
          return row && { ...row }
        },
      },
      ...options,
    },
  )
  app.table.push(
    { id: 4, email: null, password: null },
    { id: 5, email: '', password: null },
    { id: 6, email: null, password: hash },
    { id: 7, email: '', password: hash },
  )
  return { ...app, befores }
}

t.test('a user without a password deletes the account soon after a login', async (t) => {
  for (const id of [3, 4, 5]) {
    const clock = clockOf(t)
    const { send, logIn, mails, stored } = await setting(t, { jwt: { secret, expiry: 3600 } })
    const events = eventsOf(t, 'account')
    const headers = await logIn(id)
    clock.advance(605)
    t.equal(await send('/account/delete', { currentPassword: password }, headers), again)
    t.ok(stored(id))
    t.equal(await send('/account/delete', {}, await logIn(id)), '204')
    t.equal(stored(id), undefined)
    t.match(events, [{ action: 'deleted', sub: String(id) }])
    const told = (await mails()).map(({ kind, to }) => `${kind} ${to}`)
    t.strictSame(told, id === 3 ? [`account-deleted ${carol}`] : [], 'where there is a mailbox')
  }
})

t.test('a user without a password needs a recent login to change the address', async (t) => {
  for (const [id, email] of [
    [3, carol],
    [4, null],
    [5, ''],
  ] as const) {
    const clock = clockOf(t)
    const app = await setting(t, { jwt: { secret, expiry: 3600 } })
    const { send, logIn, mails, stored, befores, tokenOf, enter } = app
    const told = async (): Promise<string[]> =>
      (await mails()).map(({ kind, to, link }) => `${kind} ${to}${link ? ' with a link' : ''}`)
    const [old, young] = [await logIn(id), await logIn(id)]
    const own = { currentPassword: password, password: newPassword }
    t.equal(await send(change, own, young), wrong, 'not without a link')
    clock.advance(595)
    t.equal(await send('/email/change', { email: alice }, old), '202 {}')
    const warning = email ? [`email-change ${carol}`] : []
    t.strictSame(await told(), warning, 'a taken address is told to no other mailbox')
    const token = await tokenOf('/email/change', { email: dora }, old)
    t.equal(await send('/email/change', { email: dora }, old), '202 {}')
    const both = [...warning, `email-confirm ${dora} with a link`]
    t.strictSame((await told()).toSorted(), both)
    clock.advance(10)
    for (const headers of [old, young]) {
      t.equal(await send('/email/change', { email: dora }, headers), again)
      t.equal(await send('/account/delete', own, headers), again)
    }
    t.equal(await send('/email/confirm', { token }, await logIn()), invalid)
    t.equal(await send('/email/confirm', { token }, old), '204', 'the link is the proof')
    t.match(stored(id), { email: dora, password: null })
    t.strictSame(befores, [{ email, passwordHash: null }])
    t.strictSame(await told(), email ? [`email-changed ${carol}`] : [])
    const recent = await logIn(id)
    t.equal(await send(change, first(await tokenOf(set, {}, recent)), recent), '200 tokens')
    t.equal(await enter(dora, newPassword), 200)
  }
})

t.test('a user with a password and no address proves it as others do', async (t) => {
  for (const [id, email] of [
    [6, null],
    [7, ''],
  ] as const) {
    const clock = clockOf(t)
    const { send, logIn, mails, stored, befores, app, me, enter } = await setting(t, {
      jwt: { secret, expiry: 3600 },
    })
    const [headers, guessing] = [await logIn(id), await logIn(id)]
    clock.advance(605)
    const own = { currentPassword: password, password: newPassword, email: dora }
    for (const url of [change, '/email/change', '/account/delete']) {
      t.equal(await send(url, { ...own, currentPassword: newPassword }, guessing), wrong, url)
      t.equal(await send(url, { ...own, currentPassword: undefined }, guessing), wrong, url)
    }
    t.equal(await send(set, {}, headers), forbidden)
    t.equal(await send(change, own, headers), '200 tokens')
    t.equal(await me(headers), 401)
    t.equal((await app.authn.sessions.list(id)).length, 1)
    const later = await logIn(id)
    t.equal(await send('/email/change', { ...own, currentPassword: newPassword }, later), '202 {}')
    const sent = await mails()
    t.match(sent, [{ kind: 'email-confirm', to: dora }])
    t.equal(sent.length, 1, 'and none of the change of the password')
    t.equal(await send('/email/confirm', { token: sent[0]?.token }, later), '204')
    t.strictSame(
      befores.map((before) => before.email),
      [email, email],
    )
    t.equal(await enter(dora, newPassword), 200)
    Object.assign(stored(id) as AccountUser, { email })
    t.equal(await send('/account/delete', { currentPassword: newPassword }, later), '204')
    t.strictSame(await mails(), [])
  }
})

t.test('a user without an address is throttled alone', async (t) => {
  const { send, logIn, stored } = await setting(t, { throttle: { perAddress: 1000 } })
  const own = { currentPassword: 'x', password: newPassword }
  // The fifth wrong one would end a session.
  let one = {}
  for (let each = 0; each < 10; each += 1) {
    if (each % 4 === 0) one = await logIn(6)
    t.equal(await send(change, own, one), wrong)
  }
  const other = await logIn(7)
  const right = { ...own, currentPassword: password }
  t.equal(await send(change, right, one), '429 ERR_AUTH_TOO_MANY_ATTEMPTS')
  t.equal(stored(6)?.password, hash)
  t.equal(await send(change, right, other), '200 tokens')
})

t.test('acceptPassword gets no address of a user who has none', async (t) => {
  const given: unknown[] = []
  const acceptPassword = (_password: string, email: string) => given.push(email) > 1
  const { send, logIn, table } = await accountsApp(t, { acceptPassword })
  table.push({ id: 6, email: null, password: hash })
  const own = { currentPassword: password, password: newPassword }
  const headers = await logIn(6)
  t.equal(await send(change, own, headers), '400 ERR_AUTH_PASSWORD_GUESSABLE')
  t.equal(await send(change, own, headers), '200 tokens')
  t.strictSame(given, ['', ''])
})

t.test('a user who is found by a name, and has no address, gets no e-mail', async (t) => {
  for (const email of [null, '']) {
    const findByUsername = () => ({ id: 6, email, password: hash })
    const { send, mails, lines } = await accountsApp(t, {}, { userService: { findByUsername } })
    for (const url of ['/sign-up', '/password/forgot'])
      t.equal(await send(url, { email: dora }), '202 {}')
    t.strictSame(await mails(), [])
    t.notMatch(lines.join(''), /"level":50/)
  }
})

t.test('only users with an address and no password may ask, soon after a login', async (t) => {
  const clock = clockOf(t)
  const setUp = await setting(t, { jwt: { secret, expiry: 3600 } })
  const { post, send, logIn, mails, table } = setUp
  table.push({ id: 8, email: dora, password: '!' })
  const old = await Promise.all([1, 3, 4, 5, 6, 7, 8].map(logIn))
  clock.advance(605)
  const answers: string[] = []
  for (const headers of old)
    answers.push(await send(set, { currentPassword: password, token: 'x' }, headers))
  t.strictSame(answers, [forbidden, again, forbidden, forbidden, forbidden, forbidden, again])
  answers.length = 0
  for (const id of [1, 3, 4, 5, 6, 7, 8]) answers.push(await send(set, {}, await logIn(id)))
  const ok = '202 {}'
  t.strictSame(answers, [forbidden, ok, forbidden, forbidden, forbidden, forbidden, ok])
  t.strictSame(
    (await mails()).map(({ kind, to }) => `${kind} ${to}`),
    [`set-password ${carol}`, `set-password ${dora}`],
  )
  const asked = await post(set, {}, await logIn(3))
  t.match(
    [asked.statusCode, asked.body, asked.headers],
    [202, '{}', { 'cache-control': 'no-store' }],
  )
  const [mail] = await mails()
  const { token, ...rest } = mail as AccountMail
  const user = { id: 3, email: carol }
  const link = `${pages}/set#${token}`
  t.strictSame(rest, { kind: 'set-password', to: carol, link, expiresIn: 3600, lang: 'en', user })
})

t.test(
  'a user who is found without the field of the password is not one without a password',
  async (t) => {
    const full = { id: 1, email: alice, password: hash }
    const { password: _, ...light } = full
    const cases = [light, { ...light, password: undefined }]
    for (const byId of cases) {
      const findByUsername = (name: string | number): object => (name === alice ? full : byId)
      const remove = (): unknown => t.fail('it would delete the account')
      const app = await accountsApp(t, { remove }, { userService: { findByUsername } })
      const headers = sessionOf(await app.post('/login', { email: alice, password }))
      for (const url of ['/email/change', set, '/account/delete']) {
        const answer = await app.send(url, { email: dora }, headers)
        t.equal(answer, '500 ERR_AUTH_PASSWORD_FIELD', url)
      }
      t.strictSame(await app.mails(), [])
    }
  },
)

t.test('with a token and a current password, the token counts', async (t) => {
  const { send, logIn, tokenOf, table, enter } = await setting(t)
  const [one, other] = [await logIn(), await logIn(3)]
  const reset = await tokenOf('/password/forgot', { email: alice })
  const before = JSON.stringify(table)
  for (const token of ['a.b.c', reset]) {
    const both = { token, currentPassword: password, password: newPassword }
    t.equal(await send(change, both, one), invalid)
  }
  t.equal(JSON.stringify(table), before)
  t.equal(await send('/password/reset', first(reset)), '204', 'it was not used up')
  const token = await tokenOf(set, {}, other)
  t.equal(await send(change, first(undefined), other), wrong, 'the session alone')
  t.equal(await send(change, { ...first(token), currentPassword: 'x' }, other), '200 tokens')
  t.equal(await enter(carol, newPassword), 200)
})

t.test('links for a first password are counted by user, and apart', async (t) => {
  const clock = clockOf(t)
  const { send, logIn, mails, table, app } = await accountsApp(t, { limits: undefined })
  table.push({ id: 8, email: dora, password: null })
  const headers = await logIn(3)
  const forgot = { email: carol }
  for (const answer of ['202 {}', '202 {}', '202 {}', tooMany])
    t.equal(await send('/password/forgot', forgot), answer, 'strangers')
  t.equal((await mails()).length, 3)
  for (const answer of ['202 {}', '202 {}', '202 {}', tooMany])
    t.equal(await send(set, {}, headers), answer)
  t.equal(await send(set, {}, await logIn(3)), tooMany, 'in another session too')
  t.equal((await mails()).length, 3)
  t.equal(await send('/email/change', { email: 'a@new.example' }, headers), '202 {}')
  t.equal(await send(set, {}, await logIn(8)), '202 {}', 'another user')
  clock.advance(3601)
  const recent = await logIn(3)
  for (let each = 0; each < 3; each += 1) t.equal(await send(set, {}, recent), '202 {}')
  t.equal(await send('/password/forgot', forgot), '202 {}', 'nor do they use up those')
  const few = await accountsApp(t, { limits: { perAddress: 2 } })
  const own = await few.logIn(3)
  for (const answer of ['202 {}', '202 {}', tooMany]) t.equal(await few.send(set, {}, own), answer)
  t.equal(await few.from('192.0.2.7', set, {}, own), '202 {}', 'another client')
  t.equal(app.authn.stats().accounts?.mailsFailed, 0)
})

t.test('a rejected request counts for no limit', async (t) => {
  const clock = clockOf(t)
  const options = { jwt: { secret, expiry: 3600 } }
  const limits = { perRecipient: 1, perAddress: 1 }
  const { send, logIn } = await accountsApp(t, { limits }, options)
  const [old, other] = [await logIn(3), await logIn()]
  clock.advance(605)
  for (let each = 0; each < 3; each += 1) {
    t.equal(await send(set, {}, old), again)
    t.equal(await send(set, {}, other), forbidden)
  }
  t.equal(await send(set, {}, await logIn(3)), '202 {}')
})

t.test(
  'a login with a provider leaves no session with another sub than login.subject',
  async (t) => {
    const provider = await startProvider(t)
    const given: { sub?: string } = {}
    const options = {
      login: {
        usernameField: 'email',
        subject: (user: object) => (user as AccountUser).id,
        claims: () => given,
      },
      loginWith: { corp: { issuer: provider.url, clientId: 'shop', username: () => 1 } },
      cookies: true,
    } as const
    const { app } = await accountsApp(t, {}, options, undefined, { trustProxy: true })
    for (const [sub, status, sessions] of [
      ['other', 500, 0],
      ['1', 303, 1],
    ] as const) {
      given.sub = sub
      const begun = await app.inject({ url: '/login/corp', headers: tls })
      const { pathname, search } = provider.visit(new URL(String(begun.headers.location)))
      const headers = { ...tls, ...jarOf(begun) }
      const finished = await app.inject({ url: pathname + search, headers })
      t.equal(finished.statusCode, status)
      if (status === 500) t.match(JSON.parse(finished.body), { code: 'ERR_AUTH_ACCOUNTS' })
      const isSession = cookiesOf(finished).some(({ name }) => /token|session/.test(name))
      t.equal(isSession, status === 303)
      t.equal((await app.authn.sessions.list(1)).length, sessions)
      t.strictSame(await app.authn.sessions.list('other'), [])
    }
  },
)

t.test('a sub is the same as a string and as a number', async (t) => {
  const given: { sub?: string | number } = {}
  const login = {
    usernameField: 'email',
    subject: (user: object) => (user as AccountUser).id,
    claims: () => given,
  }
  const { send, logIn, tokenOf, stored } = await accountsApp(t, {}, { login })
  const headers = await logIn(3)
  const token = await tokenOf(set, {}, headers)
  const moved = await tokenOf('/email/change', { email: dora }, headers)
  given.sub = '3'
  t.equal(await send('/email/confirm', { token: moved }, headers), '204')
  t.equal(stored(3)?.email, dora)
  Object.assign(stored(3) as AccountUser, { email: carol })
  t.equal(await send(change, first(token), headers), '200 tokens')
  const own = { currentPassword: newPassword }
  t.equal(await send('/account/delete', own, await logIn(3)), '204')
})
