import t from 'tap'
import { openEmbedded } from '../../examples/demo/embedded.js'
import {
  accountsApp,
  accountsTable,
  newPassword,
  password,
  sqlAccounts,
} from '../helpers/accounts.js'

const dora = 'dora@example.com'
const invalid = '400 ERR_AUTH_LINK_INVALID'

t.test('the statements of the documentation, in PostgreSQL', async (t) => {
  const db = await openEmbedded()
  t.teardown(() => db.close())
  await db.exec(accountsTable)
  const { findByUsername, ...functions } = sqlAccounts((text, values) => db.query(text, values))
  const userService = { findByUsername }
  const { send, tokenOf, logIn, mails } = await accountsApp(t, functions, { userService })
  const signUp = await tokenOf('/sign-up', { email: 'Dora@example.com' })
  const all = [1, 2, 3].map(() => send('/sign-up/finish', { token: signUp, password }))
  t.strictSame((await Promise.all(all)).toSorted(), ['200 tokens', invalid, invalid])
  const token = await tokenOf('/password/forgot', { email: dora })
  const resets = [1, 2, 3].map(() => send('/password/reset', { token, password: newPassword }))
  t.strictSame((await Promise.all(resets)).toSorted(), ['204', invalid, invalid])
  await mails()
  const moved = 'dora@new.example'
  const own = { email: moved, currentPassword: newPassword }
  const headers = await logIn()
  t.equal(await send('/email/change', own, headers), '202 {}')
  const confirm = (await mails()).find(({ kind }) => kind === 'email-confirm')
  await db.query('insert into users (email) values ($1)', [moved])
  const payload = { token: confirm?.token }
  t.equal(await send('/email/confirm', payload, headers), invalid, 'taken meanwhile')
  await db.query('delete from users where email = $1', [moved])
  t.equal(await send('/email/confirm', payload, headers), '204')
  t.equal(await send('/account/delete', own, headers), '204')
  t.strictSame((await db.query('select * from users')).rows, [])
})
