import { randomBytes } from 'node:crypto'
import bcrypt from 'bcrypt'
import Fastify, { type LightMyRequestResponse } from 'fastify'
import { authn } from 'fastify-authn'
import t from 'tap'
import type { LogInMail, Passkey } from 'fastify-authn'
import { totpCode, virtualPasskey } from 'fastify-authn/testing'
import { rememberMe } from './remember-me.js'

const password = 'a white rabbit in a waistcoat'
const alice = {
  id: 1,
  email: 'alice@shop.example',
  password: bcrypt.hashSync(password, 4),
  secondFactor: null as string | null,
}
const keys = new Map<string, Passkey>()
const mails: LogInMail[] = []

const app = Fastify()
await app.register(authn, {
  userService: {
    findByUsername: (name) => ([1, '1', alice.email].includes(name) ? { ...alice } : null),
  },
  jwt: { secret: randomBytes(64) },
  login: { usernameField: 'email', subject: () => 1 },
  sessions: true,
  cookies: true,
  accounts: {
    url: 'https://shop.example/account',
    sendMail: (mail) => void mails.push(mail as LogInMail),
    signUp: false,
    create: () => null,
    update: (_user, after) => {
      alice.password = String(after.passwordHash)
      return true
    },
  },
  mailLogin: true,
  secondFactor: {
    key: randomBytes(32).toString('base64url'),
    issuer: 'Shop',
    update: (_user, after) => {
      alice.secondFactor = after
      return true
    },
  },
  passkeys: {
    origin: 'https://shop.example',
    name: 'Shop',
    list: () => [...keys.values()],
    add: (_user, passkey) => keys.set(passkey.id, passkey).size > 0,
    update: (_user, after) => keys.set(after.id, after).size > 0,
    remove: (_user, id) => keys.delete(id),
  },
})
rememberMe(app)
app.get('/me', { config: { auth: true } }, ({ user }) => user)
t.teardown(() => app.close())

/** A browser: its cookies, and those that outlive it. */
class Browser {
  readonly #jar = new Map<string, { value: string; stays: boolean }>()

  async send(method: 'GET' | 'POST', url: string, payload?: object): Promise<number> {
    return (await this.ask(method, url, payload)).statusCode
  }

  async ask(method: 'GET' | 'POST', url: string, payload?: object) {
    const cookie = [...this.#jar].map(([name, { value }]) => `${name}=${value}`).join('; ')
    const headers = { cookie, 'sec-fetch-site': 'same-origin' }
    const response = await app.inject({ method, url, headers, ...(payload && { payload }) })
    this.#keep(response)
    return response
  }

  /** Whether the session is still there when the browser has been closed and opened. */
  async stays(): Promise<boolean> {
    this.close()
    return (await this.send('GET', '/me')) === 200
  }

  #keep({ cookies }: LightMyRequestResponse): void {
    for (const { name, value, maxAge } of cookies) {
      if (maxAge === 0) this.#jar.delete(name)
      else this.#jar.set(name, { value, stays: maxAge !== undefined })
    }
  }

  logIn(remember?: unknown): Promise<number> {
    return this.send('POST', '/login', { email: alice.email, password, remember })
  }

  close(): void {
    for (const [name, { stays }] of this.#jar) if (!stays) this.#jar.delete(name)
  }
}

t.test('with remember: true, a session outlives the browser', async (t) => {
  const browser = new Browser()
  t.equal(await browser.logIn(true), 200)
  t.equal(await browser.send('POST', '/login/refresh', {}), 200)
  browser.close()
  t.equal(await browser.send('GET', '/me'), 200)
})

t.test('without it, also after a refresh, it does not', async (t) => {
  for (const remember of [undefined, false, 'true']) {
    const browser = new Browser()
    t.equal(await browser.logIn(remember), 200)
    t.equal(await browser.send('GET', '/me'), 200)
    t.equal(await browser.send('POST', '/login/refresh', {}), 200)
    t.equal(await browser.send('GET', '/me'), 200)
    browser.close()
    t.equal(await browser.send('GET', '/me'), 401)
    t.equal(await browser.send('POST', '/login/refresh', {}), 401)
  }
})

t.test('the last login decides, and a logout deletes the cookies', async (t) => {
  const browser = new Browser()
  await browser.logIn(false)
  await browser.logIn(true)
  t.equal(await browser.send('POST', '/login/refresh', {}), 200)
  browser.close()
  t.equal(await browser.send('GET', '/me'), 200)
  t.equal(await browser.send('POST', '/logout', {}), 204)
  t.equal(await browser.send('GET', '/me'), 401)
})

t.test('a new password, a code and a passkey do not change it', async (t) => {
  for (const remember of [true, undefined]) {
    const browser = new Browser()
    await browser.logIn(remember)
    const change = { password, currentPassword: password }
    t.equal(await browser.send('POST', '/password/change', change), 200)
    t.equal(await browser.send('POST', '/login/confirm', { password }), 200)
    t.equal(await browser.stays(), remember === true, 'a new password, and a confirmation')
  }

  const passkey = virtualPasskey({ origin: 'https://shop.example', rpId: 'shop.example' })
  const adding = new Browser()
  await adding.logIn(true)
  type Begun = { token: string; publicKey: object; secret: string }
  const begun = (await adding.ask('POST', '/passkeys/options', {})).json<Begun>()
  const added = { token: begun.token, response: passkey.create(begun.publicKey) }
  t.equal(await adding.send('POST', '/passkeys', added), 201)
  for (const remember of [true, undefined]) {
    const browser = new Browser()
    const asked = (await browser.ask('POST', '/login/passkey/options', {})).json<Begun>()
    const body = { token: asked.token, response: passkey.get(asked.publicKey), remember }
    t.equal(await browser.send('POST', '/login/passkey', body), 200)
    t.equal(await browser.stays(), remember === true, 'a passkey')
  }

  const asked = (await adding.ask('POST', '/login/passkey/options', {})).json<Begun>()
  const proof = { token: asked.token, response: passkey.get(asked.publicKey) }
  t.equal(await adding.send('POST', '/login/confirm', proof), 200)
  const setup = (await adding.ask('POST', '/second-factor/setup', {})).json<Begun>()
  const code = totpCode(setup.secret)
  const enabled = await adding.ask('POST', '/second-factor/enable', { token: setup.token, code })
  const { recoveryCodes } = enabled.json<{ recoveryCodes: string[] }>()
  t.equal(await adding.stays(), true, 'a confirmation, and a second factor')
  for (const remember of [true, undefined]) {
    const browser = new Browser()
    // The page said the other thing before.
    await browser.logIn(remember !== true)
    const half = await browser.ask('POST', '/login', { email: alice.email, password, remember })
    t.equal(half.statusCode, 202)
    const next = (response: LightMyRequestResponse) => ({
      token: response.json<{ secondFactor: { token: string } }>().secondFactor.token,
      code: recoveryCodes.pop(),
    })
    t.equal(await browser.send('POST', '/login/second-factor', next(half)), 200)
    t.equal(await browser.stays(), remember === true, 'a code')
    t.equal(await browser.send('POST', '/login/mail', { email: alice.email }), 202)
    await app.authn.accounts.settled()
    const mailed = { token: mails.pop()?.token, remember: remember !== true }
    const asking = await browser.ask('POST', '/login/mail/finish', mailed)
    t.equal(await browser.send('POST', '/login/second-factor', next(asking)), 200)
    t.equal(await browser.stays(), remember !== true, 'an e-mail and a code')
  }
})
