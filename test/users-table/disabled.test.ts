// A disabled user gets in nowhere, and is told why only after proving who they are.
import t from 'tap'
import { jarOf, newPassword } from '../helpers/accounts.js'
import { answerOf, bodyOf } from '../helpers/client.js'
import { usersApp, watchedStore } from '../helpers/users-app.js'
import { basic } from '../helpers/app.js'

const email = 'dora@example.com'
const suspended = '403 ERR_AUTH_ACCOUNT_DISABLED'

t.test('every way in is closed at once, and only who proves it learns why', async (t) => {
  const found = await usersApp(t)
  const { app, create, enter, connect, addPasskey, enable, provide, logIn, send, me } = found
  const id = await create(email)
  const headers = await enter(email)
  await connect(headers, '1')
  const byPasskey = await addPasskey(headers)
  const { headers: strong } = await enable(jarOf(await byPasskey()))
  const half = bodyOf(await logIn(email)).secondFactor.token
  const { key } = await app.authn.apiKeys.issue({
    owner: id,
    name: 'job',
    scopes: [],
    expiresAt: null,
  })
  const keyed = { authorization: `Bearer ${key}` }
  t.equal((await app.inject({ url: '/key', headers: keyed })).statusCode, 200)
  await send('/password/forgot', { email })
  const [{ token = '' } = {}] = await found.mails()

  t.ok(await app.authn.users.disable(id, null))
  for (const other of [headers, strong]) t.equal(await me(other), 401)
  t.equal((await app.inject({ url: '/key', headers: keyed })).statusCode, 401)
  const named = { headers: basic(email, newPassword) }
  t.equal((await app.inject({ url: '/basic', ...named })).statusCode, 401)
  t.match(await send('/login/second-factor', { token: half, code: '123456' }), /^401/)
  t.equal(
    await send('/password/reset', { token, password: 'a third horse battery' }),
    '400 ERR_AUTH_LINK_INVALID',
  )

  t.equal(answerOf(await logIn(` ${email.toUpperCase()}`)), suspended)
  t.equal(answerOf(await logIn(email, 'a wrong password')), '401 ERR_AUTH_INVALID_CREDENTIALS')
  t.equal(answerOf(await byPasskey()), suspended)
  t.equal(answerOf((await provide('1')).response), suspended)

  const request = { lang: 'en', log: app.log } as never
  t.equal(await app.authn.accounts.invite(email, request), false)
  await send('/sign-up', { email })
  await send('/password/forgot', { email })
  t.strictSame(await found.mails(), [], 'no mail tells that there is an account')
  t.equal(await app.authn.users.create({ email }, null), null, 'the address stays taken')

  t.ok(await app.authn.users.enable(id, null))
  t.equal(answerOf(await logIn(email)), '202 code')
  for (const other of [headers, strong]) t.equal(await me(other), 401, 'old sessions stay revoked')
})

t.test('an address of a disabled user stays taken at a link, too', async (t) => {
  const { app, create, enter, send, mails } = await usersApp(t)
  const id = await create(email)
  await create('erik@example.com')
  await send('/sign-up', { email: 'new@example.com' })
  const [{ token = '' } = {}] = await mails()
  const headers = await enter('erik@example.com')
  const change = { email, currentPassword: newPassword }
  await app.authn.users.disable(id, null)
  await send('/email/change', change, headers)
  t.strictSame(
    (await mails()).map(({ kind }) => kind),
    ['email-change'],
  )
  await app.authn.users.create({ email: 'new@example.com' }, null)
  const finish = { token, password: newPassword }
  t.equal(await send('/sign-up/finish', finish), '400 ERR_AUTH_LINK_INVALID')
})

t.test('a user who is disabled while a login is under way gets no session', async (t) => {
  let then: (() => Promise<unknown>) | null = null
  let looked = 0
  const store = watchedStore(async (method) => {
    if (method !== 'findByEmail' && method !== 'find') return
    looked += 1
    if (looked < 2 || then === null) return
    const work = then
    then = null
    await work()
  })
  const { app, create, logIn } = await usersApp(t, { store })
  const id = await create(email)
  looked = 0
  then = () => app.authn.users.disable(id, null)
  t.match(
    answerOf(await logIn(email)),
    /^40[13] ERR_AUTH_(?:INVALID_CREDENTIALS|ACCOUNT_DISABLED)$/,
  )
  t.strictSame(await app.authn.sessions.list(id), [])
})

t.test('disabling twice changes nothing, and unknown users are told', async (t) => {
  const { app, create, actions } = await usersApp(t)
  const { users } = app.authn
  const id = await create(email)
  const unknown = id.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))
  for (const method of ['disable', 'enable'] as const) {
    t.ok(await users[method](id, null))
    t.ok(await users[method](id, null))
    for (const other of [unknown, id.toUpperCase(), 'x', ''])
      t.notOk(await users[method](other, null))
  }
  t.strictSame(actions(), ['disabled', 'enabled'])
})
