// Logins by an e-mail with a link and a code, as pages and apps use them.
import t, { type Test } from 'tap'
import { accountsOver } from '../helpers/accounts.js'
import { alice, bob, shopOptions, transferRoute } from '../helpers/browser-factors.js'
import { held, setUp, settle } from '../helpers/browser-session.js'
import { otherCode, type LogInMail } from '../helpers/mail-login.js'
import { codeNow } from '../helpers/second-factor.js'
import type { AskedMail, Session, StepUp } from '../../lib/browser/index.js'
import type { AccountMail, AuthnOptions } from '../../lib/index.js'

const [ask, finish] = ['/login/mail', '/login/mail/finish']

/** Users who log in by e-mail, with a client that nobody is logged in with. */
async function shop(t: Test) {
  const { users, options } = shopOptions('https://shop.example')
  const mails: AccountMail[] = []
  const { findByUsername: _, ...functions } = accountsOver(users)
  const sendMail = (mail: AccountMail): void => void mails.push(mail)
  const accounts = { url: 'https://shop.example/account', ...functions, sendMail }
  const all = { ...options, accounts, mailLogin: true } as Partial<AuthnOptions>
  const client = await setUp(t, all, transferRoute)
  /** Has an e-mail sent. @returns the body of the response, and the e-mail */
  const asked = async (session: Session, email: string) => {
    const result = await session.mailLogin(email)
    t.match(result, { ok: true, status: 202, error: null })
    await client.app.authn.accounts.settled()
    return { ...(result.body as AskedMail), mail: mails.pop() as LogInMail }
  }
  return { ...client, asked }
}

t.test('a link or a code logs in', async (t) => {
  const { open, asked, state, log } = await shop(t)
  const session = open()
  const { token, sign, expiresIn, mail } = await asked(session, alice.email)
  t.match({ sign, expiresIn }, { sign: mail.sign, expiresIn: 600 })
  t.strictSame([session.loggedIn, state.kept, state.changes], [false, null, []])
  const wrong = await session.finishMailLogin({ token, code: otherCode(mail.code) })
  t.match(wrong, { ok: false, status: 403, error: /code/ })
  t.match(await session.finishMailLogin({ token: mail.token }), { ok: true, status: 200 })
  t.strictSame([session.loggedIn, state.changes.splice(0)], [true, ['login true']])
  t.equal((await session.fetch('/me')).status, 200)

  await session.logOut()
  state.changes.length = 0
  const again = await asked(session, alice.email)
  const proof = { token: again.token, code: again.mail.code }
  t.match(await session.finishMailLogin(proof), { ok: true, status: 200 })
  t.strictSame([session.loggedIn, state.changes], [true, ['login true']])
  t.match(await session.finishMailLogin(proof), { ok: false, status: 401 }, 'it was used')
  t.ok(session.loggedIn)
  t.strictSame(log(), [
    `${ask} 202`,
    `${finish} 403`,
    `${finish} 200`,
    '/me 200',
    '/logout 204',
    `${ask} 202`,
    `${finish} 200`,
    `${finish} 401`,
  ])
})

t.test('a user with a second factor is asked for its code', async (t) => {
  const { open, asked, state } = await shop(t)
  const session = open()
  await session.logIn(alice)
  const begun = (await session.post('second-factor/setup')).body as Record<string, string>
  const setUp = { token: String(begun.token), code: codeNow(String(begun.secret)) }
  const { recoveryCodes } = (await session.post('second-factor/enable', setUp)).body as {
    recoveryCodes: string[]
  }
  await session.logOut()
  state.changes.length = 0
  const { mail } = await asked(session, alice.email)
  const half = await session.finishMailLogin({ token: mail.token })
  t.match(half, { ok: true, status: 202, error: null })
  t.strictSame([session.loggedIn, state.changes], [false, []])
  const { secondFactor } = half.body as { secondFactor: { token: string } }
  const code = String(recoveryCodes[0])
  t.match(await session.post('login/second-factor', { token: secondFactor.token, code }), {
    status: 200,
  })
  t.strictSame([session.loggedIn, state.changes], [true, ['login true']])
})

t.test('asking for an e-mail leaves a refresh alone, and a login by one aborts it', async (t) => {
  const { open, asked, log, answer, state } = await shop(t)
  const session = open()
  await session.logIn(alice)
  const slow = held()
  answer('/login/refresh', slow.answer, slow.answer)
  log()
  const first = session.refresh()
  await settle()
  await asked(session, bob.email)
  t.strictSame(log(), [`${ask} 202`], 'it does not wait for its turn')
  slow.release()
  t.equal(await first, true)
  t.strictSame(log(), ['/login/refresh 200'])

  const { mail } = await asked(session, bob.email)
  const stuck = held()
  answer('/login/refresh', stuck.answer)
  const second = session.refresh()
  await settle()
  state.changes.length = 0
  log()
  t.match(await session.finishMailLogin({ token: mail.token }), { ok: true })
  t.strictSame(log(), ['/login/refresh failed', `${finish} 200`])
  t.equal(await second, true, 'as the other user')
  t.strictSame(state.changes, ['login true'])
})

t.test('a user confirms by an e-mail, and what waits for it is sent again', async (t) => {
  const { app, open, asked, state, log } = await shop(t)
  const needs: StepUp[] = []
  const session: Session = open({
    async onStepUp(step) {
      needs.push(step)
      const { token, mail } = await asked(session, bob.email)
      const wrong = await session.confirm({ token, code: otherCode(mail.code) })
      t.match(wrong, { ok: false, status: 403 })
      const right = needs.length === 1 ? { token, code: mail.code } : { token: mail.token }
      t.match(await session.confirm(right), { ok: true, status: 200 })
    },
  })
  t.match(await session.logIn(bob), { ok: true })
  state.changes.length = 0
  const confirmed = [`${ask} 202`, '/login/confirm 403', '/login/confirm 200']
  const route = '/second-factor/setup'
  for (const seconds of [900, 1800]) {
    state.ahead = seconds * 1000
    await session.refresh()
    log()
    t.match(await session.post('second-factor/setup'), { ok: true, status: 200 })
    t.strictSame(log(), [`${route} 401`, '/login/confirm 200', ...confirmed, `${route} 200`])
  }
  const step = { mfa: false, maxAge: 600, methods: ['password', 'mail'] }
  t.strictSame([needs, state.changes], [[step, step], []])
  await session.logOut()
  t.strictSame(await app.authn.sessions.list(2), [], 'one session')
})
