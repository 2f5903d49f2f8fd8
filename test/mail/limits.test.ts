// How many e-mails may be requested, and how many bad links may be tried. Nobody is locked out by it.
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import { clockOf } from '../helpers/clock.js'
import { accountsApp, answerOf, hash, newPassword, password } from '../helpers/accounts.js'
import { sessionOf } from '../helpers/client.js'
import { FakeRedis } from '../helpers/fake-redis.js'
import { retryAfterOf } from '../helpers/load.js'

const alice = 'alice@example.com'
const tooMany = '429 ERR_AUTH_TOO_MANY_MAILS'
const standard = { limits: undefined }

t.test('three e-mails to one address an hour, known or not, however it is spelled', async (t) => {
  const clock = clockOf(t)
  const { post, send, mails, enter } = await accountsApp(t, standard)
  for (const email of [alice, 'dora@example.com']) {
    const spellings = [email, ` ${email.toUpperCase()} `, email, email, email.toUpperCase()]
    const answers: unknown[] = []
    const url = email === alice ? '/password/forgot' : '/sign-up'
    for (const spelling of spellings) {
      const { statusCode, headers } = await post(url, { email: spelling })
      answers.push([statusCode, headers['retry-after'], headers['cache-control']])
    }
    const good = [202, undefined, 'no-store']
    const bad = [429, '3600', 'no-store']
    t.strictSame(answers, [good, good, good, bad, bad], email)
  }
  const sent = await mails()
  t.strictSame(
    sent.map(({ kind }) => kind),
    ['reset', 'reset', 'reset', 'sign-up', 'sign-up', 'sign-up'],
  )
  clock.advance(3000)
  const response = await post('/password/forgot', { email: alice })
  t.equal(answerOf(response), tooMany)
  t.equal(retryAfterOf(response), 600)
  t.equal(await enter(alice, password), 200, 'is not locked out')
  const [{ token } = { token: '' }] = sent
  t.equal(await send('/password/reset', { token, password: newPassword }), '204', 'its links work')
  t.match(await mails(), [{ kind: 'password-changed' }], 'which has no limit')
  clock.advance(601)
  t.equal(await send('/password/forgot', { email: alice }), '202 {}')
})

t.test('a change of address is counted by its account', async (t) => {
  const { send, post, logIn, mails, stored } = await accountsApp(t, standard)
  const [mallory, own] = [await logIn(2), await logIn()]
  const change = { email: 'alice@new.example', currentPassword: password }
  const wrong = { ...change, currentPassword: newPassword }
  for (let each = 0; each < 4; each += 1)
    t.equal(await send('/email/change', wrong, mallory), '403 ERR_AUTH_CURRENT_PASSWORD')
  for (const answer of ['202 {}', '202 {}', '202 {}', tooMany])
    t.equal(await send('/email/change', change, mallory), answer)
  t.equal(await send('/email/change', { ...change, email: 'b@new.example' }, mallory), tooMany)
  const renewal = { currentPassword: password, password: newPassword }
  const renewed = sessionOf(await post('/password/change', renewal, mallory))
  const again = { ...change, currentPassword: newPassword }
  t.equal(await send('/email/change', again, renewed), tooMany, 'after a new password too')
  await mails()
  t.equal(await send('/email/change', change, own), '202 {}', 'nobody else is kept from it')
  const confirm = (await mails()).find(({ kind }) => kind === 'email-confirm')
  t.equal((await post('/email/confirm', { token: confirm?.token }, own)).statusCode, 204)
  t.equal(stored(1)?.email, 'alice@new.example')
})

t.test('requests that send no e-mail do not count against the limit', async (t) => {
  const { send, mails, tokenOf } = await accountsApp(t, standard)
  const dora = { email: 'dora@example.com' }
  for (const answer of ['202 {}', '202 {}', '202 {}', tooMany])
    t.equal(await send('/password/forgot', dora), answer)
  t.strictSame(await mails(), [])
  const token = await tokenOf('/sign-up', dora)
  t.equal(await send('/sign-up/finish', { token, password: newPassword }), '200 tokens')
  t.ok(await tokenOf('/password/forgot', dora), 'nor those of the account that she has then')
})

