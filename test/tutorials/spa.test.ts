// Follows the tutorial. What its reader does in a browser stands between two steps; without Chromium, the API is asked
// as the page would. A PostgreSQL in this process is where the deployed app has a server.
import t, { type Test } from 'tap'
import { startPostgres } from '../../examples/support/embedded-postgres.js'
import { openPage } from '../helpers/browser.js'
import { findProgram, unlessFound } from '../helpers/programs.js'
import { readPage } from '../helpers/readme.js'
import { freePort } from '../helpers/redis-server.js'
import { follow } from '../helpers/tutorial.js'

const name = 'docs/start/spa.md'
const email = 'alice@example.com'
const password = 'curiouser and curiouser'

t.test(
  'following docs/start/spa.md gives an app that answers as the page says',
  { skip: unlessFound('curl') },
  async (t) => {
    const server = await startPostgres()
    t.teardown(() => server.close())
    const ports = { 5173: await freePort(), 5432: Number(new URL(server.connectionString).port) }
    // Cut below the list of what the reader does. The lines keep their numbers.
    const lines = readPage(name).split('\n')
    const cut = lines.indexOf('The API has stored the teapot, and gives it to alice alone.')
    const pages = { [name]: lines.slice(0, cut).join('\n') }
    const reader = await follow(t, [name], { ports, pages })
    /** The newest mail in the terminal of the API. */
    const linkOf = async (): Promise<string> => {
      for (let round = 0; round < 300; round += 1) {
        const link = /^Mail to alice@\S+: sign-up\n(\S+#\S+)\n/m.exec(reader.shown())?.[1]
        if (link !== undefined) return link
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      throw new Error(`no mail for alice:\n${reader.shown()}`)
    }
    const api = reader.origin.replace('127.0.0.1', 'localhost')
    const origin = `http://localhost:${ports[5173]}`
    await (findProgram('Chromium') === null
      ? askAsPage(t, api, origin, linkOf)
      : usePage(t, origin, linkOf))
    pages[name] = lines.map((line, at) => (at < cut ? '' : line)).join('\n')
    await reader.follow([name])
  },
)

async function usePage(t: Test, origin: string, linkOf: () => Promise<string>): Promise<void> {
  const { page, complaints, requests } = await openPage(t, String(findProgram('Chromium')), 'en')
  const press = (button: string) => page.getByRole('button', { name: button }).first().click()
  const wish = async (text: string): Promise<void> => {
    await page.getByLabel('Wish').fill(text)
    await press('Add')
    await page.getByText(text).waitFor()
  }
  const logIn = async (password: string): Promise<void> => {
    await page.locator('#login [name=email]').fill(email)
    await page.locator('#login [name=password]').fill(password)
    await press('Log in')
  }
  await page.goto(origin)
  await page.locator('#mail [name=email]').fill(email)
  await press('Sign up')
  await page.getByText('Look into your mailbox.').waitFor()
  const link = await linkOf()
  t.ok(link.startsWith(`${origin}/sign-up#`), 'the link leads to the page')
  await page.goto(link)
  await page.getByLabel('New password').fill(password)
  await press('Save')
  t.equal(page.url(), `${origin}/`, 'the token is gone from the address')
  await wish('a teapot')
  await wish('a clock')
  await page.getByRole('listitem').filter({ hasText: 'a clock' }).getByRole('button').click()
  await page.getByText('a clock').waitFor({ state: 'detached' })
  await page.reload()
  await page.getByText('a teapot').waitFor()
  // As if the access token had expired.
  await page.context().clearCookies({ name: 'token' })
  await page.reload()
  await page.getByText('a teapot').waitFor()
  const found = requests.some((url) => url.endsWith('/login/refresh'))
  t.ok(found, 'the token was refreshed')
  const stored = await page.evaluate('JSON.stringify(localStorage)')
  t.match(stored, /^\{"fastify-authn [^"]+":"[\d.]+ \d+"\}$/, 'no token is stored')
  await press('Log out')
  await logIn('wrong')
  await page.getByText('Invalid credentials').waitFor()
  await logIn(password)
  await page.getByText('a teapot').waitFor()
  // The browser notes every 401; nothing else is wrong.
  const seen = complaints.filter((text) => !text.startsWith('Failed to load resource: '))
  t.strictSame(seen, [])
  await page.goto(origin.replace('localhost', '127.0.0.1'))
  await logIn(password)
  await page.getByText('The server cannot be reached.').waitFor()
  await page.close()
}

async function askAsPage(t: Test, api: string, origin: string, linkOf: () => Promise<string>) {
  let cookie = ''
  const ask = async (method: string, path: string, body?: object): Promise<unknown> => {
    const headers = { origin, cookie, 'sec-fetch-site': 'same-site' }
    const json = { ...headers, 'content-type': 'application/json' }
    const init = body ? { headers: json, body: JSON.stringify(body) } : { headers }
    const response = await fetch(`${api}${path}`, { method, ...init })
    t.ok(response.ok, `${method} ${path}`)
    t.equal(response.headers.get('access-control-allow-origin'), origin)
    const set = response.headers.getSetCookie().map((line) => line.replace(/;.*/, ''))
    if (set.length > 0) cookie = set.join('; ')
    return response.status === 204 ? null : response.json()
  }
  await ask('POST', '/sign-up', { email })
  const token = (await linkOf()).replace(/^.*#/, '')
  await ask('POST', '/sign-up/finish', { token, password })
  await ask('POST', '/wishes', { text: 'a teapot' })
  await ask('POST', '/wishes', { text: 'a clock' })
  await ask('DELETE', '/wishes/2')
  await ask('POST', '/login/refresh', {})
  t.strictSame(await ask('GET', '/wishes'), [{ id: 1, text: 'a teapot' }])
  await ask('POST', '/logout', {})
}
