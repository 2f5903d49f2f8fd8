// E-mails are sent after the response, which is the same whatever is found, and their errors are logged without secrets.
import timers from 'node:timers/promises'
import { PassThrough } from 'node:stream'
import { syncBuiltinESMExports } from 'node:module'
import type { FastifyReply, FastifyRequest } from 'fastify'
import t from 'tap'
import { Mails } from '../../lib/mail/mails.js'
import type { AccountMail } from '../../lib/index.js'
import {
  accountsApp,
  answerOf,
  newPassword,
  password,
  type AccountUser,
} from '../helpers/accounts.js'
import { rawLines } from '../helpers/app.js'
import { deferred, listen, send } from '../helpers/flows.js'
import { fateOf, settle, until } from '../helpers/load.js'

const known = ['alice@example.com', 'carol@example.com']
const all = [...known, 'dora@example.com']
const open = ['/sign-up', '/password/forgot']

t.test('known and unknown addresses get the same response, whatever fails', async (t) => {
  const failing = { findByUsername: () => Promise.reject(new Error('no database')) }
  const settings = {
    plain: await accountsApp(t),
    cookies: await accountsApp(t, {}, { cookies: true }),
    'no users': await accountsApp(t, {}, { userService: failing }),
    'no mailer': await accountsApp(t, { sendMail: () => Promise.reject(new Error('no mailer')) }),
    'no key': await accountsApp(t, {}, { login: { subject: () => ({}) } } as object),
  }
  const found = new Set<string>()
  for (const { post, mails } of Object.values(settings)) {
    for (const url of open) {
      for (const email of all) {
        const { statusCode, headers, body } = await post(url, { email })
        const { date, ...kept } = headers
        t.ok(date)
        found.add(JSON.stringify([statusCode, kept, body]))
        await mails()
      }
    }
  }
  t.equal(found.size, 1)
  t.match(JSON.parse([...found].join()), [202, { 'cache-control': 'no-store' }, '{}'])
})

t.test('users are looked up and e-mails sent after the response', async (t) => {
  const replies = new WeakMap<object, FastifyReply>()
  const when: boolean[] = []
  const note = (request: FastifyRequest): void =>
    void when.push(replies.get(request)?.raw.writableFinished === true)
  const { promise, resolve } = deferred()
  const { app, table, logIn } = await accountsApp(
    t,
    {
      sendMail: () => void when.push(true),
      routeOptions: {
        onRequest: async (request, reply) => void replies.set(request, reply),
        // As the hooks of other plugins, which compress or measure.
        onSend: () => timers.setTimeout(5),
      },
    },
    {
      userService: {
        async findByUsername(name: string | number, request: FastifyRequest) {
          if (typeof name === 'number') return table.find(({ id }) => id === name)
          note(request)
          await promise
          return table.find(({ email }) => email === name)
        },
      },
    },
  )
  const headers = { ...(await logIn(3)), 'content-type': 'application/json' }
  const port = await listen(app)
  for (const email of all) {
    for (const path of [...open, '/email/change']) {
      const request = { method: 'POST', path, headers, body: JSON.stringify({ email }) }
      t.equal(answerOf(await send(port, request)), '202 {}')
    }
  }
  await until(() => when.length === 9, 'all are looked up')
  const pending = fateOf(app.authn.accounts.settled())
  await settle()
  t.equal(pending.state, 'pending')
  resolve()
  await until(() => pending.state === 'resolved', 'all are sent')
  // Of dora: a sign-up, and two for her new address; of the others, one for each request.
  t.equal(when.length, 9 + 6 + 1 + 2, String(when.length))
  t.strictSame(
    when,
    when.map(() => true),
  )
})