t.test(
  'a mailbox is counted by its stored address, whatever was typed and asked for',
  async (t) => {
    const row = { id: 1, email: 'Alice@example.com', password: hash }
    const userService = { findByUsername: () => ({ ...row }) }
    const { send, mails } = await accountsApp(t, standard, { userService })
    for (const email of ['alice', 'a.lice', 'al.ice', 'ali.ce', 'alic.e']) {
      for (const url of ['/sign-up', '/password/forgot'])
        t.equal(await send(url, { email: `${email}@example.com` }), '202 {}')
    }
    t.strictSame(
      (await mails()).map(({ to }) => to),
      [row.email, row.email, row.email],
    )
  },
)

t.test('the count of e-mails restarts when their links expire or one is used', async (t) => {
  const clock = clockOf(t)
  const { post, send, logIn, tokenOf } = await accountsApp(t, { ...standard, linkExpiry: 300 })
  const forgot = { email: alice }
  for (let each = 0; each < 3; each += 1) await tokenOf('/password/forgot', forgot)
  const response = await post('/password/forgot', forgot)
  t.equal(answerOf(response), tooMany)
  t.equal(retryAfterOf(response), 300)
  clock.advance(301)
  for (let each = 0; each < 2; each += 1) await tokenOf('/password/forgot', forgot)
  const token = await tokenOf('/password/forgot', forgot)
  t.equal(await send('/password/reset', { token, password: newPassword }), '204')
  t.ok(await tokenOf('/password/forgot', forgot))
  const change = { email: 'alice@new.example', currentPassword: newPassword }
  for (let each = 0; each < 3; each += 1) {
    const token = await tokenOf('/email/change', change, await logIn())
    t.equal(typeof token, 'string')
  }
})

t.test('ten passwords can be tried with a link, by all clients together', async (t) => {
  const tried: string[] = []
  const acceptPassword = (given: string): boolean => tried.push(given) > 30
  const { from, table, asked, tokenOf, logIn } = await accountsApp(t, { acceptPassword })
  const links = [
    ['/sign-up/finish', await tokenOf('/sign-up', { email: 'dora@example.com' })],
    ['/password/reset', await tokenOf('/password/forgot', { email: alice })],
  ] as const
  t.ok(await logIn())
  for (const [url, token] of links) {
    tried.length = 0
    asked.length = 0
    const answers: string[] = []
    for (let each = 0; each < 13; each += 1) {
      const body = { token, password: `${newPassword} ${each}` }
      answers.push(await from(`192.0.2.${each}`, url, body))
    }
    const [rejected, invalid] = ['400 ERR_AUTH_PASSWORD_GUESSABLE', '400 ERR_AUTH_LINK_INVALID']
    t.strictSame(answers, [...Array(10).fill(rejected), ...Array(3).fill(invalid)], url)
    t.strictSame([tried.length, asked.length], [10, 10], url)
  }
  t.equal(table.length, 3)
})

t.test('thirty e-mails from one address or IPv6 host, whoever gets them', async (t) => {
  const { from } = await accountsApp(t, standard)
  let count = 0
  const ask = (ip: string) => from(ip, '/sign-up', { email: `user${(count += 1)}@example.com` })
  const thirty = async (ip: string): Promise<void> => {
    for (let each = 0; each < 30; each += 1) t.equal(await ask(ip), '202 {}', ip)
    t.equal(await ask(ip), tooMany, ip)
  }
  await thirty('192.0.2.1')
  t.equal(await ask('192.0.2.2'), '202 {}')
  for (const id of [1, 2, 3, 4]) await thirty(`2001:db8:1:10${id}::1`)
  t.equal(await ask('2001:db8:1:1ff::1'), tooMany, 'its /56, once four hosts are')
  t.equal(await ask('2001:db8:1:201::1'), '202 {}', 'a neighbour')
  t.equal(await ask('64:ff9b::192.0.2.1'), tooMany, 'behind NAT64')
  t.equal(await ask('::ffff:192.0.2.1'), tooMany, 'is the same address')
})

