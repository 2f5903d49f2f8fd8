// app.authn.users: find, list, create, change and remove users, and what the table takes.
import { randomUUID } from 'node:crypto'
import t from 'tap'
import { channels, type UserEvent, type Users } from '../../lib/index.js'
import { memoryUsers } from '../../lib/users-table/index.js'
import { jarOf, newPassword } from '../helpers/accounts.js'
import { answerOf } from '../helpers/client.js'
import { usersApp } from '../helpers/users-app.js'

const code = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'done',
    (error: unknown) => (error as { code: string }).code,
  )

t.test('a user is created, found, changed and removed', async (t) => {
  const { app, actions, enter, me, logIn } = await usersApp(t)
  const { users } = app.authn
  const given = {
    email: ' Dora@BÜCHER.example',
    name: 'Dora',
    roles: ['admin'],
    password: newPassword,
    plan: 'gold',
  }
  const made = await users.create(given, null)
  const id = String(made?.id)
  t.match(id, /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/)
  const email = 'dora@xn--bcher-kva.example'
  const shown = { id, email, name: 'Dora', roles: ['admin'], plan: 'gold', disabledAt: null }
  t.match(made, { ...shown, createdAt: Date })
  t.strictSame(await users.find(id), made)
  t.strictSame(await users.findByEmail('DORA@bücher.example '), made)
  for (const hidden of ['password', 'secondFactor']) t.notOk(hidden in (made ?? {}), hidden)
  for (const none of [id.toUpperCase(), '1', 'dora', '']) t.equal(await users.find(none), null)
  t.equal(await users.findByEmail('nobody'), null)
  t.strictSame(await users.identities(randomUUID()), [])
  t.strictSame(await users.list({ role: 'a\0' }), { users: [], next: null })
  t.equal(await users.create({ email: 'dora@bücher.EXAMPLE' }, null), null, 'the address is taken')

  const headers = await enter(email)
  t.match((await app.inject({ url: '/me', headers })).json(), { id, roles: ['admin'] })
  t.equal(await users.update(id, { roles: [], plan: null }, null), true)
  t.match(await users.find(id), { name: 'Dora', roles: [], plan: null })
  t.equal(await users.update('1', { name: 'x' }, null), false)

  const { key } = await app.authn.apiKeys.issue({
    owner: id,
    name: 'job',
    scopes: [],
    expiresAt: null,
  })
  t.equal(await users.remove(id, null), true)
  t.equal(await users.remove(id, null), false)
  t.equal(await me(headers), 401)
  t.equal(
    (await app.inject({ url: '/key', headers: { authorization: `Bearer ${key}` } })).statusCode,
    401,
  )
  t.ok((await app.authn.apiKeys.list(id)).every(({ revokedAt }) => revokedAt !== null))
  t.equal(answerOf(await logIn(email)), '401 ERR_AUTH_INVALID_CREDENTIALS')
  t.strictSame(actions(), ['created', 'updated', 'removed'])
})

t.test('what is no address, name or role is refused before anything is stored', async (t) => {
  const { app, create } = await usersApp(t)
  const { users } = app.authn
  const id = await create('dora@example.com')
  const emails = ['', 'dora', 'a@b@c', 'a\0@b.example', 7]
  for (const email of emails)
    t.equal(await code(users.create({ email } as never, null)), 'ERR_AUTH_CLAIMS', String(email))
  const long = (count: number) => 'x'.repeat(count)
  const names = [long(201), 'a\nb', 'a\0', '\ud800', 7, {}]
  const roles = [[''], [long(101)], ['a\tb'], ['\udc00'], 'admin', Array(101).fill('a'), [7]]
  for (const bad of [
    ...names.map((name) => ({ name })),
    ...roles.map((each) => ({ roles: each })),
  ]) {
    const both = [
      users.create({ email: null, ...bad } as never, null),
      users.update(id, bad as never, null),
    ]
    for (const work of both) t.equal(await code(work), 'ERR_AUTH_CLAIMS', JSON.stringify(bad))
  }
  t.equal((await users.list()).users.length, 1)
  const most = { name: long(200), roles: Array(100).fill(long(100)) }
  t.equal(await users.update(id, most, null), true)
})

