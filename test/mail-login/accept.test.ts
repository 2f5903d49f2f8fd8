// Who may log in by an e-mail.
import t from 'tap'
import { AuthenticationError } from '../../lib/index.js'
import { accountsOver, hash } from '../helpers/accounts.js'
import { alice, expired, mailApp } from '../helpers/mail-login.js'

t.test(
  'users whom `accept` rejects get no e-mail, and neither link nor code of one works',
  async (t) => {
    let answer: unknown = true
    const asked: unknown[] = []
    const accept = (user: object, { url }: { url: string }) => {
      asked.push([(user as { id: number }).id, url])
      if (answer instanceof Error) throw answer
      return answer as boolean
    }
    const app = await mailApp(t, { accept })
    const mailed = [await app.asked(), await app.asked()] as const
    t.strictSame(asked, [
      [1, '/login/mail'],
      [1, '/login/mail'],
    ])
    const [{ mail }, { token, mail: other }] = mailed
    const finishBoth = async () => [
      await app.finish({ token: mail.token }),
      await app.finish({ token, code: other.code }),
    ]
    for (const no of [false, undefined, 1, 'true', Promise.resolve(false)]) {
      answer = no
      t.strictSame(await finishBoth(), [expired, expired])
      await app.ask()
      t.strictSame(await app.mails(), [])
    }
    const fault = '500 ERR_AUTH_MAIL_LOGIN'
    answer = new Error('its database is away')
    t.strictSame(await finishBoth(), [fault, fault])
    await app.ask()
    t.strictSame(await app.mails(), [])
    t.match(app.lines.join(''), /its database is away/)
    answer = Promise.resolve(true)
    t.strictSame(await finishBoth(), ['200 tokens', '200 tokens'])
  },
)

t.test('`accept` is a method, and has the time of the user service', async (t) => {
  class Rules {
    readonly #who = alice
    accept({ email }: { email: string | null }): boolean {
      return email === this.#who
    }
  }
  const app = await mailApp(t, Object.assign(new Rules(), { code: true }))
  t.match(await app.asked(), { mail: { code: /^\d{6}$/ } })
  let isSlow = false
  const accept = () => (isSlow ? new Promise<boolean>(() => undefined) : true)
  const slow = await mailApp(t, { accept }, { userServiceTimeout: 0.05 })
  const { mail } = await slow.asked()
  isSlow = true
  t.equal(await slow.finish({ token: mail.token }), '503 ERR_AUTH_USER_SERVICE_TIMEOUT')
})

t.test('a user whom the app rejects gets no e-mail, also where unknown addresses do', async (t) => {
  let isBanned = true
  const { findByUsername } = accountsOver([{ id: 1, email: alice, password: hash }])
  const userService = {
    findByUsername(name: string | number) {
      if (isBanned && name === alice) throw new AuthenticationError('You are banned.')
      return findByUsername(name)
    },
  }
  const app = await mailApp(t, { signUp: true }, { userService })
  await app.ask()
  t.strictSame(await app.mails(), [])
  isBanned = false
  const [one, other] = [await app.asked(), await app.asked()]
  isBanned = true
  t.equal(await app.finish({ token: one.mail.token }), expired)
  t.match(await app.finish({ token: other.token, code: other.mail.code }), /^40[13]/)
})

t.test('codes are made with the first key, and accepted with all', async (t) => {
  const [old, key] = [
    'an old secret of the tests, of 44 bytes: 0123',
    'a new secret of the tests, of 44 bytes: 4567',
  ]
  const [before, during, after, derived] = [
    await mailApp(t, { key: old }),
    await mailApp(t, { key: [key, old] }),
    await mailApp(t, { key }),
    await mailApp(t),
  ]
  const { token, mail } = await before.asked()
  t.equal(await after.finish({ token, code: mail.code }), expired)
  t.equal(await after.finish({ token: mail.token }), expired)
  t.equal(await derived.finish({ token: mail.token }), expired)
  t.equal(await during.finish({ token, code: mail.code }), '200 tokens')
  const next = await during.asked()
  t.equal(await after.finish({ token: next.token, code: next.mail.code }), '200 tokens')
})

t.test('a look-up that fails behind the response is logged, and sends nothing', async (t) => {
  const away = new AuthenticationError('auth.overloaded', { code: 'ERR_AUTH_OVERLOADED' })
  for (const error of [new Error('the database is away'), away]) {
    const findByUsername = () => Promise.reject(error)
    const app = await mailApp(t, { signUp: true }, { userService: { findByUsername } })
    t.match(await app.ask(), { sign: String })
    t.strictSame(await app.mails(), [])
    t.match(app.lines.join(''), /"level":50.*"authenticator":"mail"/)
  }
})

t.test('without codes, an e-mail has its link alone', async (t) => {
  const { asked, finish } = await mailApp(t, { code: false })
  const { token, mail } = await asked()
  t.notOk('code' in mail)
  t.equal(await finish({ token, code: '123456' }), expired)
  t.equal(await finish({ token: mail.token }), '200 tokens')
})