t.test('a request that is over one limit does not count for the other one', async (t) => {
  const { from } = await accountsApp(t, { limits: { perRecipient: 1, perAddress: 2 } })
  const ask = (email: string, ip: string) => from(ip, '/sign-up', { email })
  const [one, other] = ['192.0.2.1', '192.0.2.2'] as const
  t.equal(await ask('a@example.com', one), '202 {}')
  for (let each = 0; each < 3; each += 1) t.equal(await ask('a@example.com', one), tooMany)
  t.equal(await ask('b@example.com', one), '202 {}')
  for (let each = 0; each < 3; each += 1) t.equal(await ask('c@example.com', one), tooMany)
  t.equal(await ask('c@example.com', other), '202 {}', 'c has had none')
})

t.test('limits hold for simultaneous requests, and with throttle: false', async (t) => {
  const { send, mails } = await accountsApp(t, standard, { throttle: false })
  const all = Array.from({ length: 20 }, () => send('/password/forgot', { email: alice }))
  const answers = await Promise.all(all)
  t.equal(answers.filter((answer) => answer === '202 {}').length, 3)
  t.equal(answers.filter((answer) => answer === tooMany).length, 17)
  t.equal((await mails()).length, 3)
  const token = 'a.b.c'
  for (let each = 0; each < 20; each += 1)
    t.equal(await send('/password/reset', { token, password }), '400 ERR_AUTH_LINK_INVALID')
})

t.test('limits and their window can be set, and are those of one registration', async (t) => {
  const clock = clockOf(t)
  const { send } = await accountsApp(t, { limits: { perRecipient: 1, window: 60 } })
  t.equal(await send('/sign-up', { email: alice }), '202 {}')
  t.equal(await send('/sign-up', { email: alice }), tooMany)
  clock.advance(61)
  t.equal(await send('/sign-up', { email: alice }), '202 {}')
  const other = await accountsApp(t, { limits: { perRecipient: 1 } })
  t.equal(await other.send('/sign-up', { email: alice }), '202 {}')
})

t.test('bad links count like bad refresh tokens, and good ones still work', async (t) => {
  const throttle = { perUsername: 3, perAddress: 6, window: 900 }
  const setting = await accountsApp(t, {}, { throttle })
  const { send, post, tokenOf, enter, logIn } = setting
  const headers = await logIn()
  const bad = { password: newPassword, token: 'a.b.c' }
  const invalid = '400 ERR_AUTH_LINK_INVALID'
  const throttled = '429 ERR_AUTH_TOO_MANY_ATTEMPTS'
  for (let each = 0; each < 3; each += 1)
    t.equal(await send('/password/reset', bad), invalid, 'the same link again and again')
  const response = await post('/sign-up/finish', bad)
  t.equal(answerOf(response), throttled)
  t.ok(retryAfterOf(response) > 0)
  for (const [each, url] of ['/sign-up/finish', '/password/reset', '/email/confirm'].entries())
    t.equal(await send(url, { ...bad, token: `a.b.${each}` }, headers), invalid, 'other links')
  t.equal(await send('/password/reset', { ...bad, token: 'a.b.d' }), throttled)
  t.equal(await enter(alice, password), 200, 'apart from passwords')
  const token = await tokenOf('/password/forgot', { email: alice })
  t.equal(await send('/password/reset', { ...bad, token }), '204')
  const used = await post('/password/reset', { ...bad, token })
  t.equal(answerOf(used), throttled)
})

