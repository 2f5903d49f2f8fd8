// program: its own, in npm run test:all
// The app of docs/guides/mail-login.md, over PostgreSQL (PGlite): a sign-up, and a login on another device, without passwords.
import { randomBytes } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import t from 'tap'
import { sqlSchema } from '../../lib/sessions/stores/sql-schema.js'
import { usersSchema } from '../../lib/users-table/stores/sql-schema.js'
import { database } from './database.js'
import { outbox } from './mailer.js'

process.env.AUTH_JWT_SECRET = randomBytes(64).toString('base64url')
process.env.PORT = '0'
await database.exec('DROP TABLE passkeys; DROP TABLE users')
await database.exec(`${usersSchema('shop')} ${sqlSchema('shop')}`)
const { app } = await import('./mail-login.js')
t.teardown(async () => {
  await app.close()
  await database.close()
})

const email = 'dora@shop.example'
const chrome = 'Mozilla/5.0 Chrome/150.0 Safari/537.36'
const cookieOf = ({ cookies }: LightMyRequestResponse): string =>
  cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
const post = (url: string, payload: object, userAgent = chrome) =>
  app.inject({ method: 'POST', url, payload, headers: { 'user-agent': userAgent } })

/** Asks for an e-mail. @returns what the page gets, and what the e-mail says */
async function ask(userAgent?: string) {
  const asked = (await post('/login/mail', { email }, userAgent)).json<Record<string, string>>()
  await app.authn.accounts.settled()
  const [letter] = outbox.splice(0)
  const text = String(letter?.text)
  const [, token] = /#(\S+)/.exec(text) ?? []
  const [, sign, code] = /(\w+): (\d{6})$/m.exec(text) ?? []
  return { asked, to: letter?.to, text, token, sign, code }
}

const me = async (response: LightMyRequestResponse) =>
  (await app.inject({ url: '/me', headers: { cookie: cookieOf(response) } })).json<object>()

t.test('a link signs a stranger up, and a code logs in on another device', async (t) => {
  const { to, text, token } = await ask()
  t.equal(to, email)
  t.match(text, /Create your account[^]+10 minutes[^]+127\.0\.0\.1, with Chrome/)
  const user = await me(await post('/login/mail/finish', { token }))
  t.match(user, { email })
  const { asked, text: other, sign, code } = await ask()
  t.match(other, /^Log in at Shop/)
  t.equal(asked.sign, sign)
  const response = await post('/login/mail/finish', { token: asked.token, code })
  t.strictSame(await me(response), user)
})

t.test('no e-mail has a text of who asked for it', async (t) => {
  const { text } = await ask('Your account is blocked: https://evil.example')
  t.notMatch(text, 'evil')
})
