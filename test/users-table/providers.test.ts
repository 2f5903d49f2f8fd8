// First logins at providers over the table of users, linking, and the last way to log in.
import { randomUUID } from 'node:crypto'
import t from 'tap'
import { github, microsoft } from '../../lib/providers/index.js'
import { memoryUsers } from '../../lib/users-table/index.js'
import { jarOf } from '../helpers/accounts.js'
import { answerOf } from '../helpers/client.js'
import { AuthenticationError, type NewUserAccount } from '../../lib/index.js'
import { issuers, usersApp, watchedStore } from '../helpers/users-app.js'

const verified = { email: ' Dora@Example.com', email_verified: true }

t.test('a first login makes a user, and later ones find it', async (t) => {
  const { app, provide, actions } = await usersApp(t, {
    newUser: ({ email, provider, claims }: NewUserAccount) => ({
      name: claims?.name,
      nick: `${email} ${provider}`,
    }),
  })
  const first = await provide('1', { ...verified, name: 'Dora' })
  const { id, ...user } = (await app.inject({ url: '/me', headers: first.headers })).json<{
    id: string
  }>()
  t.match(user, { email: 'dora@example.com', name: 'Dora', roles: [] })
  t.match(user, { nick: 'dora@example.com corp' }, 'with a column of the app')
  const again = await provide('1', { email: 'other@example.com', email_verified: true })
  t.match((await app.inject({ url: '/me', headers: again.headers })).json(), { id, ...user })
  t.match(await app.authn.users.identities(id), [
    { provider: 'corp', issuer: issuers.corp, subject: '1', created: Date },
  ])
  t.strictSame(actions(), ['created'])
})

t.test('an address is stored only if it is verified, and is one', async (t) => {
  const { app, provide } = await usersApp(t)
  const bad: object[] = [
    { email: 'a@example.com' },
    { email: 'a@example.com', email_verified: 'true' },
    { email: 'a@example.com', email_verified: false },
    { email: 'no address', email_verified: true },
    { email: ['a@example.com'], email_verified: true },
    { email_verified: true },
  ]
  for (const [at, claims] of bad.entries()) {
    const { headers } = await provide(`odd ${at}`, claims)
    const { email } = (await app.inject({ url: '/me', headers })).json<{ email: unknown }>()
    t.equal(email, null, JSON.stringify(claims))
  }
})

t.test('an address that has an account is not taken over', async (t) => {
  for (const more of [{}, { signUp: false }]) {
    const { create, provide, enter, connect, send, app } = await usersApp(t, more)
    const id = await create('dora@example.com')
    t.equal(answerOf((await provide('1', verified)).response), '409 ERR_AUTH_ACCOUNT_EXISTS')
    await app.authn.users.disable(id, null)
    t.equal(answerOf((await provide('1', verified)).response), '409 ERR_AUTH_ACCOUNT_EXISTS')
    await app.authn.users.enable(id, null)
    const headers = await enter('dora@example.com')
    t.equal((await connect(headers, '1')).response.statusCode, 303)
    t.equal((await provide('1', verified)).response.statusCode, 303, 'after a link')
    t.equal(
      await send('/identities/remove', { issuer: issuers.corp, subject: '1' }, headers),
      '204',
    )
  }
})

t.test('where providers make no accounts, or the app rejects one', async (t) => {
  const closed = await usersApp(t, { signUp: false })
  t.equal(answerOf((await closed.provide('1', verified)).response), '403 ERR_AUTH_LOGIN_REFUSED')
  const strict = await usersApp(t, {
    newUser({ claims }: { claims: { name?: string } }) {
      if (claims.name === undefined) throw new AuthenticationError('Not from here.')
      return { name: claims.name }
    },
  })
  t.equal(answerOf((await strict.provide('1')).response), '401 ERR_AUTH_REFUSED')
  for (const name of ['x'.repeat(201), 'a\nb', '\ud800', 7])
    t.equal(answerOf((await strict.provide('1', { name })).response), '403 ERR_AUTH_FORBIDDEN')
  t.equal((await strict.app.authn.users.list()).users.length, 0)
})

t.test('where another first login, or a sign-up, comes between', async (t) => {
  const factory = memoryUsers()
  const inner = factory.open()
  let between: object | null = null
  const row = { id: randomUUID(), email: null, password: null, name: null, roles: [], columns: {} }
  const store = watchedStore(async (method) => {
    if (method !== 'create' || between === null) return
    const identity = { provider: 'corp', issuer: issuers.corp, subject: '1' }
    await inner.create({ ...row, ...between }, 'email' in between ? null : identity)
    between = null
  }, factory)
  const { app, provide } = await usersApp(t, { store })
  between = {}
  const { headers, response } = await provide('1', verified)
  t.equal(response.statusCode, 303)
  t.match((await app.inject({ url: '/me', headers })).json(), { id: row.id })
  between = { id: randomUUID(), email: 'erik@example.com' }
  const taken = await provide('2', { email: 'erik@example.com', email_verified: true })
  t.equal(answerOf(taken.response), '409 ERR_AUTH_ACCOUNT_EXISTS')
  t.equal((await app.authn.users.list()).users.length, 2)
})

