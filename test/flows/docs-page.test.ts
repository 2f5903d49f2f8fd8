// The page /docs of the demo, in a real browser, as a person uses it. With DOCS_SCREENSHOT=file it leaves
// a picture there: that of the README is docs/images/swagger-ui.png.
import type { Locator, Page } from 'playwright-core'
import t from 'tap'
import { demoUsers } from '../../examples/demo/users.js'
import { cancelPrompts, findChromium, openPage } from '../helpers/browser.js'
import { environment } from '../helpers/demo.js'
import { startDemo } from '../helpers/demo-app.js'

t.setTimeout(300_000)

const chromium = findChromium()
const skip = chromium === null && 'there is no Chromium on PATH, and CHROMIUM is not set'
const [alice, bob] = demoUsers
const refused = { error: 'L’en-tête d’authentification est absent ou non valide.' }

/** The block of an operation. */
function operation(page: Page, method: string, path: string): Locator {
  return page.locator(`.opblock-${method}`, { has: page.locator(`[data-path="${path}"]`) })
}

/** Opens an operation for trying out. */
async function tryOut(block: Locator): Promise<void> {
  await block.locator('.opblock-summary-control').click()
  await block.locator('.try-out__btn').click()
}

/** Presses Execute, and reads what is shown of the response. */
async function execute(page: Page, block: Locator): Promise<{ status: string; body: unknown }> {
  const answered = page.waitForEvent('requestfinished')
  await block.locator('.btn.execute').click()
  await answered
  const live = block.locator('.live-responses-table .response').first()
  await live.waitFor()
  const status = await live.locator('.response-col_status').innerText()
  const body = await live.locator('.highlight-code pre').first().innerText()
  return { status: status.trim(), body: JSON.parse(body) }
}

/** Fills in one form behind the Authorize button. */
async function authorize(
  page: Page,
  scheme: string,
  fields: Record<string, string>,
): Promise<void> {
  await page.locator('.auth-wrapper > .btn.authorize').click()
  const form = page.locator('.modal-ux .auth-container', { hasText: scheme })
  for (const [selector, value] of Object.entries(fields)) await form.locator(selector).fill(value)
  await form.locator('.btn.authorize[type=submit]').click()
  await form.getByText('Logout').waitFor()
  await form.locator('.btn-done').click()
}

async function clearAnswer(block: Locator): Promise<void> {
  await block.getByRole('button', { name: 'Clear' }).click()
}

t.test('the page of the demo, in a browser', { skip }, async (t) => {
  const app = await startDemo(t, environment(t.testdir()))
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  const { page, requests, complaints } = await openPage(t, String(chromium), 'fr-FR')
  const policies: (string | undefined)[] = []
  page.on('response', (response) => policies.push(response.headers()['content-security-policy']))
  await cancelPrompts(page, `${origin}/account`)
  await page.goto(`${origin}/docs`)
  await page.locator('.opblock').first().waitFor()
  t.match(policies[0], /^default-src 'self';/)
  t.equal(await page.locator('.opblock').count(), 21)

  await t.test('locks stand at protected routes, and at no other', async (t) => {
    const locked = async (method: string, path: string): Promise<boolean> =>
      (await operation(page, method, path).locator('.authorization__btn').count()) === 1
    for (const path of [
      '/me',
      '/account',
      '/export',
      '/greeting',
      '/notes/',
      '/admin/stats',
      '/rs256/me',
    ]) {
      t.ok(await locked('get', path), path)
    }
    for (const path of ['/', '/notes/published', '/admin/health'])
      t.notOk(await locked('get', path), path)
    t.notOk(await locked('post', '/login'), '/login')
  })

  const me = operation(page, 'get', '/me')
  const account = operation(page, 'get', '/account')
  await t.test('without credentials', async (t) => {
    for (const block of [me, account]) {
      await tryOut(block)
      t.strictSame(await execute(page, block), { status: '401', body: refused })
      await clearAnswer(block)
    }
  })

  await t.test('with a token', async (t) => {
    const login = operation(page, 'post', '/login')
    await tryOut(login)
    const described = login.locator('.responses-inner').last()
    t.match(await described.innerText(), 'Authorization: Bearer <token>')
    // As it stands there: the example is of a user of the demo.
    const { status, body } = await execute(page, login)
    t.equal(status, '200')
    const { token } = body as { token: string }
    t.match(token, /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/)
    await login.locator('.opblock-summary-control').click()

    await authorize(page, 'bearerAuth', { 'input[type=text], input[type=password]': token })
    t.strictSame(await execute(page, me), {
      status: '200',
      body: { id: 1, name: alice.name, email: alice.email, role: alice.role },
    })
    t.equal((await execute(page, account)).status, '401', 'a token is none for Basic')
    await clearAnswer(account)
  })

  await t.test('with name and password', async (t) => {
    await authorize(page, 'basicAuth', {
      'input[name=username]': bob.name,
      'input[name=password]': bob.password,
    })
    t.strictSame(await execute(page, account), {
      status: '200',
      body: { id: 2, name: bob.name, email: bob.email, role: bob.role },
    })
  })

  await t.test('tokens of other keys', async (t) => {
    for (const [part, scheme] of [
      ['rs256', 'rs256Auth'],
      ['es256', 'reader'],
    ] as const) {
      const login = operation(page, 'post', `/${part}/login`)
      await tryOut(login)
      const { status, body } = await execute(page, login)
      t.equal(status, '200')
      const { token } = body as { token: string }
      await authorize(page, scheme, { 'input[type=text], input[type=password]': token })
      const own = operation(page, 'get', `/${part}/me`)
      await tryOut(own)
      t.equal((await execute(page, own)).status, '200', part)
    }
    t.equal((await execute(page, me)).status, '200', 'each has its own')
  })

  await t.test('a scope and a role: what is needed can be read', async (t) => {
    const write = operation(page, 'post', '/es256/notes')
    await tryOut(write)
    // The token of alice, who is an editor, has the scope.
    t.match((await execute(page, write)).status, /^201/)
    const withdraw = operation(page, 'delete', '/notes/published/{id}')
    await withdraw.locator('.opblock-summary-control').click()
    t.match(await withdraw.locator('.opblock-description').innerText(), 'Needs the role editor.')
    for (const [block, needed] of [
      [write, 'the scope notes:write'],
      [withdraw, 'the role editor'],
    ] as const) {
      const described = block.locator('.response[data-code="403"]').last()
      t.match(await described.innerText(), `The user lacks what is needed: ${needed}.`)
    }
  })

  t.ok(requests.length > 8)
  t.strictSame(
    requests.filter((url) => new URL(url).origin !== origin),
    [],
    'the page loads nothing from elsewhere',
  )
  const unexpected = complaints.filter((text) => !/status of 401/.test(text))
  t.strictSame(unexpected, [], 'nothing in the console')
  t.equal(complaints.length, 3, 'but the refusals')
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
