// program: its own, in npm run test:all
// `fastify-authn/browser` in a real browser: the page and the API are two origins, and the page has a strict CSP.
import cors from '@fastify/cors'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { authn } from '../../lib/index.js'
import { cost, fastify, passwords, standardOptions } from '../helpers/app.js'
import { openPage } from '../helpers/browser.js'
import { clientScript } from '../helpers/browser-client.js'
import { accountRoutes } from '../helpers/browser-session.js'
import { cases } from '../helpers/cases.js'
import { listen, nameOf } from '../helpers/flows.js'
import { findProgram, unlessFound } from '../helpers/programs.js'
import { blocksOf, readPage } from '../helpers/readme.js'

const chromium = findProgram('Chromium')
const skip = unlessFound('Chromium')

/** The page that docs/guides/browser-client.md shows, and its form. */
const [printed] = blocksOf(readPage('docs/guides/browser-client.md'))
const html = `<!doctype html><meta charset="utf-8"><title>shop</title>
<form><input name="username"><input name="password" type="password"><button>Log in</button><output name="message"></output></form>
<script type="module" src="/page.js"></script>`
const client = clientScript('index')

/** The shop, its API and a browser at its page. */
async function visit(t: Test) {
  const refreshes: number[] = []
  const shop = fastify(t, { forceCloseConnections: true })
  const api = fastify(t, { forceCloseConnections: true })
  let apiUrl = ''
  const files = [
    ['/', 'text/html', () => html],
    ['/session.js', 'text/javascript', () => client],
    [
      '/page.js',
      'text/javascript',
      () =>
        `${printed?.text}
        globalThis.session = session
        globalThis.apiUrl = '${apiUrl}'
        globalThis.nameOf = async () => (await (await session.fetch('/me')).json()).name`
          .replace('fastify-authn/browser', '/session.js')
          .replace('https://api.shop.example', apiUrl)
          .replace(
            'onChange: show',
            'onChange: (change) => show(change, (globalThis.changes ??= []).push(change.loggedIn))',
          ),
    ],
  ] as const
  for (const [path, type, content] of files) {
    shop.get(path, (_, reply) => {
      const csp = `default-src 'none'; script-src 'self'; connect-src ${apiUrl}; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'`
      return reply.header('content-security-policy', csp).type(type).send(content())
    })
  }
  const origin = `http://localhost:${await listen(shop)}`
  api.addHook('onResponse', (request, reply, done) => {
    if (request.url === '/login/refresh' && request.method === 'POST')
      refreshes.push(reply.statusCode)
    done()
  })
  await api.register(cors, { origin, credentials: true, exposedHeaders: ['retry-after'] })
  await api.register(authn, {
    ...standardOptions(),
    jwt: { secret: 'a secret of the shop: 8Zk1xW0pQ4' },
    hashing: { cost },
    sessions: true,
    cookies: { trustedOrigins: [origin] },
  })
  api.get('/me', { config: { auth: true } }, (request) => ({ name: nameOf(request) }))
  api.post('/notes', { config: { auth: true } }, ({ body }) => ({ body }))
  accountRoutes(api)
  apiUrl = `http://localhost:${await listen(api)}`
  const { page, complaints } = await openPage(t, chromium ?? '', 'en', ['localhost'])
  const open = async (tab: Page): Promise<Page> => {
    await tab.goto(origin)
    await tab.waitForFunction('globalThis.session')
    return tab
  }
  await open(page)
  return {
    api,
    page,
    refreshes,
    complaints,
    newTab: async () => open(await page.context().newPage()),
  }
}

async function logIn(page: Page, username: 'alice' | 'bob', password = passwords[username]) {
  await page.locator('[name=username]').fill(username)
  await page.locator('[name=password]').fill(password)
  await page.getByRole('button').click()
}
const form = (page: Page) => page.locator('form')
const run = (page: Page, code: string): Promise<unknown> => page.evaluate(code)
const hidden = (page: Page): Promise<void> => form(page).waitFor({ state: 'hidden' })
const lock = "Object.keys(localStorage).find((key) => key.startsWith('fastify-authn '))"

