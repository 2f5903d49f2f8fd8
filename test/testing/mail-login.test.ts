// program: browser
import t from 'tap'
import { authnTesting, mailLoginWith } from '../../lib/testing/index.js'
import { rejectionOf } from '../helpers/errors.js'
import { alice, mailApp } from '../helpers/mail-login.js'
import { accountsApp } from '../helpers/accounts.js'

t.test('mailLoginWith() logs in by the routes of the app', async (t) => {
  for (const cookies of [undefined, true] as const) {
    const { app, me, mails, table } = await mailApp(
      t,
      { signUp: true },
      { cookies },
      {},
      authnTesting,
    )
    for (const code of [false, true]) {
      for (const email of [alice, `new-${code}@example.com`]) {
        const { response, headers } = await mailLoginWith(app, email, { code })
        t.equal(response.statusCode, 200, response.body)
        t.equal(await me(headers), 200)
      }
    }
    t.equal(table.length, 5)
    t.strictSame(await mails(), [], 'the app sends none')
  }
})

t.test('mailLoginWith() says what is missing', async (t) => {
  const rejects = async (work: Promise<unknown>, message: RegExp) =>
    t.match(await rejectionOf(work), { code: 'ERR_AUTH_TESTING', message })
  const { app } = await mailApp(t, true, {}, {}, authnTesting)
  await rejects(mailLoginWith(app, 'nobody@example.com'), /no e-mail was sent/)
  const { response } = await mailLoginWith(app, 'no address')
  t.equal(response.statusCode, 400)
  const without = await accountsApp(t)
  await rejects(mailLoginWith(without.app, alice), /authnTesting/)
})
