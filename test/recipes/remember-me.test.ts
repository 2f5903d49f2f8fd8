import { randomBytes } from 'node:crypto'
import bcrypt from 'bcrypt'
import Fastify, { type LightMyRequestResponse } from 'fastify'
import { authn } from 'fastify-authn'
import t from 'tap'
import { rememberMe } from '../../examples/recipes/remember-me.js'

const alice = { id: 1, email: 'alice', password: bcrypt.hashSync('wonderland', 4) }

const app = Fastify()
await app.register(authn, {
  userService: { findByUsername: (name) => (name === 'alice' ? alice : null) },
  jwt: { secret: randomBytes(64) },
  sessions: true,
  cookies: true,
})
rememberMe(app)
app.get('/me', { config: { auth: true } }, ({ user }) => user)
t.teardown(() => app.close())

/** A browser: its cookies, and those that outlive it. */
class Browser {
  readonly #jar = new Map<string, { value: string; stays: boolean }>()

  async send(method: 'GET' | 'POST', url: string, payload?: object): Promise<number> {
    const cookie = [...this.#jar].map(([name, { value }]) => `${name}=${value}`).join('; ')
    const headers = { cookie, 'sec-fetch-site': 'same-origin' }
    const response = await app.inject({ method, url, headers, ...(payload && { payload }) })
    this.#keep(response)
    return response.statusCode
  }

  #keep({ cookies }: LightMyRequestResponse): void {
    for (const { name, value, maxAge } of cookies) {
      if (maxAge === 0) this.#jar.delete(name)
      else this.#jar.set(name, { value, stays: maxAge !== undefined })
    }
  }

  logIn(remember?: unknown): Promise<number> {
    return this.send('POST', '/login', { username: 'alice', password: 'wonderland', remember })
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
