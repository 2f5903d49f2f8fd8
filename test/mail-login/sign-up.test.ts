// Sign-up by an e-mail: accounts without a password.
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { authn, type AccountMail, type AuthnOptions } from '../../lib/index.js'
import { memoryUsers } from '../../lib/users-table/index.js'
import { accountsOver, newPassword, type AccountUser } from '../helpers/accounts.js'
import { bearer, cost, fastify, secret } from '../helpers/app.js'
import { bodyOf, clientOver } from '../helpers/client.js'
import { expired, mailApp, wrong, type LogInMail } from '../helpers/mail-login.js'
import { breakable, claimsOf, eventsOf, heldStore, pairOf } from '../helpers/sessions.js'

const dora = 'dora@example.com'
const open = { signUp: true }

t.test('a link or a code makes the account of an unknown address, and logs in', async (t) => {
  for (const way of ['link', 'code']) {
    const { asked, post, table, me, app, finish } = await mailApp(t, open)
    const events = [eventsOf(t, 'account'), eventsOf(t, 'login')] as const
    const { token, mail } = await asked(` ${dora.toUpperCase()}`)
    t.strictSame([mail.to, mail.user], [dora, null])
    t.equal(table.length, 3)
    const body = way === 'link' ? { token: mail.token } : { token, code: mail.code }
    const response = await post('/login/mail/finish', body)
    const pair = pairOf(response)
    t.equal(await me(bearer(pair.token)), 200)
    t.match(claimsOf(pair.token), { sub: 4, amr: ['otp'] })
    t.match(table[3], { id: 4, email: dora, password: null })
    t.match(events[0], [{ action: 'created', sub: '4' }])
    t.equal(await finish({ token: mail.token }), expired)
    t.match(app.authn.stats().mailLogin, { created: 1, mails: 1 })
    const again = await asked(dora)
    t.equal(await finish({ token: again.token, code: again.mail.code }), '200 tokens')
    t.equal(table.length, 4)
  }
})

t.test('of link and code at once, one makes an account and a session', async (t) => {
  const { app, asked, finish, table } = await mailApp(t, open)
  const { token, mail } = await asked(dora)
  const bodies = [{ token: mail.token }, { token, code: mail.code }]
  const answers = await Promise.all([...bodies, ...bodies, ...bodies].map((body) => finish(body)))
  t.equal(answers.filter((answer) => answer === '200 tokens').length, 1)
  for (const answer of answers)
    t.match(answer, /^200 tokens$|^401 ERR_AUTH_LOGIN|^403 ERR_AUTH_MAIL/)
  t.equal(table.length, 4)
  t.equal((await app.authn.sessions.list(4)).length, 1)
})

t.test('an address that was taken since changes nothing', async (t) => {
  const { asked, finish, tokenOf, send, table, stored } = await mailApp(t, open)
  const [one, other] = [await asked(dora), await asked(dora)]
  const token = await tokenOf('/sign-up', { email: dora })
  t.equal(await send('/sign-up/finish', { token, password: newPassword }), '200 tokens')
  const before = JSON.stringify(stored(4))
  t.equal(await finish({ token: one.mail.token }), expired)
  t.equal(await finish({ token: other.token, code: other.mail.code }), wrong)
  t.strictSame([table.length, JSON.stringify(stored(4))], [4, before])
})

t.test('an e-mail makes no second account after a deletion', async (t) => {
  const { asked, finish, table } = await mailApp(t, open)
  const { token, mail } = await asked(dora)
  t.equal(await finish({ token: mail.token }), '200 tokens')
  table.pop()
  t.equal(await finish({ token: mail.token }), expired)
  t.equal(await finish({ token, code: mail.code }), expired)
  t.equal(table.length, 3)
})

