// Logins by e-mail beside sessions of the browser, confirmations, limits of other registrations, and stores that fail.
import http2 from 'node:http2'
import t from 'tap'
import { channels } from '../../lib/index.js'
import { memorySessions } from '../../lib/sessions/index.js'
import { mailLoginWith } from '../../lib/testing/index.js'
import { accountsApp, jarOf } from '../helpers/accounts.js'
import { sessionOf } from '../helpers/client.js'
import { clockOf } from '../helpers/clock.js'
import { listen } from '../helpers/flows.js'
import { alice, expired, mailApp, mailRegistrations } from '../helpers/mail-login.js'
import { storeWith } from '../helpers/sessions.js'
import { usersApp } from '../helpers/users-app.js'

const cookies = { cookies: true } as const

t.test('an e-mail that was used does not log the browser out', async (t) => {
  const { asked, post, finish, me } = await mailApp(t, true, cookies)
  const { token } = (await asked()).mail
  const jar = jarOf(await post('/login/mail/finish', { token }))
  t.equal(await finish({ token }, jar), expired)
  t.equal(await me(jar), 200)
  t.equal((await post('/login/refresh', {}, jar)).statusCode, 200)
})

t.test('of a double click, one is logged in, and the session before it has ended', async (t) => {
  const { asked, post, app, me } = await mailApp(t, true, {
    ...cookies,
    sessions: { maxPerUser: 2 },
  })
  const log = async () => jarOf(await post('/login/mail/finish', await tokenOf()))
  const tokenOf = async () => ({ token: (await asked()).mail.token })
  const [other, jar] = [await log(), await log()]
  const body = await tokenOf()
  const both = await Promise.all([0, 1].map(() => post('/login/mail/finish', body, jar)))
  const won = both.find(({ statusCode }) => statusCode === 200)
  t.ok(both.some(({ statusCode }) => statusCode === 401))
  t.equal(won && (await me(jarOf(won))), 200)
  t.equal(await me(jar), 401, 'it was replaced')
  t.equal(await me(other), 200, 'which is not one of too many')
  t.equal((await app.authn.sessions.list(1)).length, 2)
})

t.test('simultaneous logins by e-mail leave no session too many', async (t) => {
  let isHeld = false
  const waiting: (() => void)[] = []
  const both = async (): Promise<void> => {
    await new Promise<void>((resolve) => {
      waiting.push(resolve)
      if (waiting.length === 2) for (const go of waiting.splice(0)) go()
    })
  }
  const store = storeWith(
    ({ find }) => ({
      async find(handle) {
        const found = await find(handle)
        if (isHeld) await both()
        return found
      },
    }),
    memorySessions(),
  )
  const { asked, post, app, me } = await mailApp(t, true, {
    ...cookies,
    sessions: { store, maxPerUser: 1 },
  })
  const tokenOf = async () => ({ token: (await asked()).mail.token })
  const jar = jarOf(await post('/login/mail/finish', await tokenOf()))
  const bodies = [await tokenOf(), await tokenOf()]
  isHeld = true
  const all = await Promise.all(bodies.map((body) => post('/login/mail/finish', body, jar)))
  t.equal((await app.authn.sessions.list(1)).length, 1)
  const inside = await Promise.all(all.map((response) => me(jarOf(response))))
  t.equal(inside.filter((status) => status === 200).length, 1)
})

t.test('a store that fails after the session has begun does not cost the e-mail', async (t) => {
  let isAway = false
  const store = storeWith(
    ({ swap }) => ({
      swap: async (given) => (isAway ? Promise.reject(new Error('away')) : swap(given)),
    }),
    memorySessions(),
  )
  const { asked, post, me } = await mailApp(t, true, { ...cookies, sessions: { store } })
  const jar = jarOf(await post('/login/mail/finish', { token: (await asked()).mail.token }))
  const { token } = (await asked()).mail
  isAway = true
  const response = await post('/login/mail/finish', { token }, jar)
  t.equal(response.statusCode, 200)
  t.equal(await me(jarOf(response)), 200)
})