t.test('users see and remove their accounts at providers, but never the last way in', async (t) => {
  const { app, provide, connect, send, post, addPasskey, store, create, enter } = await usersApp(t)
  const { headers } = await provide('1', verified)
  await connect(headers, '2', 'club')
  const listed = await app.inject({ url: '/identities', headers })
  t.match(listed.json(), [
    { provider: 'corp', issuer: issuers.corp, subject: '1', created: String },
    { provider: 'club', subject: '2' },
  ])
  const remove = (issuer: string, subject: unknown) =>
    send('/identities/remove', { issuer, subject }, headers)
  for (const subject of ['3', '1 ', '\0', '\ud800'])
    t.equal(await remove(issuers.corp, subject), '404 ERR_AUTH_NOT_FOUND', JSON.stringify(subject))
  t.match(await remove(issuers.corp, 1), /^400/)
  const both = [remove(issuers.corp, '1'), remove(issuers.club, '2')]
  t.strictSame((await Promise.all(both)).toSorted(), ['204', '409 ERR_AUTH_IDENTITY_LAST'])

  const [left] = (await app.inject({ url: '/identities', headers })).json<
    { issuer: string; subject: string }[]
  >()
  const byPasskey = await addPasskey(headers)
  const strong = jarOf(await byPasskey())
  const id = String((await app.authn.users.list()).users[0]?.id)
  const [passkey] = await store.passkeys(id)
  const ways = [
    send('/identities/remove', left, strong),
    send('/passkeys/remove', { id: passkey?.id }, strong),
  ]
  const answers = (await Promise.all(ways)).toSorted()
  t.equal(answers.filter((each) => each === '204').length, 1, answers.join())

  const keyed = await provide('5')
  const login = await addPasskey(keyed.headers)
  const inside = jarOf(await login())
  const only = { issuer: issuers.corp, subject: '5' }
  t.equal(await send('/identities/remove', only, inside), '204')
  const { passkeys } = (await app.inject({ url: '/passkeys', headers: inside })).json<{
    passkeys: { id: string }[]
  }>()
  t.equal(
    await send('/passkeys/remove', { id: passkeys[0]?.id }, inside),
    '409 ERR_AUTH_PASSKEY_LAST',
  )
  const { id: owner } = (await app.inject({ url: '/me', headers: inside })).json<{ id: string }>()
  await store.link(owner, { provider: 'corp', ...only })
  t.equal(await send('/passkeys/remove', { id: passkeys[0]?.id }, inside), '204')
  await addPasskey(inside)
  await store.unlink(owner, only.issuer, only.subject, {
    password: false,
    passkeys: true,
    issuers: [],
  })
  const bySupport = await post('/support/passkeys', { id: owner })
  t.strictSame(bySupport.json(), { removed: 1 }, 'the last way in too')

  await create('erik@example.com')
  const withPassword = await enter('erik@example.com')
  await connect(withPassword, '9')
  const last = { issuer: issuers.corp, subject: '9' }
  t.equal(await send('/identities/remove', last, withPassword), '204', 'a password is left')
  t.equal(await send('/identities/remove', last), '401 ERR_AUTH_NO_CREDENTIALS')
})

t.test('an identity of another user, or of a provider that is gone, is no way in', async (t) => {
  const { provide, connect, send, store, app } = await usersApp(t)
  const { headers } = await provide('1')
  await provide('2')
  t.equal(answerOf((await connect(headers, '2')).response), '409 ERR_AUTH_LINK_TAKEN')
  const id = String((await app.authn.users.list()).users[1]?.id)
  await store.link(id, { provider: 'old', issuer: 'https://old.example', subject: '1' })
  const only = { issuer: issuers.corp, subject: '1' }
  t.equal(await send('/identities/remove', only, headers), '409 ERR_AUTH_IDENTITY_LAST')
})

t.test('an account of a tenant is a way to log in as others are', async (t) => {
  const tid = randomUUID()
  const corp = microsoft({
    clientId: 'a',
    clientSecret: 'b',
    tenant: 'common',
    tenants: () => true,
  })
  const club = github({ clientId: 'a', clientSecret: 'b' })
  const { provide, connect, send, me } = await usersApp(t, {}, { loginWith: { corp, club } })
  const { headers } = await provide('1', { tid })
  const issuer = `https://login.microsoftonline.com/${tid}/v2.0`
  t.equal(
    await send('/identities/remove', { issuer, subject: '1' }, headers),
    '409 ERR_AUTH_IDENTITY_LAST',
  )
  t.equal((await connect(headers, '7', 'club')).response.statusCode, 303)
  const linked = { issuer: club.issuer, subject: '7' }
  t.equal(await send('/identities/remove', linked, headers), '204', 'that of the tenant is left')
  t.equal(await me(headers), 200)
})