t.test('a store that is away makes no account', async (t) => {
  const store = breakable(heldStore().factory)
  const sessions = { store: store.factory }
  const { asked, finish, table } = await mailApp(t, open, { sessions })
  const { mail } = await asked(dora)
  store.failure = new Error('away')
  t.equal(await finish({ token: mail.token }), '503 ERR_AUTH_STORE_UNAVAILABLE')
  t.equal(table.length, 3)
  store.failure = null
  t.equal(await finish({ token: mail.token }), '200 tokens')
})

t.test('ten times, an e-mail can be tried for an account that cannot be stored', async (t) => {
  const create = () => {
    throw new Error('the database is away')
  }
  const { asked, finish } = await mailApp(t, open, {}, { create })
  const { mail } = await asked(dora)
  for (let turn = 0; turn < 10; turn += 1)
    t.equal(await finish({ token: mail.token }), '500 ERR_AUTH_ACCOUNTS')
  t.equal(await finish({ token: mail.token }), expired)
})

t.test('without `signUp`, unknown addresses get no e-mail', async (t) => {
  const { ask, mails, asked, finish, table } = await mailApp(t)
  await ask(dora)
  t.strictSame(await mails(), [])
  table.push({ id: 4, email: dora, password: 'x' })
  t.equal(table.length, 4)
  const { mail } = await asked()
  table.shift()
  t.equal(await finish({ token: mail.token }), expired)
})

t.test(
  'an account that is not found yet, or that `accept` rejects, is not logged in',
  async (t) => {
    const table: AccountUser[] = [{ id: 1, email: 'alice@example.com', password: null }]
    let isBehind = true
    const users = accountsOver(table)
    const findByUsername = async (name: string | number) =>
      isBehind && name === dora ? undefined : users.findByUsername(name)
    const functions = { create: users.create, update: users.update }
    const userService = { findByUsername } as AuthnOptions['userService']
    const late = await mailApp(t, open, { userService }, functions)
    const { mail } = await late.asked(dora)
    t.equal(await late.finish({ token: mail.token }), '204')
    isBehind = false
    const again = await late.asked(dora)
    t.equal(await late.finish({ token: again.mail.token }), '200 tokens')

    const rejecting = await mailApp(t, { signUp: true, accept: () => false })
    const { token } = (await rejecting.asked(dora)).mail
    t.equal(await rejecting.finish({ token }), expired)
    t.equal(rejecting.table.length, 4)
  },
)

/** A whole app without passwords. */
async function withoutPasswords(t: Test, more: object = {}) {
  const sent: AccountMail[] = []
  const store = memoryUsers()
  const app = fastify(t)
  await app.register(authn, {
    users: { store },
    jwt: { secret },
    hashing: { cost },
    errorBody: ({ code }: { code: string }) => ({ code }),
    sessions: true,
    login: { passwords: false },
    accounts: {
      url: 'https://shop.example/account',
      sendMail: (mail: AccountMail) => void sent.push(mail),
      limits: { perRecipient: 1000 },
    },
    mailLogin: true,
    ...more,
  } as unknown as AuthnOptions)
  app.get('/me', { config: { auth: true } }, (request) => request.user)
  await app.ready()
  const client = clientOver(app)
  return {
    app,
    store: store.open(),
    ...client,
    async logIn(email = dora) {
      await client.post('/login/mail', { email })
      await app.authn.accounts.settled()
      const { token } = sent.splice(0)[0] as LogInMail
      return client.post('/login/mail/finish', { token })
    },
    sent,
  }
}

t.test('an app over the table of users needs no passwords', async (t) => {
  const { app, store, logIn, post, me, sent } = await withoutPasswords(t)
  t.equal((await post('/login', { email: dora, password: newPassword })).statusCode, 404)
  const first = bodyOf(await logIn())
  const second = bodyOf(await logIn())
  for (const { token } of [first, second]) t.equal(await me(bearer(token)), 200)
  const { id = '', email, password } = (await store.findByEmail(dora)) ?? {}
  t.strictSame([email, password], [dora, null])
  t.equal((await app.authn.sessions.list(id)).length, 2)
  await app.authn.users.disable(id, null)
  t.match(await post('/login/mail', { email: dora }), { statusCode: 202 })
  await app.authn.accounts.settled()
  t.strictSame(sent, [])
  await app.authn.users.enable(id, null)
  // It revokes the sessions once more, by a clock of milliseconds.
  await setTimeout(5)
  t.equal((await logIn()).statusCode, 200)
})