t.test('an e-mail that has ended ends no session, also where there are many', async (t) => {
  const { asked, app, logIn, finish, me } = await mailApp(t, true, { sessions: { maxPerUser: 1 } })
  const { token } = (await asked()).mail
  await app.authn.sessions.revoke({ sub: 1 })
  const session = await logIn()
  t.equal(await finish({ token }), expired)
  t.equal(await me(session), 200)
})

t.test('an e-mail from before a log-out everywhere confirms nothing', async (t) => {
  const { asked, app, logIn, send, me } = await mailApp(t)
  const old = await asked()
  await app.authn.sessions.revoke({ sub: 1 })
  const session = await logIn()
  t.equal(await send('/login/confirm', { token: old.mail.token }, session), expired)
  const body = { token: old.token, code: old.mail.code }
  t.equal(await send('/login/confirm', body, session), expired)
  t.equal(await me(session), 200)
})

t.test('a confirmation ends the counts of e-mails, as a login does', async (t) => {
  const { asked, logIn, post } = await mailApp(t, true, {}, { limits: {} })
  let session = await logIn()
  for (let turn = 0; turn < 12; turn += 1) {
    const { token } = (await asked()).mail
    const confirmed = await post('/login/confirm', { token }, session)
    t.equal(confirmed.statusCode, 200, `${turn}`)
    session = sessionOf(confirmed)
  }
})

t.test('each registration has its own limits, over counts that they share', async (t) => {
  const { asked } = await mailRegistrations(t, { inner: { perRecipient: 5 }, shop: {} })
  const names = ['shop', 'inner', 'shop', 'shop', 'inner', 'inner', 'inner']
  const isSent = []
  for (const name of names) isSent.push((await asked(name)).mail !== undefined)
  t.strictSame(isSent, [true, true, true, false, true, true, false])
})

t.test('no e-mail has a link to reset a password that no route accepts', async (t) => {
  const app = await usersApp(
    t,
    {},
    { login: { passwords: false }, mailLogin: { accept: () => true } },
  )
  await app.app.authn.users.create({ email: alice }, null)
  await app.post('/sign-up', { email: alice })
  t.match(await app.mails(), [{ kind: 'no-password' }])
})

t.test('the event of a login has the time of its request', async (t) => {
  const clock = clockOf(t)
  const { asked, finish } = await mailApp(t)
  const { token } = (await asked()).mail
  clock.advance(500)
  const durations: (number | null)[] = []
  const hear = ({ duration }: { duration: number | null }) => void durations.push(duration)
  channels.login.subscribe(hear)
  t.teardown(() => channels.login.unsubscribe(hear))
  t.equal(await finish({ token }), '200 tokens')
  t.equal(durations.length, 1)
  t.ok(Number(durations[0]) < 60_000)
})

t.test('the address of a client that has closed its HTTP/2 connection is known', async (t) => {
  const server = { http2: true } as object
  const { app, mails } = await accountsApp(t, {}, { mailLogin: true }, undefined, server)
  const client = http2.connect(`http://127.0.0.1:${await listen(app)}`)
  t.teardown(() => client.destroy())
  const headers = { ':method': 'POST', ':path': '/login/mail', 'content-type': 'application/json' }
  const request = client.request(headers)
  request.end(JSON.stringify({ email: alice }))
  request.resume()
  await new Promise((resolve) => request.on('close', resolve))
  client.destroy()
  t.match(await mails(), [{ address: '127.0.0.1' }])
})

t.test('mailLoginWith() logs several users in at once', async (t) => {
  const { app } = await usersApp(t, {}, { mailLogin: true, secondFactor: undefined })
  const emails = [alice, 'bob@example.com', 'carol@example.com']
  for (const email of emails) await app.authn.users.create({ email }, null)
  const logins = await Promise.all(emails.map((email) => mailLoginWith(app, email)))
  const users = await Promise.all(
    logins.map(({ headers }) =>
      app
        .inject({ url: '/me', headers })
        .then((response) => response.json<{ email: string }>().email),
    ),
  )
  t.strictSame(users, emails)
})
