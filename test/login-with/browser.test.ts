// program: its own, in npm run test:all
// Logins with a real OpenID provider in a real browser: the app is `localhost` and the provider is `127.0.0.1`, which are
// two sites.
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { appWith, passwords, secret, standardOptions } from '../helpers/app.js'
import { openPage } from '../helpers/browser.js'
import { listen, nameOf } from '../helpers/flows.js'
import { clientSecret, realProvider, visitor } from '../helpers/openid-provider.js'
import { findProgram, unlessFound } from '../helpers/programs.js'
import type { LoginProviderOptions } from '../../lib/index.js'

const chromium = findProgram('Chromium')
const skip = unlessFound('Chromium')

/** What a page does to log in with a password, and to link an account. */
const script = `
  const post = (path, body) => fetch(path, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body),
  })
  async function connect() {
    const response = await post('/login/corp/link', { returnTo: '/settings' })
    location.href = (await response.json()).location
  }`

/** A shop of pages that say who sees them, and a browser at its first page. */
async function visitShop(
  t: Test,
  sameSite: 'lax' | 'strict',
  more: Partial<LoginProviderOptions> = {},
  jwt: { secret: string; expiry?: number } = { secret },
) {
  const { issuer } = await realProvider(t)
  const username = ({ sub }: { sub: string }): string => sub
  const corp = { issuer, clientId: 'shop', clientSecret, username, ...more }
  const options = { sessions: true, cookies: { sameSite }, loginWith: { corp }, jwt }
  const app = await appWith(
    t,
    { ...standardOptions(), ...options },
    (app) => {
      const link = '<a href="/login/corp?returnTo=/notes">Sign in</a>'
      const connect = `<button onclick="connect()">Connect</button><script>${script}</script>`
      for (const url of ['/', '/notes', '/settings']) {
        app.get(url, { config: { auth: 'try' } }, (request, reply) =>
          reply.type('text/html').send(`<p>${String(nameOf(request))}</p>${link}${connect}`),
        )
      }
    },
    { forceCloseConnections: true },
  )
  const url = `http://localhost:${await listen(app)}`
  const { page } = await openPage(t, chromium ?? '', 'en', ['localhost'])
  await page.goto(url)
  return { url, page, issuer }
}

const nameOn = (page: Page): Promise<string> => page.locator('p').innerText()
const signIn = (page: Page): Promise<unknown> =>
  Promise.all([page.waitForURL('**/choose/**'), page.getByText('Sign in').click()])
const choose = (page: Page, name: string): Promise<unknown> =>
  Promise.all([page.waitForURL('**/notes'), page.getByRole('button', { name }).click()])

for (const sameSite of ['lax', 'strict'] as const) {
  t.test(`a user logs in in a browser, with cookies that are ${sameSite}`, { skip }, async (t) => {
    const { url, page, issuer } = await visitShop(t, sameSite)
    await t.test('an address of a callback that an attacker has made logs in no one', async (t) => {
      // Without the cookie of the attempt, whether a link leads there or a page of another site.
      const callback = await visitor().choose(`${url}/login/corp`, 'bob')
      t.equal((await page.goto(callback))?.status(), 401)
      await page.goto(url)
      t.equal(await nameOn(page), 'null')
    })
    await t.test('the page that opens in the end knows the user', async (t) => {
      await signIn(page)
      t.equal(new URL(page.url()).origin, issuer)
      await choose(page, 'alice')
      t.equal(await nameOn(page), 'alice')
      const cookies = await page.context().cookies(url)
      t.strictSame(
        cookies.filter(({ name }) => name.includes('login-')),
        [],
        'no cookie of an attempt is left',
      )
    })
    await t.test('an address of an attacker changes nothing for who is logged in', async (t) => {
      const callback = await visitor().choose(`${url}/login/corp`, 'bob')
      t.equal((await page.goto(callback))?.status(), 401)
      await page.goto(url)
      t.equal(await nameOn(page), 'alice')
    })
  })
}