t.test('a user who is disabled meanwhile is not let in', async (t) => {
  const { app, store, logIn, post, sent } = await withoutPasswords(t)
  await logIn()
  const { id = '' } = (await store.findByEmail(dora)) ?? {}
  const asked = bodyOf(await post('/login/mail', { email: dora }))
  await app.authn.accounts.settled()
  const mail = sent.splice(0)[0] as LogInMail
  await app.authn.users.disable(id, null)
  for (const body of [{ token: mail.token }, { token: asked.token, code: mail.code }])
    t.match((await post('/login/mail/finish', body)).statusCode, /40[13]/)
  await app.authn.users.enable(id, null)
  t.equal(
    (await post('/login/mail/finish', { token: mail.token })).statusCode,
    401,
    'revoked since',
  )
})

t.test('a user whom an e-mail logs in gets no link to a first password', async (t) => {
  const login = {}
  const { app, post, logIn, sent } = await withoutPasswords(t, { login })
  t.equal((await post('/login/mail', { email: dora })).statusCode, 202)
  await app.authn.accounts.settled()
  t.strictSame(sent.splice(0), [], 'sign-up needs a password here')
  await app.authn.users.create({ email: dora }, null)
  t.equal((await logIn()).statusCode, 200)
  await post('/password/forgot', { email: dora })
  await app.authn.accounts.settled()
  t.match(sent, [{ kind: 'no-password' }])
})

t.test('accounts at providers and passkeys are not the last way in beside an e-mail', async (t) => {
  const issuer = 'https://corp.example'
  const cookies = { apps: true }
  const loginWith = { corp: { issuer, clientId: 'a', clientSecret: 'b' } }
  for (const [mailLogin, status] of [
    [true, 204],
    [{ accept: () => true }, 409],
  ] as const) {
    const { store, logIn, post } = await withoutPasswords(t, {
      cookies,
      loginWith,
      mailLogin,
    })
    await store.create(
      {
        id: '00000000-0000-4000-8000-000000000001',
        email: dora,
        password: null,
        name: null,
        roles: [],
        columns: {},
      },
      { provider: 'corp', issuer, subject: '7' },
    )
    const cookie = (await logIn()).cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
    const body = { issuer, subject: '7' }
    t.equal((await post('/identities/remove', body, { cookie })).statusCode, status)
  }
})

t.test(
  'without passwords, an invitation and a sign-up ask for none, and no route takes one',
  async (t) => {
    const { app, store, post, sent, logIn, me } = await withoutPasswords(t, {
      accounts: {
        url: 'https://shop.example/account',
        sendMail: (mail: AccountMail) => void sent.push(mail),
        signUp: false,
        remove: true,
      },
    })
    for (const url of ['forgot', 'reset', 'set', 'change'])
      t.equal((await post(`/password/${url}`, {})).statusCode, 404, url)
    await app.authn.accounts.invite(dora, { lang: 'en' } as never)
    const { token = '' } = sent.splice(0)[0] ?? {}
    const response = await post('/sign-up/finish', { token })
    t.equal(response.statusCode, 200, response.body)
    const again = await logIn()
    const headers = bearer(bodyOf(again).token)
    t.equal(await me(headers), 200)
    const { id = '' } = (await store.findByEmail(dora)) ?? {}
    await store.swap(id, { password: 'imported' }, { password: null })
    t.equal((await post('/account/delete', {}, headers)).statusCode, 204, 'a fresh login is enough')
  },
)
