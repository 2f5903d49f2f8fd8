// How many e-mails may be requested, and how many bad links may be tried. Nobody is locked out by it.
import t from 'tap'
import { accountsApp, answerOf, movedClock, newPassword, password } from '../helpers/accounts.js'
import { retryAfterOf } from '../helpers/load.js'

const alice = 'alice@example.com'
const tooMany = '429 ERR_AUTH_TOO_MANY_MAILS'
const standard = { limits: undefined }

t.test('three e-mails to one address an hour, known or not, however it is spelled', async (t) => {
  const clock = movedClock(t)
  const { app, post, send, mails, enter } = await accountsApp(t, standard)
  for (const email of [alice, 'dora@example.com']) {
    const spellings = [email, ` ${email.toUpperCase()} `, email, email, email.toUpperCase()]
    const answers: unknown[] = []
    const url = email === alice ? '/password/forgot' : '/sign-up'
    for (const [each, spelling] of spellings.entries()) {
      const { statusCode, headers } = await app.inject({
        method: 'POST',
        url,
        payload: { email: spelling },
        remoteAddress: `192.0.2.${each}`,
      })
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
  clock.ahead(3000)
  const response = await post('/password/forgot', { email: alice })
  t.equal(answerOf(response), tooMany)
  t.equal(retryAfterOf(response), 600)
  t.equal(await enter(alice, password), 200, 'is not locked out')
  const [{ token } = { token: '' }] = sent
  t.equal(await send('/password/reset', { token, password: newPassword }), '204', 'its links work')
  t.match(await mails(), [{ kind: 'password-changed' }], 'which has no limit')
  clock.ahead(601)
  t.equal(await send('/password/forgot', { email: alice }), '202 {}')
})

t.test('a change of address counts too, after the password', async (t) => {
  const { send, logIn, mails } = await accountsApp(t, standard)
  const headers = await logIn()
  const email = 'alice@new.example'
  const wrong = { email, currentPassword: newPassword }
  for (let each = 0; each < 4; each += 1)
    t.equal(await send('/email/change', wrong, headers), '403 ERR_AUTH_CURRENT_PASSWORD')
  const change = { email, currentPassword: password }
  for (let each = 0; each < 3; each += 1)
    t.equal(await send('/email/change', change, headers), '202 {}')
  t.equal(await send('/email/change', change, headers), tooMany)
  t.equal((await mails()).length, 6)
})

t.test('changes to an address of somebody else use up none of its e-mails', async (t) => {
  const { send, logIn, mails, tokenOf } = await accountsApp(t, standard)
  const bob = await logIn(2)
  const change = { email: alice, currentPassword: password }
  for (let each = 0; each < 3; each += 1)
    t.equal(await send('/email/change', change, bob), '202 {}')
  t.equal(await send('/email/change', change, bob), tooMany)
  t.strictSame(await mails(), [])
  t.ok(await tokenOf('/password/forgot', { email: alice }))
})

t.test('thirty e-mails from one address or IPv6 network, whoever gets them', async (t) => {
  const { app } = await accountsApp(t, standard)
  let count = 0
  const ask = async (remoteAddress: string): Promise<string> => {
    count += 1
    const payload = { email: `user${count}@example.com` }
    return answerOf(await app.inject({ method: 'POST', url: '/sign-up', payload, remoteAddress }))
  }
  const networks: [first: (each: number) => string, other: string][] = [
    [() => '192.0.2.1', '192.0.2.2'],
    [(each) => `2001:db8:1:${each.toString(16)}::1`, '2001:db8:2:1::1'],
  ]
  for (const [first, other] of networks) {
    for (let each = 0; each < 30; each += 1) t.equal(await ask(first(each)), '202 {}')
    t.equal(await ask(first(31)), tooMany)
    t.equal(await ask(other), '202 {}')
  }
  t.equal(await ask('::ffff:192.0.2.1'), tooMany, 'is the same address')
})

t.test('a request that is over one limit does not count for the other one', async (t) => {
  const { app } = await accountsApp(t, { limits: { perRecipient: 1, perAddress: 2 } })
  const ask = async (email: string, remoteAddress: string): Promise<string> => {
    const payload = { email }
    return answerOf(await app.inject({ method: 'POST', url: '/sign-up', payload, remoteAddress }))
  }
  const [one, other] = ['192.0.2.1', '192.0.2.2'] as const
  t.equal(await ask('a@example.com', one), '202 {}')
  for (let each = 0; each < 3; each += 1) t.equal(await ask('a@example.com', one), tooMany)
  t.equal(await ask('b@example.com', one), '202 {}')
  for (let each = 0; each < 3; each += 1) t.equal(await ask('c@example.com', one), tooMany)
  t.equal(await ask('c@example.com', other), '202 {}', 'c has had none')
})

t.test('simultaneous requests do not exceed a limit, and throttle: false keeps it', async (t) => {
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
  const clock = movedClock(t)
  const { send } = await accountsApp(t, { limits: { perRecipient: 1, window: 60 } })
  t.equal(await send('/sign-up', { email: alice }), '202 {}')
  t.equal(await send('/sign-up', { email: alice }), tooMany)
  clock.ahead(61)
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

t.test('a limit tells nothing of the address', async (t) => {
  const { post } = await accountsApp(t, { limits: { perRecipient: 1 } })
  const found = new Set<string>()
  for (const email of [alice, 'carol@example.com', 'dora@example.com']) {
    await post('/password/forgot', { email })
    const { statusCode, headers, body } = await post('/password/forgot', { email })
    found.add(JSON.stringify([statusCode, { ...headers, date: '' }, body]))
  }
  t.equal(found.size, 1)
})
