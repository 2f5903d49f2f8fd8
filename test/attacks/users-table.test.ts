// The attacks of the test kit against an app over a table of the package, with all of its features.
import t from 'tap'
import { accountAttacks, factorAttacks } from '../../lib/testing/index.js'
import { newPassword } from '../helpers/accounts.js'
import { usersApp } from '../helpers/users-app.js'

const admin = { auth: { role: 'admin' } }
const email = 'dora@example.com'

t.test('accountAttacks finds nothing, and leaves nothing', async (t) => {
  const { app, lines } = await usersApp(t, { admin })
  const report = await accountAttacks(app)
  t.strictSame([report.problems, report.leftOut], [[], []])
  t.strictSame((await app.authn.users.list()).users, [])
  t.notMatch(lines.join(''), /"level":(?:50|60)/)
})

t.test('factorAttacks finds nothing', async (t) => {
  const { app, create, enter, enable } = await usersApp(t, { admin })
  await create(email)
  const { recoveryCodes } = (await enable(await enter(email))).answer
  const report = await factorAttacks(app, {
    login: { email, password: newPassword },
    code: () => String(recoveryCodes.pop()),
  })
  t.strictSame(report.problems, [])
})
