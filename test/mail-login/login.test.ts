// Logging in by an e-mail with a link and a code.
import t from 'tap'
import { answerOf, pages } from '../helpers/accounts.js'
import { bearer } from '../helpers/app.js'
import { alice, expired, mailApp, otherCode, wrong } from '../helpers/mail-login.js'
import { claimsOf, eventsOf, pairOf } from '../helpers/sessions.js'

t.test('a link logs in, in any browser, once', async (t) => {
  const { post, asked, finish, me, app } = await mailApp(t)
  const events = [eventsOf(t, 'login'), eventsOf(t, 'failure')]
  const headers = { 'user-agent': 'Browser\u0007 1', 'accept-language': 'de' }
  const { token: own, expiresIn, sign, mail } = await asked(' Alice@EXAMPLE.com', headers)
  t.equal(expiresIn, 600)
  const { token, code, ...rest } = mail
  t.match(sign, /^[A-Z]{2}$/)
  t.match(code, /^\d{6}$/)
  const link = `${pages}/login#${token}`
  const user = { id: 1, email: alice }
  const client = { address: '127.0.0.1', userAgent: 'Browser 1' }
  t.strictSame(JSON.parse(JSON.stringify(rest)), {
    kind: 'log-in',
    to: alice,
    link,
    expiresIn: 600,
    sign,
    ...client,
    lang: 'de',
    user,
  })
  const [head = '', body = ''] = token
    .split('.')
    .map((part) => Buffer.from(part, 'base64url').toString())
  t.match(JSON.parse(head), { typ: 'mail-login+jwt' })
  t.match(JSON.parse(body), { email: alice }, 'the page shows whose login it is')
  t.not(own, token)
  const response = await post('/login/mail/finish', { token })
  t.equal(response.headers['cache-control'], 'no-store')
  const pair = pairOf(response)
  t.equal(await me(bearer(pair.token)), 200)
  const { sub, amr, auth_time } = claimsOf(pair.token)
  t.strictSame([sub, amr, Math.abs(Number(auth_time) - Date.now() / 1000) < 30], [1, ['otp'], true])
  t.equal(await finish({ token }), expired)
  t.equal(await finish({ token: own, code }), expired, 'its code neither')
  t.match(events, [
    [{ authenticator: 'login', user, amr: ['otp'] }],
    [{ code: 'ERR_AUTH_LOGIN_EXPIRED', authenticator: 'mail' }, { authenticator: 'mail' }],
  ])
  t.match(app.authn.stats().mailLogin, { created: 0, mails: 1, mailsFailed: 0 })
})

t.test('a code logs in with the token of the client that has asked', async (t) => {
  const { asked, finish } = await mailApp(t)
  const { token, mail } = await asked()
  const other = await asked()
  t.equal(await finish({ token: other.token, code: mail.code }), wrong)
  t.equal(await finish({ token, code: otherCode(mail.code) }), wrong)
  const [a, b] = [mail.code.slice(0, 3), mail.code.slice(3)]
  const fullWidth = b.replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)))
  t.equal(await finish({ token }), expired, 'without a code')
  t.equal(await finish({ token, code: 'x'.repeat(65) }), '400 FST_ERR_VALIDATION')
  t.equal(await finish({ token, code: `Code: ${a}-${fullWidth}.` }), '200 tokens')
  t.equal(await finish({ token, code: mail.code }), expired)
  t.equal(await finish({ token: mail.token }), expired, 'its link neither')
  t.equal(await finish({ token: other.token, code: other.mail.code }), '200 tokens')
})

t.test('of link and code at once, one begins a session', async (t) => {
  const { app, asked, finish } = await mailApp(t)
  const { token, mail } = await asked()
  const bodies = [{ token: mail.token }, { token, code: mail.code }]
  const answers = await Promise.all([...bodies, ...bodies, ...bodies].map((body) => finish(body)))
  t.equal(answers.filter((answer) => answer === '200 tokens').length, 1)
  t.equal(answers.filter((answer) => answer === expired).length, 5)
  t.equal((await app.authn.sessions.list(1)).length, 1)
})

t.test('the response is the same for every address, and only some get an e-mail', async (t) => {
  const { post, mails, table } = await mailApp(t)
  table.push({ id: 4, email: 'Dora@example.com', password: null })
  const of = async (email: string) => {
    const response = await post('/login/mail', { email })
    const { token, ...rest } = response.json<{ token: string; sign: string }>()
    const [, payload = ''] = token.split('.')
    t.match([claimsOf(token).id, rest.sign, payload.length], [/^.{22}$/, /^[A-Z]{2}$/, Number])
    const shape = [response.statusCode, Object.keys(rest), Object.keys(claimsOf(token))]
    return [JSON.stringify(shape), (await mails()).map(({ to }) => to)] as const
  }
  const [known, sent] = await of(alice)
  t.strictSame(sent, [alice])
  for (const email of ['carol@example.com', 'nobody@example.com', 'dora@example.com'])
    t.strictSame(await of(email), [known, []], email)
  for (const email of ['', 'a', 'a@b@c.de', 'ä@example.com', `${'a'.repeat(250)}@example.com`])
    t.match(answerOf(await post('/login/mail', { email })), /^400/, email)
})
