// program: its own, in npm run test:all
// `fastify-authn/browser/passkeys` in a real browser, with authenticators of Chromium: pages of three origins and an API.
import cors from '@fastify/cors'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { authn } from '../../lib/index.js'
import { fastify } from '../helpers/app.js'
import { clientScript } from '../helpers/browser-client.js'
import { authenticatorIn, openPage } from '../helpers/browser.js'
import { alice, shopOptions, transferRoute } from '../helpers/browser-factors.js'
import { listen } from '../helpers/flows.js'
import { blocksOf, readPage } from '../helpers/readme.js'
import { totpCode } from '../../lib/testing/index.js'
import { codeNow } from '../helpers/second-factor.js'
import { until } from '../helpers/load.js'
import { findProgram, unlessFound } from '../helpers/programs.js'

const chromium = findProgram('Chromium')
const skip = unlessFound('Chromium')
/** The dialog that docs/guides/browser-client.md shows. */
const printed = blocksOf(readPage('docs/guides/browser-client.md'))
const textOf = (part: string) => printed.find(({ text }) => text.includes(part))?.text ?? ''
const [markup, onStepUp] = [textOf('<dialog>'), textOf('async function onStepUp')]
const html = `<!doctype html><meta charset="utf-8"><title>shop</title>
<input autocomplete="username webauthn">${markup}<script type="module" src="/page.js"></script>`
const files = (apiUrl: string) => ({
  '/': ['text/html', html],
  '/session.js': ['text/javascript', clientScript('index')],
  '/passkeys.js': ['text/javascript', clientScript('passkeys')],
  '/page.js': [
    'text/javascript',
    `import { createSession } from '/session.js'
    import { createPasskeys } from '/passkeys.js'
    const [dialog, form, field] = ['dialog', 'form', 'label input'].map((name) => document.querySelector(name))
    ${onStepUp}
    globalThis.session = createSession({ url: '${apiUrl}', onStepUp })
    globalThis.passkeys = createPasskeys(session)`,
  ],
})

const run = (page: Page, code: string): Promise<unknown> => page.evaluate(code)
const statusOf = (page: Page, call: string): Promise<unknown> =>
  run(page, `${call}.then(({ status, error }) => [status, error])`)
const logIn = (page: Page): Promise<unknown> =>
  statusOf(page, `session.logIn(${JSON.stringify(alice)})`)
const invalid = [403, 'This passkey was not accepted. Please try again.']

/** A browser at the first of three pages; passkeys are for the first two. */
async function visit(t: Test) {
  const shops = [1, 2, 3].map(() => fastify(t, { forceCloseConnections: true }))
  let apiUrl = ''
  for (const shop of shops) {
    for (const path of Object.keys(files(''))) {
      shop.get(path, (_, reply) => {
        const [type, content] = files(apiUrl)[path as '/'] as [string, string]
        const csp = `default-src 'none'; script-src 'self'; connect-src ${apiUrl}; require-trusted-types-for 'script'`
        return reply.header('content-security-policy', csp).type(type).send(content)
      })
    }
  }
  const origins: string[] = []
  for (const shop of shops) origins.push(`http://localhost:${await listen(shop)}`)
  const { options, table, users } = shopOptions(origins[0] as string)
  const api = fastify(t, { forceCloseConnections: true })
  const exposedHeaders = ['retry-after', 'www-authenticate']
  await api.register(cors, { origin: origins, credentials: true, exposedHeaders })
  await api.register(authn, {
    ...options,
    passkeys: { ...options.passkeys, origin: origins.slice(0, 2) },
    cookies: { trustedOrigins: origins },
  } as never)
  api.get('/me', { config: { auth: true } }, () => 'in')
  transferRoute(api)
  apiUrl = `http://localhost:${await listen(api)}`
  const { page, complaints } = await openPage(t, chromium ?? '', 'en', ['localhost'])
  const open = async (origin: string, tab = page): Promise<Page> => {
    await tab.goto(origin)
    await tab.waitForFunction('globalThis.passkeys')
    return tab
  }
  await open(origins[0] as string)
  const newTab = async () => open(origins[0] as string, await page.context().newPage())
  return { page, complaints, origins, table, users, open, newTab, ...(await authenticatorIn(page)) }
}

