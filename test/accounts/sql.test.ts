// program: sql
import t, { type Test } from 'tap'
import { openEmbedded } from '../../examples/demo/embedded.js'
import {
  accountsApp,
  accountsTable,
  newPassword,
  password,
  sqlAccounts,
  type AccountUser,
} from '../helpers/accounts.js'

const dora = 'dora@example.com'
const invalid = '400 ERR_AUTH_LINK_INVALID'

/** An app over a table of PostgreSQL. */
async function appOverSql(t: Test) {
  const db = await openEmbedded()
  t.teardown(() => db.close())
  await db.exec(accountsTable)
  const { findByUsername, ...functions } = sqlAccounts((text, values) => db.query(text, values))
  return { db, ...(await accountsApp(t, functions, { userService: { findByUsername } })) }
}

t.test('the statements of the documentation, in PostgreSQL', async (t) => {
  const { db, send, tokenOf, logIn, mails } = await appOverSql(t)
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

t.test('the same statements, for a user with neither address nor password', async (t) => {
  const { db, send, tokenOf, logIn, enter } = await appOverSql(t)
  await db.query('insert into users default values')
  const headers = await logIn()
  const confirm = { token: await tokenOf('/email/change', { email: dora }, headers) }
  t.equal(await send('/email/confirm', confirm, headers), '204')
  const token = await tokenOf('/password/set', {}, headers)
  const all = [1, 2, 3].map(() => send('/password/change', { token, password }, headers))
  const [won, ...lost] = (await Promise.all(all)).toSorted()
  t.equal(won, '200 tokens')
  t.ok(lost.every((answer) => [invalid, '401 ERR_AUTH_JWT_INVALID'].includes(answer)))
  t.equal(await enter(dora, password), 200)
  await db.query('update users set email = null')
  const own = { currentPassword: password, password: newPassword }
  t.equal(await send('/password/change', own, await logIn()), '200 tokens')
  const deletion = { currentPassword: newPassword }
  t.equal(await send('/account/delete', deletion, await logIn()), '204')
  t.strictSame((await db.query('select * from users')).rows, [])
})

t.test('a first password and a new address at once are not both stored', async (t) => {
  const { db, send, tokenOf, logIn } = await appOverSql(t)
  await db.query('insert into users (email) values ($1)', [dora])
  const headers = await logIn()
  const moved = 'dora@new.example'
  const set = { token: await tokenOf('/password/set', {}, headers), password }
  const confirm = { token: await tokenOf('/email/change', { email: moved }, headers) }
  const [stored, confirmed] = await Promise.all([
    send('/password/change', set, headers),
    send('/email/confirm', confirm, headers),
  ])
  const { rows } = await db.query<AccountUser>('select * from users')
  const won = stored === '200 tokens'
  t.strictSame([stored, confirmed], won ? ['200 tokens', invalid] : [invalid, '204'])
  t.strictSame(
    rows.map((row) => [row.email, row.password === null]),
    [won ? [dora, false] : [moved, true]],
  )
})
