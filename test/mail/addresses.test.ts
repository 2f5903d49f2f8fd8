// What is an e-mail address: nothing else reaches the user service.
import t from 'tap'
import { accountsApp } from '../helpers/accounts.js'

const long = (count: number): string => 'a'.repeat(count)
/** A domain of so many characters. */
const domainOf = (count: number): string =>
  `${`${long(61)}.`.repeat(Math.floor((count - 2) / 62))}${long(((count - 2) % 62) + 2)}`

const good: [given: string, looked: string][] = [
  ['dora@example.com', 'dora@example.com'],
  [' \t\r\n\u00a0Dora@EXAMPLE.com \n', 'dora@example.com'],
  ["d.o+tag_-!#$%&'*/=?^`{|}~@example.com", "d.o+tag_-!#$%&'*/=?^`{|}~@example.com"],
  ['dora@localhost', 'dora@localhost'],
  ['dora@a.b-c.1.example', 'dora@a.b-c.1.example'],
  ['dora@bücher.example', 'dora@xn--bcher-kva.example'],
  ['dora@BÜCHER.example', 'dora@xn--bcher-kva.example'],
  ['dora@xn--bcher-kva.example', 'dora@xn--bcher-kva.example'],
  // Browsers send these as k, and as other domains than those with i and a.
  ['dora@\u212aelvin.example', 'dora@kelvin.example'],
  ['dora@\u0131.example', 'dora@xn--cfa.example'],
  ['dora@ex\u0430mple.com', 'dora@xn--exmple-4nf.com'],
  ['dora@example\u3002com', 'dora@example.com'],
  [`${long(64)}@example.com`, `${long(64)}@example.com`],
  [`dora@${domainOf(249)}`, `dora@${domainOf(249)}`],
]

const bad: string[] = [
  '',
  ' ',
  '@',
  'dora',
  'dora@',
  '@example.com',
  'dora@@example.com',
  'dora@example.com@example.com',
  'dora@evil.example@example.com',
  'dora@example.com,bob@example.com',
  'dora@example.com bob@example.com',
  'Dora <dora@example.com>',
  'do ra@example.com',
  '"dora"@example.com',
  '"do ra"@example.com',
  'dora(comment)@example.com',
  'dora\\@example.com',
  'd\u00f6ra@example.com',
  // Letters that fold to k and i in databases.
  '\u212aelvin@example.com',
  'm\u0131ke@example.com',
  '\u0130ke@example.com',
  '\uff44ora@example.com',
  'do\u0000ra@example.com',
  'do\nra@example.com',
  'do\u00adra@example.com',
  '\ud800@example.com',
  'dora@exam\u0000ple.com',
  'dora@exam\nple.com',
  'dora@exam\tple.com',
  'dora@example.com\r\nBcc:bob@example.com',
  'dora@exam ple.com',
  'dora@example.com/evil',
  'dora@example.com?evil',
  'dora@example.com#evil',
  'dora@example.com\\evil',
  'dora@example.com:25',
  'dora@ex%61mple.com',
  'dora@[127.0.0.1]',
  'dora@[IPv6:::1]',
  'dora@127.0.0.1',
  'dora@0x7f.1',
  'dora@1',
  'dora@-a.example',
  'dora@a-.example',
  'dora@a_b.example',
  'dora@.example',
  'dora@example..com',
  'dora@example.com.',
  'dora@\ud800.example',
  `dora@${long(64)}.example`,
  `${long(65)}@example.com`,
  `dora@${domainOf(250)}`,
  `dora@${'ü'.repeat(200)}.example`,
]

t.test('an address is trimmed and in lower case, its domain as browsers send it', async (t) => {
  const { send, mails, asked } = await accountsApp(t)
  for (const [email, looked] of good) {
    for (const url of ['/sign-up', '/password/forgot']) {
      t.equal(await send(url, { email }), '202 {}', JSON.stringify(email))
      const to = (await mails()).map((mail) => mail.to)
      t.strictSame([asked.splice(0), to], [[looked], url === '/sign-up' ? [looked] : []])
    }
  }
})

t.test('a bad address is a 400 before a lookup, and counts against no limit', async (t) => {
  const limits = { perRecipient: 1, perAddress: 1000 }
  const { send, mails, asked, logIn } = await accountsApp(t, { limits })
  const headers = await logIn()
  for (const email of bad) {
    for (const url of ['/sign-up', '/password/forgot'])
      t.equal(await send(url, { email }), '400 FST_ERR_VALIDATION', JSON.stringify(email))
    const payload = { email, currentPassword: 'correct horse battery' }
    t.equal(await send('/email/change', payload, headers), '400 FST_ERR_VALIDATION')
  }
  t.strictSame([...new Set(asked)], [1, 'alice@example.com'], 'only who has the session')
  t.strictSame(await mails(), [])
  t.equal(await send('/sign-up', { email: 'dora@example.com' }), '202 {}')
})

t.test('rejected addresses count for their client', async (t) => {
  const { send, mails } = await accountsApp(t, { limits: { perAddress: 3 } })
  for (const email of ['dora', 'dora@example.com', 'dora@b\u00fccher@example.com'])
    t.match(await send('/sign-up', { email }), email.split('@').length === 2 ? '202' : '400')
  for (const email of ['dora', 'dora@example.com'])
    t.equal(await send('/password/forgot', { email }), '429 ERR_AUTH_TOO_MANY_MAILS')
  t.match(await mails(), [{ to: 'dora@example.com' }])
})