t.test(
  'only columns of the app are stored, and errors name others without their value',
  async (t) => {
    const store = memoryUsers({ columns: ['plan'] })
    const { app, send, mails, lines } = await usersApp(t, {
      store,
      newUser: (_: object, { query }: { query: object }) => query,
    })
    const { users } = app.authn
    const own = [
      'id',
      'ID',
      'password',
      'second_factor',
      'SecondFactor',
      'disabled_at',
      'disabledAt',
      'created-at',
      '__proto__',
      'toString',
      'unknown',
    ]
    for (const column of own) {
      const columns = JSON.parse(
        `{ "email": null, ${JSON.stringify(column)}: "a secret" }`,
      ) as never
      if (column === 'password') continue
      t.equal(await code(users.create(columns, null)), 'ERR_AUTH_USERS', column)
    }
    const id = String((await users.create({ email: null, plan: 'gold' }, null))?.id)
    t.equal(await code(users.update(id, { email: 'x@example.com' }, null)), 'ERR_AUTH_USERS')
    t.match(await users.find(id), { plan: 'gold', email: null })

    await send('/sign-up', { email: 'erik@example.com' })
    const [{ token = '' } = {}] = await mails()
    const finish = (query: string) =>
      send(`/sign-up/finish?${query}`, { token, password: newPassword })
    t.match(await finish('roles=admin'), '500')
    t.match(await finish('other=a+secret'), '500')
    t.match(await finish('plan=%00'), '403 ERR_AUTH_FORBIDDEN')
    t.notOk(lines.some((line) => line.includes('a secret')))
    t.match(await finish('plan=free&name=Erik'), /^200/)
    t.match(await users.findByEmail('erik@example.com'), { plan: 'free', name: 'Erik', roles: [] })
  },
)

t.test('users are listed in pages', async (t) => {
  const { app, create } = await usersApp(t)
  const { users } = app.authn
  const emails = ['a_1@example.com', 'a%2@example.com', 'ab3@example.com', 'b4@example.com']
  const ids: string[] = []
  for (const email of emails)
    ids.push(await create(email, { roles: email.startsWith('a') ? ['a'] : [] }))
  await users.disable(ids[1] ?? '', null)
  const all = async (filter: Parameters<Users['list']>[0]) => {
    const found: (string | null)[] = []
    for (let after: string | undefined, left = 9; left > 0; left -= 1) {
      const page = await users.list({ ...filter, limit: 2, after })
      found.push(...page.users.map(({ email }) => email))
      if (page.next === null) return found
      after = page.next
    }
    return 'no end'
  }
  t.strictSame(await all({}), emails.toReversed(), 'the newest first')
  t.strictSame(await all({ email: 'a' }), emails.slice(0, 3).toSorted(), 'by address')
  t.strictSame(await all({ email: 'a_' }), ['a_1@example.com'])
  t.strictSame(await all({ email: 'a%' }), ['a%2@example.com'])
  t.strictSame(await all({ disabled: true }), [emails[1]])
  t.strictSame(await all({ disabled: false, role: 'a' }), ['ab3@example.com', 'a_1@example.com'])
  for (const filter of [
    { limit: 0 },
    { limit: 201 },
    { limit: 1.5 },
    { after: 'x' },
    { after: '' },
  ])
    t.equal(await code(users.list(filter)), 'ERR_AUTH_CLAIMS', JSON.stringify(filter))
})

t.test('who has no way in chooses a first password by a link, and others do not', async (t) => {
  const { app, provide, send, mails, addPasskey, create, store } = await usersApp(t)
  const forgot = async (email: string) => {
    await send('/password/forgot', { email })
    return (await mails()).map(({ kind }) => kind)
  }
  await app.authn.users.create({ email: 'new@example.com' }, null)
  t.strictSame(await forgot('new@example.com'), ['reset'])
  await provide('1', { email: 'erik@example.com', email_verified: true })
  t.strictSame(await forgot('erik@example.com'), ['no-password'])
  const other = await app.authn.users.create({ email: 'old@example.com' }, null)
  const gone = { provider: 'gone', issuer: 'https://gone.example', subject: '1' }
  await store.link(String(other?.id), gone)
  t.strictSame(
    await forgot('old@example.com'),
    ['reset'],
    'its provider is not configured any more',
  )
  const id = await create('key@example.com')
  await addPasskey(
    jarOf(
      await app.inject({
        method: 'POST',
        url: '/login',
        payload: { email: 'key@example.com', password: newPassword },
      }),
    ),
  )
  const { password } = (await store.find(id)) ?? {}
  await store.swap(id, { password: null }, { password: password ?? null })
  t.strictSame(await forgot('key@example.com'), ['no-password'])
})

t.test('a deletion by the user takes all along, and events have the request', async (t) => {
  const { create, enter, send, me, app, addPasskey, store } = await usersApp(t)
  const id = await create('dora@example.com')
  const headers = await enter('dora@example.com')
  await addPasskey(await enter('dora@example.com'))
  const seen: UserEvent[] = []
  const listen = (event: UserEvent) => void seen.push(event)
  channels.user.subscribe(listen)
  t.teardown(() => channels.user.unsubscribe(listen))
  t.match(
    await send('/account/delete', { currentPassword: newPassword }, headers),
    /^401/,
    'with a passkey',
  )
  const [passkey] = await store.passkeys(id)
  await store.removePasskey(id, String(passkey?.id), null)
  t.equal(await send('/account/delete', { currentPassword: newPassword }, headers), '204')
  t.match(seen, [
    { action: 'removed', sub: id, registration: '/', request: { url: '/account/delete' } },
  ])
  t.equal(await me(headers), 401)
  t.strictSame((await app.authn.users.list()).users, [])
})