t.test('a user logs in, reloads, and logs out', { skip }, async (t) => {
  const { page, complaints, refreshes, api } = await visit(t)
  t.ok(Number(printed?.text.trim().split('\n').length) <= 12, 'the page has 12 lines')
  await run(page, "session.fetch('/me')")
  await logIn(page, 'alice', 'wrong')
  const message = page.locator('output')
  await message.filter({ hasText: 'Invalid credentials.' }).waitFor()
  t.strictSame(refreshes, [], 'a 401 of a visitor causes no refresh')
  await logIn(page, 'alice')
  await hidden(page)
  t.equal(await run(page, 'nameOf()'), 'alice')
  t.equal(await run(page, 'document.cookie'), '')
  t.match(await run(page, `localStorage.length + ' ' + localStorage[${lock}]`), /^1 0\.\d+ \d+$/)
  await page.reload()
  await hidden(page)
  t.equal(await run(page, 'nameOf()'), 'alice')
  t.strictSame(refreshes, [])
  t.match(await run(page, 'session.logOut({ everywhere: true })'), { ok: true, status: 204 })
  await form(page).waitFor()
  t.strictSame(await page.context().cookies(), [])
  t.strictSame(await api.authn.sessions.list('alice'), [])
  await page.reload()
  await form(page).waitFor()

  const finished = "session.post('sign-up/finish', { token: 'x', password: 'y' })"
  t.match(await run(page, finished), { ok: true, body: { expiresIn: 300 } })
  await hidden(page)
  t.match(await run(page, "session.post('account/delete', {})"), { ok: true, status: 204 })
  await form(page).waitFor()
  // The browser notes every 401; nothing else is wrong.
  const others = complaints.filter((text) => !text.startsWith('Failed to load resource: '))
  t.strictSame(others, [])
})

t.test('an expired token is refreshed, and a lost session shows the form', { skip }, async (t) => {
  const { page, api, refreshes } = await visit(t)
  await logIn(page, 'alice')
  await hidden(page)
  // As after five minutes, when the browser has dropped the cookie of the token.
  await page.context().clearCookies({ name: 'token' })
  await run(page, `localStorage[${lock}] = localStorage[${lock}].replace(/\\d+$/, '1')`)
  t.equal(await run(page, 'nameOf()'), 'alice')
  t.strictSame(refreshes, [200])
  await api.authn.sessions.revoke({ sub: 'alice' })
  t.equal(await run(page, "session.fetch('/me').then(({ status }) => status)"), 401)
  await form(page).waitFor()
  t.strictSame(await run(page, 'changes'), [true, false])
})

t.test('five tabs refresh once at one expiry', { skip }, async (t) => {
  const { page, refreshes, newTab } = await visit(t)
  await logIn(page, 'alice')
  await hidden(page)
  const tabs = [page, await newTab(), await newTab(), await newTab(), await newTab()]
  const counts: number[] = []
  for (let round = 0; round < cases(3); round += 1) {
    refreshes.length = 0
    // A token with less than ten seconds left is refreshed, and the new one has five minutes.
    const expiry = String(Date.now() + 9000)
    await run(page, `localStorage[${lock}] = localStorage[${lock}].replace(/\\d+$/, '${expiry}')`)
    for (const tab of tabs) await tab.waitForFunction(`localStorage[${lock}].endsWith('${expiry}')`)
    const names = await Promise.all(tabs.map((tab) => run(tab, 'nameOf()')))
    t.strictSame(new Set(names), new Set(['alice']))
    counts.push(refreshes.length)
  }
  t.comment(`refreshes: ${counts.join(' ')}`)
  const found = counts.filter((count) => count !== 1)
  t.strictSame(found, [])
})

t.test('tabs see a logout and another user in another tab', { skip }, async (t) => {
  const { page, newTab } = await visit(t)
  const other = await newTab()
  await logIn(page, 'alice')
  await hidden(other)
  t.equal(await run(other, 'nameOf()'), 'alice')
  await run(page, 'session.logOut()')
  await form(other).waitFor()
  await logIn(other, 'bob')
  await hidden(page)
  t.equal(await run(page, 'nameOf()'), 'bob')
  t.strictSame(await run(page, 'changes'), [true, false, true])
})

t.test('a Request is repeated with its body', { skip }, async (t) => {
  const { page, refreshes } = await visit(t)
  await logIn(page, 'alice')
  await hidden(page)
  const sent = `async (body) => {
    const headers = { 'content-type': 'application/json' }
    const request = new Request(new URL('/notes', apiUrl), { method: 'POST', headers, body })
    return (await session.fetch(request)).json()
  }`
  for (const body of [
    `'{"a":1}'`,
    `new Blob(['{"a":1}'])`,
    `new TextEncoder().encode('{"a":1}')`,
  ]) {
    await page.context().clearCookies({ name: 'token' })
    t.strictSame(await run(page, `(${sent})(${body})`), { body: { a: 1 } }, body)
  }
  t.strictSame(refreshes, [200, 200, 200])
})