t.test('a user who cancels a second login sees that the first one holds', { skip }, async (t) => {
  const { page } = await visitShop(t, 'strict', { failureTo: '/notes' })
  await signIn(page)
  await choose(page, 'alice')
  await signIn(page)
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.waitForURL('**/notes?error=ERR_AUTH_LOGIN_DENIED&provider=corp')
  t.equal(await nameOn(page), 'alice')
})

for (const sameSite of ['lax', 'strict'] as const) {
  const title = `a user goes back and logs in, and goes back after it, with cookies that are ${sameSite}`
  t.test(title, { skip }, async (t) => {
    const { url, page, issuer } = await visitShop(t, sameSite)
    await signIn(page)
    await page.goBack()
    await signIn(page)
    await choose(page, 'bob')
    t.equal(await nameOn(page), 'bob')
    await page.goBack()
    t.equal(new URL(page.url()).origin, issuer, 'the callback is no page in the history')
    await page.goto(url)
    t.equal(await nameOn(page), 'bob', 'still logged in')
  })
}

/** A shop whose user alice has logged in with her password, and can link an account of the provider. */
async function visitSettings(t: Test, jwt?: { secret: string; expiry?: number }) {
  const owners = new Map<string, string>()
  const link: LoginProviderOptions['link'] = ({ sub }, user) => {
    const name = String(nameOf({ user }))
    if (!owners.has(sub)) owners.set(sub, name)
    return owners.get(sub) === name
  }
  const more = {
    link,
    username: ({ sub }: { sub: string }) => owners.get(sub),
    failureTo: '/notes',
  }
  const { url, page } = await visitShop(t, 'lax', more, jwt)
  const enter = async (page: Page, username: 'alice' | 'bob'): Promise<void> => {
    await page.goto(`${url}/settings`)
    const body = JSON.stringify({ username, password: passwords[username] })
    t.equal(await page.evaluate(`post('/login', ${body}).then(({ status }) => status)`), 200)
    await page.reload()
  }
  const openTab = async (): Promise<Page> => {
    const tab = await page.context().newPage()
    await tab.goto(`${url}/settings`)
    return tab
  }
  const failed = (page: Page, code: string): Promise<void> =>
    page.waitForURL(`**/notes?error=${code}&provider=corp`)
  await enter(page, 'alice')
  return { url, page, owners, enter, openTab, failed }
}

const connect = (page: Page): Promise<unknown> =>
  Promise.all([page.waitForURL('**/choose/**'), page.getByText('Connect').click()])
const press = (page: Page, name: string): Promise<void> =>
  page.getByRole('button', { name }).click()
const linkAs = (page: Page, name: string): Promise<unknown> =>
  Promise.all([page.waitForURL('**/settings'), press(page, name)])

t.test('a user links an account, goes back, and logs in with it', { skip }, async (t) => {
  const { url, page, owners } = await visitSettings(t)
  await connect(page)
  await page.goBack()
  t.equal(await nameOn(page), 'alice')
  await connect(page)
  await linkAs(page, 'bob')
  t.strictSame([await nameOn(page), [...owners]], ['alice', [['bob', 'alice']]])
  const names = async () => (await page.context().cookies(url)).map(({ name }) => name).toSorted()
  // That of the attempt that she went back from is still there.
  t.match(await names(), [/^login-/, 'refresh', 'token'])
  await page.goBack()
  t.notMatch(page.url(), 'callback', 'the callback is no page in the history')
  await page.goto(`${url}/settings`)
  t.equal(await page.evaluate(`post('/logout', {}).then(({ status }) => status)`), 204)
  await page.reload()
  t.equal(await nameOn(page), 'null')
  await signIn(page)
  await choose(page, 'bob')
  t.equal(await nameOn(page), 'alice', 'the account at the provider is hers')
})
