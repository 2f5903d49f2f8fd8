// The mailer as another feature than accounts uses it: with a name and limits of its own.
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import type { AccountMail } from '../../lib/index.js'
import { limitsOf, mailLimits } from '../../lib/mail/limits.js'
import { Mails } from '../../lib/mail/mails.js'
import { Counters } from '../../lib/throttle/counters.js'
import { quotasIn } from '../../lib/throttle/quotas.js'

const log: object[] = []
const request = {
  ip: '192.0.2.1',
  hostname: 'shop.example',
  lang: 'de',
  log: { info: (about: object) => log.push(about) },
} as unknown as FastifyRequest
const alice = 'alice@example.com'

/** By its kind, an e-mail is known to have a link. */
const lengthOf = (mail: AccountMail): number => (mail.kind === 'reset' ? mail.link.length : 0)

t.test('two features have limits of their own', async (t) => {
  const [first, second] = [
    ['/login', 2],
    ['/login/mail', 1],
  ].map(([path, perRecipient]) =>
    mailLimits(
      String(path),
      ['login'],
      { limits: limitsOf({ perRecipient: Number(perRecipient) }), linkExpiry: 600 },
      quotasIn(new Counters(60), async () => null),
    ),
  ) as [ReturnType<typeof mailLimits>, ReturnType<typeof mailLimits>]
  const asked = (limits: typeof first, text: string) =>
    limits.requested(request, text, (email) => limits.asked('login', request, email))
  t.equal(await asked(first, ` ${alice.toUpperCase()}`), alice)
  t.equal(await asked(first, alice), alice)
  const many = { code: 'ERR_AUTH_TOO_MANY_MAILS' }
  await t.rejects(asked(first, alice), many)
  t.equal(await asked(second, alice), alice)
  await t.rejects(asked(second, alice), many)
  await t.rejects(asked(second, 'nobody'), { code: 'FST_ERR_VALIDATION' })
  await second.forget(alice, 1, request)
  t.equal(await asked(second, alice), alice)
  await t.rejects(asked(first, alice), many, 'the other one still counts')
})

t.test('an e-mail is sent, counted and logged for its feature', async (t) => {
  const sent: AccountMail[] = []
  const quotas = quotasIn(new Counters(60), async () => null)
  const limits = mailLimits('/a', [], { limits: limitsOf(), linkExpiry: 600 }, quotas)
  const mailer = { sent, sendMail: (mail: AccountMail) => void sent.push(mail) }
  const mails = new Mails('mail-login', mailer, new Set(['password']), limits)
  const link = { link: 'https://shop.example/#a', token: 'a', expiresIn: 600 }
  await mails.send(request, 'reset', alice, { id: 1, password: 'hash' }, link)
  await mails.send(request, 'reset', null, null, link)
  const mail = { kind: 'reset', to: alice, lang: 'de', user: { id: 1 }, ...link }
  t.strictSame(JSON.parse(JSON.stringify(sent)), [mail])
  t.strictSame(sent.map(lengthOf), [link.link.length])
  t.strictSame(mails.counts, { mails: 1, mailsFailed: 0 })
  const quota = { ...limits.mailbox(alice), most: 1 }
  t.equal(await mails.hasRoom(request, 'reset', quota), true)
  t.equal(await mails.hasRoom(request, 'reset', quota), false)
  t.strictSame(log, [{ authenticator: 'mail-login', kind: 'reset' }])
})