t.test('the 429 of a limit is the same for known and unknown addresses', async (t) => {
  const { post } = await accountsApp(t, { limits: { perRecipient: 1 } })
  const found = new Set<string>()
  for (const email of [alice, 'carol@example.com', 'dora@example.com']) {
    await post('/password/forgot', { email })
    const { statusCode, headers, body } = await post('/password/forgot', { email })
    found.add(JSON.stringify([statusCode, { ...headers, date: '' }, body]))
  }
  t.equal(found.size, 1)
})

t.test('strangers at other tenants use up no e-mails of a user', async (t) => {
  const users = [
    { id: 1, tenant: 'globex', email: alice, password: hash },
    { id: 2, tenant: 'acme', email: alice, password: hash },
  ]
  const findByUsername = (name: string | number, { headers }: FastifyRequest) =>
    users.find(
      ({ id, tenant, email }) => tenant === headers['x-tenant'] && [id, email].includes(name),
    )
  const { from, mails } = await accountsApp(t, standard, { userService: { findByUsername } })
  let clients = 0
  const forgot = (tenant: string) =>
    from(`192.0.2.${(clients += 1)}`, '/password/forgot', { email: alice }, { 'x-tenant': tenant })
  for (const tenant of ['none', 'none', 'none', 'none', 'acme', 'acme', 'acme', 'acme'])
    t.equal(await forgot(tenant), '202 {}')
  t.equal((await mails()).length, 3, 'of acme')
  t.equal(await forgot('globex'), '202 {}')
  t.match(await mails(), [{ kind: 'reset', to: alice, user: { id: 1 } }])
})

t.test('a mailbox gets few e-mails by changes of address, of all accounts', async (t) => {
  const table = Array.from({ length: 6 }, (_, id) => {
    return { id, email: `user${id}@example.com`, password: hash }
  })
  const { send, mails, logIn } = await accountsApp(t, standard, {
    userService: {
      findByUsername: (name) => table.find(({ id, email }) => [id, email].includes(name as never)),
    },
  })
  const to = 'victim@elsewhere.example'
  const change = { email: to, currentPassword: password }
  for (const { id } of table) {
    const headers = await logIn(id)
    for (const answer of ['202 {}', '202 {}', '202 {}', tooMany])
      t.equal(await send('/email/change', change, headers), answer)
  }
  t.equal((await mails()).filter((mail) => mail.to === to).length, 6)
  t.equal(await send('/sign-up', { email: to }), '202 {}')
  t.match(await mails(), [{ kind: 'sign-up', to }], 'its owner can sign up')
  const { send: other, logIn: enter, tokenOf } = await accountsApp(t, standard)
  const bob = await enter(2)
  for (const answer of ['202 {}', '202 {}', '202 {}', tooMany])
    t.equal(await other('/email/change', { ...change, email: alice }, bob), answer)
  t.ok(await tokenOf('/password/forgot', { email: alice }), 'one that has an account')
})

t.test('registrations with one Redis count apart', async (t) => {
  const throttle = { redis: new FakeRedis(), keyPrefix: 'shop' }
  const subject = (user: object) => (user as { id: number }).id
  const login = { path: '/staff/login', usernameField: 'email', subject }
  const shop = await accountsApp(t, standard, { throttle })
  const staff = await accountsApp(t, standard, { throttle, login })
  const change = { email: 'new@example.com', currentPassword: password }
  const [customer, member] = [await shop.logIn(), await staff.logIn()]
  for (const answer of ['202 {}', '202 {}', '202 {}', tooMany]) {
    t.equal(await shop.send('/email/change', change, customer), answer)
    t.equal(await shop.send('/password/forgot', { email: alice }), answer)
  }
  t.equal(await staff.send('/staff/email/change', change, member), '202 {}')
  t.equal(await staff.send('/staff/password/forgot', { email: alice }), '202 {}')
  t.ok((await staff.mails()).some(({ kind }) => kind === 'reset'))
})