t.test('settled() waits for e-mails that begin while it waits', async (t) => {
  const gates = [deferred(), deferred()] as const
  let sent = 0
  const { app, send } = await accountsApp(t, { sendMail: () => gates[sent++ as 0]?.promise })
  const { settled } = app.authn.accounts
  await settled()
  t.equal(await send('/sign-up', { email: 'dora@example.com' }), '202 {}')
  const all = fateOf(settled())
  t.equal(await send('/sign-up', { email: 'erin@example.com' }), '202 {}')
  gates[0].resolve()
  await settle()
  t.equal(all.state, 'pending')
  gates[1].resolve()
  await until(() => all.state === 'resolved', 'both are sent')
  t.equal(app.authn.stats().accounts?.mails, 2)
})

t.test('closing an app waits for its e-mails, for eight seconds', async (t) => {
  const gate = deferred()
  const { app, send } = await accountsApp(t, { sendMail: () => gate.promise })
  await send('/sign-up', { email: 'dora@example.com' })
  const closing = fateOf(app.close())
  await timers.setTimeout(50)
  t.equal(closing.state, 'pending')
  gate.resolve()
  await until(() => closing.state === 'resolved', 'it is closed')
  t.equal(app.authn.stats().accounts?.mails, 1)

  const { setTimeout } = timers
  const waited: unknown[] = []
  const never = await accountsApp(t, { sendMail: () => new Promise(() => undefined) })
  await never.send('/sign-up', { email: 'dora@example.com' })
  timers.setTimeout = (async (milliseconds: number) => void waited.push(milliseconds)) as never
  syncBuiltinESMExports()
  await never.app.close().finally(() => {
    timers.setTimeout = setTimeout
    syncBuiltinESMExports()
  })
  t.ok(waited.length > 0)
  // Fastify waits ten seconds for a hook, and skips those that follow.
  t.ok(waited.every((each) => Number(each) <= 8_000 && Number(each) > 7_000))
})

t.test('between the response and the work there is a pause', async (t) => {
  const raw = new PassThrough()
  const [pause, steps] = [deferred(), [] as string[]]
  const mails = new Mails('account', {} as never, new Set(), {} as never, () => {
    steps.push('pause')
    return pause.promise
  })
  mails.later({ raw } as unknown as FastifyReply, () => steps.push('work'))
  await settle()
  t.strictSame(steps.splice(0), [], 'the response is not sent')
  raw.resume().end()
  await until(() => steps.length > 0, 'it is sent')
  await settle()
  t.strictSame(steps.splice(0), ['pause'])
  pause.resolve()
  await mails.settled()
  t.strictSame(steps, ['work'])
})

t.test('an app without e-mails under way closes at once', async (t) => {
  const { app, lines } = await accountsApp(t)
  const before = process.getActiveResourcesInfo().length
  await app.close()
  t.ok(process.getActiveResourcesInfo().length <= before)
  t.notMatch(lines.join(), /"level":50/)
})