t.test('a passkey is added, logs in once for a challenge, and is removed', { skip }, async (t) => {
  const { page, credentials, table, complaints } = await visit(t)
  t.equal(await run(page, 'passkeys.isSupported'), true)
  t.strictSame(await logIn(page), [200, null])
  t.strictSame(await statusOf(page, "passkeys.add('My phone')"), [201, null])
  t.match(table, [{ owner: 1, data: { name: 'My phone', transports: ['internal'] } }])
  t.strictSame(await statusOf(page, 'passkeys.confirm()'), [200, null])
  const again = (await statusOf(page, 'passkeys.add()')) as [number, string]
  t.match(again, [0, /already|contains/], 'this authenticator has one of this user')

  await run(page, 'session.logOut()')
  const sent = page.waitForRequest((request) => request.url().endsWith('/login/passkey'))
  t.strictSame(await statusOf(page, 'passkeys.logIn()'), [200, null])
  t.equal(await run(page, 'session.loggedIn'), true)
  const transfer = "session.fetch('/transfers', { method: 'POST' })"
  t.equal(await run(page, `${transfer}.then(({ status }) => status)`), 200, 'it is two factors')
  const replay = `session.post('login/passkey', ${(await sent).postData()})`
  t.strictSame(await statusOf(page, replay), invalid)

  const [{ data }] = table as [(typeof table)[0]]
  t.strictSame(await statusOf(page, `passkeys.remove('${data.id}')`), [204, null])
  t.strictSame(table, [])
  await until(async () => (await credentials()).length === 0, 'the browser offers it no longer')
  t.strictSame(await statusOf(page, 'passkeys.logIn()'), [0, null])
  const others = complaints.filter((text) => !text.startsWith('Failed to load resource: '))
  t.strictSame(others, [])
})

t.test('the dialog of the guide asks for a password, a passkey and a code', { skip }, async (t) => {
  t.ok(onStepUp.trim().split('\n').length <= 8)
  const { page, users, complaints } = await visit(t)
  const press = (name: string) => page.getByRole('button', { name }).click()
  /** Begins a request, and returns its status when it has ended. */
  const begin = async (call: string) => {
    await run(page, `void (globalThis.ending = ${call}.then(({ status }) => status))`)
    await page.locator('dialog').waitFor()
    return async () => {
      const status = await run(page, 'ending')
      await page.locator('dialog').waitFor({ state: 'hidden' })
      return status
    }
  }
  const shown = () => page.locator('dialog button:visible').allInnerTexts()
  const { now } = Date
  t.teardown(() => {
    Date.now = now
  })
  let ahead = 0
  /** The server's clock: the login is old. */
  const grow = () => {
    ahead += 700_000
    Date.now = () => now() + ahead
  }
  await logIn(page)
  grow()
  let end = await begin("passkeys.add('Phone')")
  t.strictSame(await shown(), ['By this password', 'Cancel'])
  await page.locator('dialog input').fill('wrong')
  await press('By this password')
  await page.locator('dialog[open]').waitFor()
  await page.locator('dialog input').fill(alice.password)
  await press('By this password')
  t.equal(await end(), 201)

  end = await begin("session.fetch('/transfers', { method: 'POST' })")
  t.strictSame(await shown(), ['By a passkey', 'Cancel'])
  await press('By a passkey')
  t.equal(await end(), 200)
  const setup = "session.post('second-factor/setup').then(({ body }) => body)"
  const { token, secret } = (await run(page, setup)) as Record<'token' | 'secret', string>
  const given = JSON.stringify({ token, code: codeNow(secret) })
  t.strictSame(await statusOf(page, `session.post('second-factor/enable', ${given})`), [200, null])
  t.ok(users[0]?.secondFactor)

  grow()
  end = await begin("session.post('second-factor/disable')")
  t.strictSame(await shown(), ['By this code', 'By a passkey', 'Cancel'])
  await press('Cancel')
  t.equal(await end(), 401)
  end = await begin("session.post('second-factor/disable')")
  await page.locator('dialog input').fill(totpCode(secret, { at: Date.now() }))
  await press('By this code')
  t.equal(await end(), 204)
  const others = complaints.filter((text) => !text.startsWith('Failed to load resource: '))
  t.strictSame(others, [])
})

t.test('autofill logs in, and ends when the user presses the button', { skip }, async (t) => {
  const { page, present } = await visit(t)
  await logIn(page)
  t.strictSame(await statusOf(page, 'passkeys.add()'), [201, null])
  await run(page, 'session.logOut()')
  t.strictSame(await statusOf(page, 'passkeys.autofill()'), [200, null])
  await run(page, 'session.logOut()')
  // No user chooses anything.
  await present(false)
  await run(page, 'void (globalThis.filled = passkeys.autofill())')
  await page.waitForTimeout(500)
  await present(true)
  t.strictSame(await statusOf(page, 'passkeys.logIn()'), [200, null])
  t.strictSame(await statusOf(page, 'filled'), [0, null])
})

t.test('passkeys work at the origins of the option, and at no others', { skip }, async (t) => {
  const { page, origins, open } = await visit(t)
  await logIn(page)
  t.strictSame(await statusOf(page, 'passkeys.add()'), [201, null])
  for (const [index, expected] of [[200, null], [200, null], invalid].entries()) {
    await open(origins[index] as string)
    t.strictSame(await statusOf(page, 'passkeys.logIn()'), expected, String(origins[index]))
  }
})
