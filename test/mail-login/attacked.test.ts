// What attacks between logins by e-mail and other features have found.
import t from 'tap'
import type { AccountMail } from '../../lib/index.js'
import { newPassword } from '../helpers/accounts.js'
import { clockOf } from '../helpers/clock.js'
import {
  alice,
  expired,
  mailApp,
  mailRegistrations,
  otherCode,
  wrong,
} from '../helpers/mail-login.js'

const many = { limits: { perRecipient: 1000, perAddress: 1000 } }

t.test('a revocation counts that this process has forgotten', async (t) => {
  const { app, asked, finish } = await mailApp(t)
  const { token, mail } = await asked()
  await app.authn.sessions.revoke({ sub: 1 })
  for (let sub = 2; sub < 10_010; sub += 1) await app.authn.sessions.revoke({ sub })
  t.equal(await finish({ token: mail.token }), expired)
  t.equal(await finish({ token, code: mail.code }), expired, 'which has used it up')
})

t.test('one client sends ten e-mails a day to a mailbox, whatever host it names', async (t) => {
  const clock = clockOf(t)
  const { post, mails } = await mailApp(t, true, {}, { limits: {} })
  let sent = 0
  for (let turn = 0; turn < 20; turn += 1) {
    await post('/login/mail', { email: alice }, { host: `${turn}.example` })
    sent += (await mails()).length
    clock.advance(301)
  }
  t.equal(sent, 10)
})

t.test('a login on another device ends the counts of the one that has asked', async (t) => {
  const { asked, from } = await mailApp(t, true, {}, { limits: {} })
  for (let turn = 0; turn < 12; turn += 1) {
    const { token } = (await asked()).mail
    t.equal(await from('198.51.100.7', '/login/mail/finish', { token }), '200 tokens')
  }
})

t.test('a reset ends the count of the e-mails that it ends', async (t) => {
  const { from, mails, tokenOf, send, asked, finish } = await mailApp(t, true, {}, { limits: {} })
  for (let turn = 0; turn < 4; turn += 1)
    await from('198.51.100.7', '/login/mail', { email: alice })
  t.equal((await mails()).length, 3)
  const token = await tokenOf('/password/forgot', { email: alice })
  t.equal(await send('/password/reset', { token, password: newPassword }), '204')
  await mails()
  const { mail } = await asked()
  t.equal(await finish({ token: mail.token }), '200 tokens')
})

t.test('e-mails that could not be sent do not count', async (t) => {
  let isDown = true
  const sent: AccountMail[] = []
  const sendMail = (mail: AccountMail) => {
    if (isDown) throw new Error('SMTP is down')
    sent.push(mail)
  }
  const { ask, app } = await mailApp(t, true, {}, { sendMail, limits: {} })
  for (let turn = 0; turn < 5; turn += 1) {
    await ask()
    await app.authn.accounts.settled()
  }
  isDown = false
  await ask()
  await app.authn.accounts.settled()
  t.equal(sent.length, 1)
})

t.test('codes that a stranger has made wrong end no session of the user', async (t) => {
  const { asked, finish, send, logIn, me } = await mailApp(t, true, {}, many)
  for (let turn = 0; turn < 6; turn += 1) {
    const { token, mail } = await asked()
    for (let by = 1; by <= 5; by += 1) await finish({ token, code: otherCode(mail.code, by) })
  }
  const session = await logIn()
  const { token, mail } = await asked()
  for (let turn = 0; turn < 7; turn += 1)
    t.equal(await send('/login/confirm', { token, code: mail.code }, session), wrong)
  t.equal(await me(session), 200)
  t.equal(await send('/login/confirm', { token: mail.token }, session), '200 tokens')
})

t.test('registrations with the same users share the limits', async (t) => {
  const { limits } = many
  const { asked, send } = await mailRegistrations(t, { one: limits, two: limits, three: limits })
  const names = ['one', 'two', 'three']
  let rejected = 0
  for (let turn = 0; turn < 12; turn += 1) {
    const name = String(names[turn % 3])
    const { token, mail } = await asked(name)
    const finish = (code = '') => send(`/${name}/login/mail/finish`, { token, code })
    for (let by = 1; by <= 4; by += 1)
      rejected += Number((await finish(otherCode(String(mail?.code), by))) === wrong)
    const right = await finish(mail?.code)
    if (right !== '200 tokens') {
      t.equal(right, wrong)
      break
    }
  }
  t.ok(rejected < 40, `${rejected}`)
})
