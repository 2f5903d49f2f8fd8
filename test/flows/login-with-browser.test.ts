// Logins with a real OpenID provider in a real browser: the app is `localhost` and the provider is `127.0.0.1`, which are
// two sites.
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { appWith, standardOptions } from '../helpers/app.js'
import { openPage } from '../helpers/browser.js'
import { listen, nameOf } from '../helpers/flows.js'
import { clientSecret, realProvider, visitor } from '../helpers/openid-provider.js'
import { findProgram, unlessFound } from '../helpers/programs.js'
import type { LoginProviderOptions } from '../../lib/index.js'

const chromium = findProgram('Chromium')
t.setTimeout(120_000)

const skip = unlessFound('Chromium')

/** A shop of pages that say who sees them, and a browser at its first page. */
async function visitShop(
  t: Test,
  sameSite: 'lax' | 'strict',
  more: Partial<LoginProviderOptions> = {},
) {
  const { issuer } = await realProvider(t)
  const username = ({ sub }: { sub: string }): string => sub
  const corp = { issuer, clientId: 'shop', clientSecret, username, ...more }
  const options = { sessions: true, cookies: { sameSite }, loginWith: { corp } }
  const app = await appWith(
    t,
    { ...standardOptions(), ...options },
    (app) => {
      const link = '<a href="/login/corp?returnTo=/notes">Sign in</a>'
      for (const url of ['/', '/notes']) {
        app.get(url, { config: { auth: 'try' } }, (request, reply) =>
          reply.type('text/html').send(`<p>${String(nameOf(request))}</p>${link}`),
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

t.test('a user logs in in two tabs at once', { skip }, async (t) => {
  const { url, page } = await visitShop(t, 'lax')
  const other = await page.context().newPage()
  await other.goto(url)
  await signIn(page)
  await signIn(other)
  await choose(page, 'alice')
  await choose(other, 'alice')
  t.strictSame([await nameOn(page), await nameOn(other)], ['alice', 'alice'])
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
