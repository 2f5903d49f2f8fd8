// program: docs-page, in npm run test:all
// The page /docs of the demo, in a real browser, as a person uses it. With DOCS_SCREENSHOT=file it leaves
// a picture there: that of the README is docs/images/swagger-ui.png.
import type { Locator, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { demoUsers } from './people.js'
import { cancelPrompts, openPage } from '../../test/helpers/browser.js'
import { findProgram, unlessFound } from '../../test/helpers/programs.js'
import { environment, startDemo } from '../support/demo.js'

const chromium = findProgram('Chromium')
const skip = unlessFound('Chromium')
const [alice, bob] = demoUsers
const rejected = { error: 'L’en-tête d’authentification est absent ou non valide.' }

/** The block of an operation. */
function operation(page: Page, method: string, path: string): Locator {
  return page.locator(`.opblock-${method}`, { has: page.locator(`[data-path="${path}"]`) })
}

/** Opens an operation for trying out. */
async function tryOut(block: Locator): Promise<void> {
  await block.locator('.opblock-summary-control').click()
  await block.locator('.try-out__btn').click()
}

/** Presses Execute, and reads what is shown of the response, and which scheme the page has used. */
async function execute(
  page: Page,
  block: Locator,
): Promise<{ status: string; body: unknown; scheme: string | undefined }> {
  const answered = page.waitForEvent('response')
  await block.locator('.btn.execute').click()
  const response = await answered
  const [scheme] = (await response.request().headerValue('authorization'))?.split(' ') ?? []
  // An answer of before stays until this one is shown.
  const live = block
    .locator('.live-responses-table .response', { hasText: String(response.status()) })
    .first()
  const status = await live.locator('.response-col_status').innerText()
  const body = await live.locator('.highlight-code pre').first().innerText()
  return { status: status.trim(), body: JSON.parse(body), scheme }
}

/** Logs in as it stands there, for the example is of a user of the demo; gives the token. */
async function logIn(t: Test, page: Page, path: string): Promise<string> {
  const block = operation(page, 'post', path)
  await tryOut(block)
  const { status, body } = await execute(page, block)
  t.equal(status, '200', path)
  const { token } = body as { token: string }
  t.match(token, /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/)
  return token
}

/** Fills in the form of a scheme behind the Authorize button, in place of what it had. */
async function authorize(
  page: Page,
  scheme: string,
  fields: Record<string, string>,
): Promise<void> {
  await page.locator('.auth-wrapper > .btn.authorize').click()
  const form = page.locator('.modal-ux .auth-container', { hasText: scheme })
  const logout = form.getByText('Logout')
  if ((await logout.count()) > 0) await logout.click()
  for (const [selector, value] of Object.entries(fields)) await form.locator(selector).fill(value)
  await form.locator('.btn.authorize[type=submit]').click()
  await logout.waitFor()
  await page.locator('.modal-ux .btn-done').first().click()
}

t.test('the API reference sends the credentials that a reader enters', { skip }, async (t) => {
  const app = await startDemo(t, environment(t.testdir()))
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  const { page, requests, complaints } = await openPage(t, String(chromium), 'fr-FR')
  const policies: (string | undefined)[] = []
  page.on('response', (response) => policies.push(response.headers()['content-security-policy']))
  await cancelPrompts(page, `${origin}/account`)
  await page.goto(`${origin}/docs`)
  await page.locator('.opblock').first().waitFor()
  t.match(policies[0], /^default-src 'self';/)
  t.equal(await page.locator('.opblock').count(), 25)

  const closedLocks = page.locator('.authorization__btn[aria-label$=" locked"]')
  await t.test('protected routes have a lock, and no others', async (t) => {
    const locked = async (method: string, path: string): Promise<boolean> =>
      (await operation(page, method, path).locator('.authorization__btn').count()) === 1
    for (const path of ['/me', '/account', '/greeting', '/notes/', '/rs256/me'])
      t.ok(await locked('get', path), path)
    for (const path of ['/', '/notes/published', '/admin/health'])
      t.notOk(await locked('get', path), path)
    t.notOk(await locked('post', '/login'), '/login')
    // Also at those that need no credentials but accept some.
    t.equal(await closedLocks.count(), 0)
  })

  const me = operation(page, 'get', '/me')
  await t.test('a request without credentials shows a 401', async (t) => {
    await tryOut(me)
    t.strictSame(await execute(page, me), { status: '401', body: rejected, scheme: undefined })
  })

  await t.test('tokens of three keys are accepted at their own routes only', async (t) => {
    const own = operation(page, 'get', '/rs256/me')
    await tryOut(own)
    for (const [path, block, user] of [
      ['/login', me, { name: alice.name, email: alice.email, roles: alice.roles }],
      ['/rs256/login', own, {}],
      ['/es256/login', null, {}],
    ] as const) {
      const token = await logIn(t, page, path)
      await authorize(page, 'bearerAuth', { 'input[type=text], input[type=password]': token })
      if (block === null) continue
      const { status, body, scheme } = await execute(page, block)
      t.strictSame([status, scheme], ['200', 'Bearer'], path)
      t.match(body, user)
    }
    const described = operation(page, 'post', '/login').locator('.responses-inner').last()
    t.match(await described.innerText(), 'Authorization: Bearer <token>')
  })

  await t.test('a name and a password are accepted at the routes of Basic', async (t) => {
    const account = operation(page, 'get', '/account')
    await tryOut(account)
    const none = { status: '401', body: rejected, scheme: undefined }
    t.strictSame(await execute(page, account), none, 'a token is none for Basic')
    const fields = { 'input[name=username]': bob.email, 'input[name=password]': bob.password }
    await authorize(page, 'basicAuth', fields)
    t.match(await execute(page, account), {
      status: '200',
      body: { name: bob.name, email: bob.email, roles: bob.roles },
      scheme: 'Basic',
    })
  })

  await t.test('an API key is accepted at the routes of API keys', async (t) => {
    const make = operation(page, 'post', '/keys/')
    await tryOut(make)
    const payload = { email: alice.email, password: alice.password }
    const answer = await app.inject({ method: 'POST', url: '/login', payload })
    await authorize(page, 'bearerAuth', { input: answer.json<{ token: string }>().token })
    t.equal(await closedLocks.count(), 19, 'there are credentials for all')
    const { status, body } = await execute(page, make)
    t.match(status, /^201/)
    await page.locator('.auth-wrapper > .btn.authorize').click()
    const form = page.locator('.modal-ux .auth-container', { hasText: 'bearerAuth' })
    await form.getByText('Logout').click()
    await page.locator('.modal-ux .btn-done').first().click()
    await authorize(page, 'apiKeyAuth', { input: (body as { key: string }).key })
    const notes = operation(page, 'get', '/notes/')
    await tryOut(notes)
    t.match(await execute(page, notes), { status: '200', body: [{ owner: 'alice' }, {}] })
  })

  t.ok(requests.length > 8)
  t.strictSame(
    requests.filter((url) => new URL(url).origin !== origin),
    [],
    'the page loads nothing from elsewhere',
  )
  const unexpected = complaints.filter((text) => !/status of 401/.test(text))
  t.strictSame(unexpected, [], 'nothing in the console')
  t.equal(complaints.length, 2, 'but the rejections')
  await takePicture(page, me)
})

/** The Authorize button, and the protected route with its answer: everything else is left out. */
async function takePicture(page: Page, block: Locator): Promise<void> {
  const path = process.env.DOCS_SCREENSHOT
  if (path === undefined) return
  const hidden = [
    '.topbar',
    '.information-container',
    '.opblock-tag',
    '.opblock-tag-section:not(:has([data-path="/me"]))',
    '.opblock:not(:has([data-path="/me"]))',
  ]
  await page.evaluate(`document.querySelectorAll(${JSON.stringify(hidden.join(','))})
    .forEach((element) => { element.hidden = true; element.style.display = 'none' })`)
  await page.evaluate('window.scrollTo(0, 0)')
  const end = await block.locator('.live-responses-table .highlight-code').first().boundingBox()
  const height = Math.round((end?.y ?? 0) + (end?.height ?? 0) + 2)
  await page.screenshot({ path, fullPage: true, clip: { x: 0, y: 0, width: 1000, height } })
}
