// Whatever changes about a user ends the e-mails that are under way, their links and their codes.
import t, { type Test } from 'tap'
import { accountsOver, hash, newPassword, password } from '../helpers/accounts.js'
import { clockOf } from '../helpers/clock.js'
import { alice, expired, mailApp, wrong } from '../helpers/mail-login.js'
import { breakable, heldStore, storeWith } from '../helpers/sessions.js'

type App = Awaited<ReturnType<typeof mailApp>>

const changes: Record<string, (app: App) => unknown> = {
  'another address': ({ table }) =>
    void Object.assign(table[0] as object, { email: 'a@example.com' }),
  'another hash': ({ table }) => void Object.assign(table[0] as object, { password: `${hash} ` }),
  'no hash': ({ table }) => void Object.assign(table[0] as object, { password: null }),
  'another user of the address': ({ table }) => void Object.assign(table[0] as object, { id: 7 }),
  'a deletion': ({ table }) => void table.shift(),
  'a reset': async ({ tokenOf, send }) => {
    const token = await tokenOf('/password/forgot', { email: alice })
    await send('/password/reset', { token, password: newPassword })
  },
  'a change of password': async ({ logIn, send }) => {
    const body = { currentPassword: password, password: newPassword }
    await send('/password/change', body, await logIn())
  },
  'a revocation of all sessions': ({ app }) => app.authn.sessions.revoke({ sub: 1 }),
  'a logout everywhere': async ({ logIn, send }) =>
    send('/logout', { everywhere: true }, await logIn()),
}

const rejected = new Set([expired, wrong])

for (const [name, change] of Object.entries(changes)) {
  t.test(`${name} ends a link and a code`, async (t) => {
    const app = await mailApp(t)
    const [one, other] = [await app.asked(), await app.asked()]
    await change(app)
    const answers = [
      await app.finish({ token: one.mail.token }),
      await app.finish({ token: other.token, code: other.mail.code }),
    ]
    t.ok(
      answers.every((answer) => rejected.has(answer)),
      answers.join(),
    )
    t.strictSame(await app.app.authn.sessions.list(1).then((list) => list.length > 1), false)
  })
}

t.test('each of them also ends an e-mail whose login is under way', async (t) => {
  for (const [name, change] of Object.entries(changes)) {
    let isArmed = false
    const held = storeWith((store) => ({
      async create(session) {
        const created = await store.create(session)
        if (isArmed) {
          isArmed = false
          await change(app)
        }
        return created
      },
    }))
    const app: App = await mailApp(t, true, { sessions: { store: held } })
    const { mail } = await app.asked()
    isArmed = true
    const answer = await app.finish({ token: mail.token })
    t.ok(rejected.has(answer), `${name}: ${answer}`)
  }
})

t.test('`jwt.validAfterField` ends them, and its time counts for the token', async (t) => {
  const table = [{ id: 1, email: alice, password: hash, validAfter: new Date(0) }]
  const { findByUsername } = accountsOver(table)
  const options = {
    userService: { findByUsername },
    jwt: { secret: 'x'.repeat(31) + 'abcdefgh', validAfterField: 'validAfter' },
  }
  const { asked, finish } = await mailApp(t, true, options)
  const [one, other] = [await asked(), await asked()]
  ;(table[0] as { validAfter: Date }).validAfter = new Date(Date.now() + 1000)
  t.equal(await finish({ token: one.mail.token }), expired)
  t.equal(await finish({ token: other.token, code: other.mail.code }), wrong)
  const { mail } = await asked()
  t.equal(await finish({ token: mail.token }), '200 tokens')
})

t.test('an e-mail expires, without a tolerance', async (t) => {
  const clock = clockOf(t)
  const jwt = { secret: 'a secret of the tests, of 44 random bytes…', clockTolerance: 300 }
  const { asked, finish } = await mailApp(t, { expiresIn: 120 }, { jwt })
  const [one, other] = [await asked(), await asked()]
  clock.advance(121)
  t.equal(await finish({ token: one.mail.token }), expired)
  t.equal(await finish({ token: other.token, code: other.mail.code }), expired)
})

t.test(
  'tokens of another app, of another purpose, and those that were changed',
  async (t: Test) => {
    const one = await mailApp(t)
    const pages = { url: 'https://other.example/account' }
    const elsewhere = await mailApp(t, true, {}, pages)
    const moved = await mailApp(t, true, {
      login: {
        usernameField: 'email',
        subject: (user: object) => (user as { id: number }).id,
        path: '/auth/login',
      },
    })
    const { token, mail } = await one.asked()
    for (const body of [{ token: mail.token }, { token, code: mail.code }]) {
      t.equal(await elsewhere.finish(body), expired)
      t.equal(await moved.send('/auth/login/mail/finish', body), expired)
    }
    const link = await one.tokenOf('/password/forgot', { email: alice })
    t.equal(await one.finish({ token: link }), expired)
    t.equal(await one.finish({ token: `${mail.token.slice(0, -4)}AAAA` }), expired)
    t.equal(
      await one.send('/password/reset', { token: mail.token, password: newPassword }),
      '400 ERR_AUTH_LINK_INVALID',
    )
    t.equal(await one.me({ authorization: `Bearer ${mail.token}` }), 401)
    t.equal(await one.finish({ token: mail.token }), '200 tokens')
  },
)

t.test('a store that is away uses no e-mail up', async (t) => {
  const store = breakable(heldStore().factory)
  const { asked, finish } = await mailApp(t, true, { sessions: { store: store.factory } })
  const { token, mail } = await asked()
  store.failure = new Error('away')
  t.equal(await finish({ token: mail.token }), '503 ERR_AUTH_STORE_UNAVAILABLE')
  t.equal(await finish({ token, code: mail.code }), '503 ERR_AUTH_STORE_UNAVAILABLE')
  store.failure = null
  t.equal(await finish({ token, code: mail.code }), '200 tokens')
})

t.test('an e-mail that cannot be sent is logged without address, token and code', async (t) => {
  const seen: string[] = []
  const sendMail = ({
    to,
    token = '',
    kind,
    ...more
  }: {
    to: string
    token?: string
    kind: string
  }) => {
    const { code } = more as { code?: string }
    seen.push(to, token, String(code))
    throw new Error(`550 ${kind} to ${to} was rejected: "${token}", "Your code is ${code}."`)
  }
  const { ask, app, lines } = await mailApp(t, true, {}, { sendMail: sendMail as never })
  t.match(await ask(), { sign: String })
  await app.authn.accounts.settled()
  t.equal(seen.length, 3)
  const log = lines.join('')
  t.match(log, /"level":50.*"kind":"log-in"/)
  for (const secret of seen) t.notMatch(log, secret)
  t.match(app.authn.stats().mailLogin, { mails: 0, mailsFailed: 1 })
})