t.test('no line of the log has an address, a link, a token or a password', async (t) => {
  const mails: AccountMail[] = []
  const { lines, stream } = rawLines()
  /** As HTTP clients and drivers make them: with the request in the message, in members, and in causes. */
  const failure = (...texts: unknown[]): Error => {
    const text = texts
      .flatMap((each) => [String(each), encodeURIComponent(String(each)), `<${String(each)}>`])
      .join(' ')
    const cause = Object.assign(new Error(`because of ${text}`), { text })
    return Object.assign(new Error(`failed: ${text}`, { cause }), { config: { data: text }, text })
  }
  let kind = 0
  const sendMail = (mail: AccountMail): unknown => {
    mails.push(mail)
    const { to, link, token } = mail
    const error = failure(to, link, token, mail.user && (mail.user as AccountUser).email)
    const thrown: unknown[] = [error, error.message, { message: error.message, to }, undefined, to]
    // oxlint-disable-next-line typescript/only-throw-error, typescript/prefer-promise-reject-errors -- as apps do
    return Promise.reject(thrown[kind++ % thrown.length])
  }
  const { post, logIn, app, table } = await accountsApp(
    t,
    { sendMail },
    {
      userService: {
        findByUsername(name: string | number) {
          if (name === 'broken@example.com') throw failure(name)
          return table.find(({ id, email }) => id === Number(name) || email === name)
        },
      },
    },
    undefined,
    { logger: { level: 'trace', stream } },
  )
  const bodies: [url: string, body: object][] = [
    ['/sign-up', { email: 'dora@example.com' }],
    ['/sign-up', { email: 'alice@example.com' }],
    ['/sign-up', { email: 'broken@example.com' }],
    ['/sign-up', { email: 'no address@example.com' }],
    ['/sign-up', { email: 1 }],
    ['/password/forgot', { email: 'alice@example.com' }],
    ['/password/forgot', { email: 'broken@example.com' }],
    ['/email/change', { email: 'alice@new.example', currentPassword: password }],
    ['/email/change', { email: 'alice@new.example', currentPassword: 'a wrong password' }],
    ['/password/change', { currentPassword: password, password: 'alice' }],
    ['/password/change', { currentPassword: password, password: newPassword }],
  ]
  for (const round of [1, 2, 3, 4, 5]) {
    t.ok(round)
    const headers = await logIn()
    for (const [url, body] of bodies) {
      await post(url, body, headers)
      await app.authn.accounts.settled()
    }
    for (const { token } of mails.slice(-9)) {
      for (const url of ['/sign-up/finish', '/password/reset', '/email/confirm'])
        await post(url, { token, password: 'alice' }, headers)
    }
  }
  await app.authn.accounts.settled()
  const logged = lines.join('')
  t.match(logged, /ERR_AUTH_USER_SERVICE/)
  t.match(logged, /failed: /)
  t.match(logged, /because of /)
  t.match(logged, /ERR_AUTH_LINK_INVALID/)
  const tokens = mails.flatMap(({ token }) => token?.split('.') ?? [])
  t.ok(tokens.length > 20)
  const secrets = [
    ...new Set([...tokens, '@', '%40', 'alice', 'dora', 'eyJ', password, newPassword]),
  ]
  t.strictSame(
    secrets.filter((each) => logged.includes(each)),
    [],
  )
  t.match(app.authn.stats().accounts, { mails: 0, mailsFailed: mails.length })
})

t.test('an e-mail that fails after a change does not change its response', async (t) => {
  const sendMail = (): never => {
    throw new Error('no mailer')
  }
  const { send, logIn, app, stored } = await accountsApp(t, { sendMail })
  const change = { currentPassword: password, password: newPassword }
  t.equal(await send('/password/change', change, await logIn()), '200 tokens')
  const own = { currentPassword: newPassword }
  t.equal(await send('/account/delete', own, await logIn()), '204')
  t.equal(stored(1), undefined)
  await app.authn.accounts.settled()
  t.match(app.authn.stats().accounts, { mails: 0, mailsFailed: 2 })
})

t.test(
  'an odd error of a mailer is logged quickly, and ends neither process nor wait',
  async (t) => {
    const cyclic = new Error('the mailer is away')
    cyclic.cause = cyclic
    const long = 'a'.repeat(200_000)
    const quoting = new Error(
      `${long} ${long}.b alice@example.com,eyJhbGciOiJI.eyJzdWIiOjF9.c2lnbmF0dXJl`,
    )
    const odd = [
      cyclic,
      quoting,
      Object.create(null),
      { message: Object.create(null) },
      null,
      'away',
    ]
    for (const error of odd) {
      const sendMail = () => Promise.reject(error)
      const { app, lines, send } = await accountsApp(t, { sendMail })
      t.equal(await send('/password/forgot', { email: known[0] }), '202 {}')
      const { user } = process.cpuUsage()
      await app.authn.accounts.settled()
      t.ok(process.cpuUsage().user - user < 2_000_000, 'under 2 seconds')
      const logged = lines.filter((line) => line.includes('"level":50')).join('')
      if (error === cyclic) t.match(JSON.parse(logged), { authenticator: 'account', kind: 'reset' })
      t.match(logged, /could not be sent/)
      t.notMatch(logged, /alice@|eyJzdWIiOjF9/)
      t.equal(app.authn.stats().accounts?.mailsFailed, 1)
    }
  },
)
