// A stored password that is no hash is none: its user came by another way, and the address may not be verified.
import bcrypt from 'bcrypt'
import t from 'tap'
import { clockOf } from '../helpers/clock.js'
import { accountsApp, newPassword } from '../helpers/accounts.js'

const unusable = ['', '!', '!kNTQ0b1Jr2cW', '*', '*LK*', 'x', '$2b$', '$argon2id$', 'NP', '{none}']
const email = 'dora@example.com'
const row = (password: string) => ({ id: 4, email, password })

t.test('a stored password that is not a hash counts as no password', async (t) => {
  const clock = clockOf(t)
  for (const text of unusable) {
    const { table, send, mails, logIn, stored } = await accountsApp(t)
    table.push(row(text))
    for (const url of ['/password/forgot', '/sign-up']) {
      t.equal(await send(url, { email }), '202 {}')
      t.match(await mails(), [{ kind: 'no-password', token: undefined }], text)
    }
    const headers = await logIn(4)
    const change = { currentPassword: text, password: newPassword, email: 'dora@new.example' }
    t.equal(await send('/password/change', change, headers), '403 ERR_AUTH_CURRENT_PASSWORD', text)
    t.equal(await send('/email/change', change, headers), '202 {}', 'after a fresh login')
    const sent = await mails()
    t.match(
      sent.find(({ kind }) => kind === 'email-change'),
      { token: undefined },
    )
    const token = sent.find(({ kind }) => kind === 'email-confirm')?.token
    t.equal(await send('/email/confirm', { token }, headers), '204', text)
    t.match(stored(4), { email: 'dora@new.example', password: text }, 'which stays as it was')
    clock.advance(601)
    t.equal(await send('/account/delete', {}, await logIn(4)), '204', text)
  }
})

t.test('hashes of migrateFrom and those above a ceiling are passwords', async (t) => {
  const foreign = 'pbkdf2_sha256$1$salt$digest'
  const entry = { pattern: /^pbkdf2_sha256\$/, sample: foreign, verify: () => false }
  const hashing = { cost: 4, maxCost: 5, migrateFrom: [entry] }
  const { table, send, mails } = await accountsApp(t, {}, { hashing })
  for (const text of [foreign, bcrypt.hashSync(newPassword, 6)]) {
    table.push(row(text))
    t.equal(await send('/password/forgot', { email }), '202 {}')
    const [{ token } = { token: '' }] = await mails()
    t.equal(await send('/password/reset', { token, password: newPassword }), '204', text)
    table.pop()
    await mails()
  }
})
