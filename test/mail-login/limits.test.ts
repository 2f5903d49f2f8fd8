// Wrong codes and e-mails are limited, and no stranger keeps a user out.
import t from 'tap'
import { accountsOver, hash } from '../helpers/accounts.js'
import { clockOf } from '../helpers/clock.js'
import { alice, expired, mailApp, otherCode, wrong } from '../helpers/mail-login.js'

type App = Awaited<ReturnType<typeof mailApp>>

/** Makes an app that sends as many e-mails as it is asked for. */
const settings = { limits: { perRecipient: 1000, perAddress: 1000 } }

for (const throttle of [false, {}] as const) {
  t.test(
    `five wrong codes end a request, with throttle: ${JSON.stringify(throttle)}`,
    async (t) => {
      const { asked, finish } = await mailApp(t, true, { throttle }, settings)
      const { token, mail } = await asked()
      const guesses = [1, 2, 3, 4, 5, 6, 7].map((by) => ({ token, code: otherCode(mail.code, by) }))
      const answers = await Promise.all(guesses.map((body) => finish(body)))
      t.strictSame(answers.toSorted(), [expired, expired, ...Array<string>(5).fill(wrong)])
      t.equal(await finish({ token, code: mail.code }), expired, 'the right one too')
      t.equal(await finish({ token: mail.token }), '200 tokens', 'its link works')
      const next = await asked()
      t.equal(await finish({ token: next.token, code: next.mail.code }), '200 tokens')
    },
  )

  t.test(
    `30 wrong codes a day for an address, with throttle: ${JSON.stringify(throttle)}`,
    async (t) => {
      const clock = clockOf(t)
      const { asked, from, finish } = await mailApp(t, { expiresIn: 3000 }, { throttle }, settings)
      let number = 0
      const guess = async ({
        token,
        mail,
      }: Awaited<ReturnType<App['asked']>>): Promise<string[]> => {
        const bodies = [1, 2, 3, 4].map((by) => ({ token, code: otherCode(mail.code, by) }))
        number += 1
        // By any number of clients.
        return Promise.all(
          bodies.map((body) => from(`198.51.100.${number}`, '/login/mail/finish', body)),
        )
      }
      const others = await asked('bob@example.com')
      for (let turn = 0; turn < 7; turn += 1)
        t.strictSame(await guess(await asked()), Array<string>(4).fill(wrong))
      const left = await asked()
      await guess(left)
      const { token, mail } = await asked()
      t.equal(await finish({ token, code: mail.code }), wrong, 'a right one is one too many')
      t.equal(await finish({ token: mail.token }), '200 tokens', 'its link works')
      t.equal(await finish({ token: others.token, code: others.mail.code }), '200 tokens')
      clock.advance(86_401)
      const next = await asked()
      t.equal(
        await finish({ token: next.token, code: next.mail.code }),
        '200 tokens',
        'the next day',
      )
    },
  )
}

t.test('right codes, and those that nothing was compared with, do not count', async (t) => {
  let isAway = false
  const users = accountsOver([{ id: 1, email: alice, password: hash }])
  const findByUsername = async (name: string | number) => {
    if (isAway) throw new Error('the database is away')
    return users.findByUsername(name)
  }
  const options = { userService: { findByUsername } }
  const { asked, finish } = await mailApp(t, true, options, settings)
  for (let turn = 0; turn < 35; turn += 1) {
    const { token, mail } = await asked()
    t.equal(await finish({ token, code: mail.code }), '200 tokens')
  }
  const { token, mail } = await asked()
  isAway = true
  for (let turn = 0; turn < 7; turn += 1)
    t.equal(await finish({ token, code: mail.code }), '500 ERR_AUTH_USER_SERVICE')
  isAway = false
  t.equal(await finish({ token, code: mail.code }), '200 tokens')
})

t.test('a client with many wrong codes has to wait, and a right link does not', async (t) => {
  const { asked, finish, from } = await mailApp(t, true, { throttle: { perAddress: 3 } }, settings)
  const { token, mail } = await asked()
  const guess = (by: number) => finish({ token, code: otherCode(mail.code, by) })
  t.strictSame([await guess(1), await guess(2), await guess(3)], [wrong, wrong, wrong])
  t.equal(await guess(4), '429 ERR_AUTH_TOO_MANY_ATTEMPTS')
  t.equal(await finish({ token: 'a.b.c' }), '429 ERR_AUTH_TOO_MANY_ATTEMPTS')
  t.equal(await from('198.51.100.7', '/login/mail/finish', { token: 'a.b.c' }), expired)
  t.equal(await finish({ token: mail.token }), '200 tokens')
})

/** The e-mails that are sent for requests of a client. */
async function sentFor({ from, mails }: App, ip: string, count: number, email = alice) {
  const answers = []
  for (let turn = 0; turn < count; turn += 1) {
    const answer = await from(ip, '/login/mail', { email })
    answers.push(answer.split(' ')[0])
  }
  return [[...new Set(answers)].join(), (await mails()).length] as const
}

t.test(
  'a mailbox gets three e-mails while they work, and the response does not tell',
  async (t) => {
    const clock = clockOf(t)
    const app = await mailApp(t, true, {}, { limits: {} })
    t.strictSame(await sentFor(app, '198.51.100.1', 5), ['202', 3])
    t.strictSame(await sentFor(app, '198.51.100.2', 2, ' ALICE@example.com'), ['202', 0])
    t.strictSame(await sentFor(app, '198.51.100.2', 2, 'bob@example.com'), ['202', 2])
    t.equal(await app.send('/password/forgot', { email: alice }), '202 {}')
    t.equal((await app.mails()).length, 1, 'those of accounts are counted apart')
    clock.advance(601)
    t.strictSame(await sentFor(app, '198.51.100.2', 5), ['202', 3])
  },
)

t.test('a stranger can neither flood a mailbox for days nor keep its user out', async (t) => {
  const clock = clockOf(t)
  const app = await mailApp(t, true, {}, { limits: {} })
  let sent = 0
  for (let turn = 0; turn < 20; turn += 1) {
    sent += (await sentFor(app, '198.51.100.1', 4))[1]
    clock.advance(601)
  }
  t.equal(sent, 10)
  t.strictSame(await sentFor(app, '198.51.100.1', 1), ['202', 0])
  const { mail } = await app.asked()
  t.equal(await app.finish({ token: mail.token }), '200 tokens')
})

t.test('a login ends the count of its mailbox', async (t) => {
  const app = await mailApp(t, true, {}, { limits: {} })
  for (let turn = 0; turn < 12; turn += 1) {
    const { mail } = await app.asked()
    t.equal(await app.finish({ token: mail.token }), '200 tokens', `${turn}`)
  }
})

t.test('one client can ask for 30 e-mails an hour, wrong addresses included', async (t) => {
  const app = await mailApp(t, true, {}, { limits: {} })
  const ask = (email: string) => app.from('198.51.100.1', '/login/mail', { email })
  for (let turn = 0; turn < 30; turn += 1)
    await ask(turn % 2 ? 'no address' : `${turn}@example.com`)
  t.equal(await ask(alice), '429 ERR_AUTH_TOO_MANY_MAILS')
  t.match(await app.from('198.51.100.2', '/login/mail', { email: alice }), /^202/)
})
