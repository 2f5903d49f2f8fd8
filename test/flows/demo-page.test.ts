// The page of the demo, in a real browser, as a person uses it. With PAGE_SCREENSHOT=file it leaves a picture there:
// that of the docs is docs/images/demo-page.png.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { buildApp } from '../../examples/demo/app.js'
import { readSettings } from '../../examples/demo/config.js'
import { openDatabase } from '../../examples/demo/database.js'
import { demoUsers } from '../../examples/demo/users.js'
import { findChromium, openPage } from '../helpers/browser.js'
import { environment } from '../helpers/demo.js'
import { root } from '../helpers/project.js'

t.setTimeout(300_000)

const chromium = findChromium()
const skip = chromium === null && 'there is no Chromium on PATH, and CHROMIUM is not set'
const [alice] = demoUsers

async function startDemo(t: Test, env: Record<string, string>, port = 0): Promise<FastifyInstance> {
  const settings = readSettings(env)
  const app = await buildApp(settings, await openDatabase(settings))
  t.teardown(() => app.close())
  await app.listen({ host: '127.0.0.1', port })
  return app
}

t.test('the tables of the sessions are those that the command line prints', async (t) => {
  const args = ['dist/bin/fastify-authn.js', 'sessions', 'schema', '--prefix', 'demo']
  const printed = execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  t.equal(readFileSync(join(root, 'examples/demo/sessions.sql'), 'utf8'), printed)
})

async function logIn(page: Page, { name, password }: { name: string; password: string }) {
  await page.locator('[name=username]').fill(name)
  await page.locator('[name=password]').fill(password)
  await page.locator('#login button').click()
}

async function write(page: Page, title: string): Promise<void> {
  await page.locator('[name=title]').fill(title)
  await page.locator('[name=text]').fill('At five.')
  await page.locator('#write button').click()
  await page.locator('#notes strong', { hasText: title }).waitFor()
}

t.test('somebody uses the page', { skip }, async (t) => {
  const folder = t.testdir()
  // Tokens that live for two seconds, so that the page is open for longer than that soon.
  const env = environment(folder, { DEMO_DATA_DIR: join(folder, 'data'), AUTH_JWT_EXPIRY: '2' })
  const app = await startDemo(t, env)
  const { port } = app.server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  const { page, requests, complaints } = await openPage(t, chromium ?? '', 'en')

  await page.goto(origin)
  t.equal(page.url(), `${origin}/app/`)
  await page.locator('#login').waitFor()
  await logIn(page, { name: alice.name, password: 'wrong' })
  await page.locator('#problem', { hasText: 'Invalid credentials.' }).waitFor()
  await logIn(page, alice)
  await page.locator('#notes strong', { hasText: 'Shopping' }).waitFor()
  t.equal(await page.locator('#name').innerText(), 'alice')
  t.equal(await page.locator('#sessions tr').count(), 1)
  t.equal(await page.evaluate('document.cookie'), '')
  await write(page, 'Tea')

  // Beyond the life of the token: nobody is asked for a password. Each renewal comes when two thirds are over.
  for (let count = 0; count < 3; count += 1) {
    await page.waitForResponse(
      (response) => response.url().endsWith('/login/refresh') && response.ok(),
    )
  }
  await write(page, '<b>Milk</b>')
  t.equal(await page.locator('#login').isVisible(), false)

  // Another browser, which is then logged out from here.
  const other = await page.context().browser()?.newContext()
  const second = await other?.newPage()
  if (second === undefined) throw new Error('no second browser')
  await second.goto(`${origin}/app/`)
  await logIn(second, alice)
  await second.locator('#sessions tr').nth(1).waitFor()
  await page.reload()
  await page.locator('#sessions tr').nth(1).waitFor()
  const picture = process.env.PAGE_SCREENSHOT
  if (picture !== undefined) await page.screenshot({ path: picture })
  await page.locator('#sessions button').click()
  await page.locator('#sessions tr').nth(1).waitFor({ state: 'detached' })
  await second.locator('#notes li button').first().click()
  await second.locator('#login').waitFor()

  // The server is started again, with another secret: the page goes on with the session in the database.
  await app.close()
  const again = await startDemo(
    t,
    { ...env, AUTH_JWT_SECRET: 'a'.repeat(8) + env.DEMO_KEYS_DIR },
    port,
  )
  await write(page, 'Still here')
  t.equal(await page.locator('#login').isVisible(), false)

  await page.locator('#leave-all').click()
  await page.locator('#login').waitFor()
  t.equal(await page.locator('#notes li').count(), 0)
  t.strictSame(await page.context().cookies(), [])
  await page.reload()
  await page.locator('#login').waitFor()
  t.ok(
    requests.every((url) => url.startsWith(origin)),
    'it talks to nobody else',
  )
  // The browser notes every 401 and every connection that fails; nothing else is wrong.
  const others = complaints.filter((text) => !text.startsWith('Failed to load resource: '))
  t.strictSame(others, [])
  await again.close()
})
