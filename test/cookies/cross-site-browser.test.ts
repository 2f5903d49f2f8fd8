// program: its own, in npm run test:all
// Real pages of real sites, in a real browser: what it sends of its own accord is what the rule against cross-site
// requests rests on. All names stand for 127.0.0.1 there.
import { generateKeyPairSync } from 'node:crypto'
import formbody from '@fastify/formbody'
import websocket from '@fastify/websocket'
import Fastify from 'fastify'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { authn } from '../../lib/index.js'
import { passwords, standardOptions } from '../helpers/app.js'
import { openPage } from '../helpers/browser.js'
import { findProgram, unlessFound } from '../helpers/programs.js'
import { certificateOf, pemOf } from '../helpers/certificate.js'
import { listen, nameOf } from '../helpers/flows.js'
import { until } from '../helpers/load.js'

const chromium = findProgram('Chromium')
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const https = {
  key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  cert: pemOf('CERTIFICATE', certificateOf(privateKey, publicKey)),
}

/** A shop at `https://shop.test`, with everything that other sites may want to do there. */
async function openShop(t: Test, trusted: (port: number) => string[]) {
  /** What became of each request. */
  const served: { what: string; status: number; hasCookie: boolean; site: string }[] = []
  const ran: string[] = []
  const pages = await openSite(t)
  const app = Fastify({ https })
  t.teardown(() => app.close())
  app.addHook('onResponse', (request, reply, done) => {
    served.push({
      what: `${request.method} ${request.url}`,
      status: reply.statusCode,
      hasCookie: /__Host-token=./.test(request.headers.cookie ?? ''),
      site: String(request.headers['sec-fetch-site']),
    })
    done()
  })
  await app.register(websocket)
  await app.register(formbody)
  const cookies = { trustedOrigins: trusted(pages) }
  await app.register(authn, { ...standardOptions(), cookies })
  app.get('/', (_, reply) => reply.type('text/html').send(html))
  await app.register(
    async (scope) => {
      scope.get('/me', (request) => ({ user: nameOf(request) }))
      scope.post('/notes', (request) => {
        ran.push(`note of ${String(nameOf(request))}`)
        return { ok: true }
      })
      scope.get('/chat', { websocket: true }, (socket, request) => {
        ran.push(`chat of ${String(nameOf(request))}`)
        socket.send(String(nameOf(request)))
      })
    },
    { auth: true },
  )
  const port = await listen(app)
  return {
    url: `https://shop.test:${port}`,
    socketUrl: `wss://shop.test:${port}`,
    pages,
    served,
    ran,
  }
}

/** What all pages here can do. It is a string, since it runs in the browser. */
const script = `
  function element(parent, name, properties) {
    return parent.appendChild(Object.assign(document.createElement(name), properties))
  }
  function postForm(action, fields, target) {
    if (target !== '_self') element(document.body, 'iframe', { name: target })
    const form = element(document.body, 'form', { method: 'post', action, target })
    for (const [name, value] of Object.entries(fields)) element(form, 'input', { name, value })
    form.submit()
  }
  function openFrame(src) {
    element(document.body, 'iframe', { src })
  }
  function post(url, mode) {
    return fetch(url, { method: 'POST', credentials: 'include', mode }).then(({ status }) => status, () => -1)
  }
  async function logIn(fields) {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch('/login', { method: 'POST', headers, body: JSON.stringify(fields) })
    return { status: response.status, body: await response.text(), visible: document.cookie }
  }
  function openSocket(url) {
    return new Promise((resolve) => {
      const socket = new WebSocket(url)
      socket.onmessage = ({ data }) => resolve(data)
      socket.onerror = () => resolve('rejected')
    })
  }
  function plantCookies() {
    for (const name of ['__Host-token', '__host-token', '__Host-token ', '']) {
      document.cookie = name + '=__Host-token=x; Domain=shop.test; Path=/; Secure'
      document.cookie = name + '=x; Domain=shop.test; Path=/; Secure'
    }
  }
`
const html = `<!doctype html><meta charset="utf-8"><title>page</title><body><script>${script}</script>`

/** Calls a function of {@link script}. */
function call(page: Page, name: string, ...args: unknown[]): Promise<unknown> {
  return page.evaluate(`${name}(...${JSON.stringify(args)})`)
}

/** The same pages for whatever site they are asked of. */
async function openSite(t: Test): Promise<number> {
  const app = Fastify({ https })
  t.teardown(() => app.close())
  app.get('/', (_, reply) => reply.type('text/html').send(html))
  return listen(app)
}

t.test(
  'pages of other sites change nothing with the cookies of a shop',
  { skip: unlessFound('Chromium') },
  async (t) => {
    const hosts = ['shop.test', 'evil.shop.test', 'partner.shop.test', 'evil.test']
    const { url, socketUrl, pages, served, ran } = await openShop(t, (port) => [
      `https://partner.shop.test:${port}`,
    ])
    const { page } = await openPage(t, chromium ?? '', 'en', hosts)
    /** What the shop has served for one action. */
    const during = async (act: () => Promise<unknown>): Promise<(typeof served)[number][]> => {
      served.length = 0
      await act()
      await until(() => served.length > 0, 'the shop has answered')
      return served.splice(0)
    }
    const visit = (host: string): Promise<unknown> => page.goto(`https://${host}:${pages}/`)
    const leave = (to: string, act: () => Promise<unknown>): Promise<unknown> =>
      Promise.all([page.waitForURL(to), act()])
    const notes = `${url}/notes`
    const formTo = (target: string) => call(page, 'postForm', notes, { text: 'x' }, target)

    // The shop's own page.
    await page.goto(url)
    const alice = { username: 'alice', password: passwords.alice }
    const login = await call(page, 'logIn', alice)
    t.strictSame(login, { status: 200, body: '{"expiresIn":300}', visible: '' })
    t.equal(await call(page, 'post', notes), 200)
    t.equal(await call(page, 'openSocket', `${socketUrl}/chat`), 'alice')
    t.strictSame(ran.splice(0), ['note of alice', 'chat of alice'])
    const own = await during(() => leave(notes, () => formTo('_self')))
    t.match(own, [{ status: 200, site: 'same-origin' }])
    t.strictSame(ran.splice(0), ['note of alice'], 'its own form')

    // A link leads to a page with its user, wherever it stands.
    await visit('evil.test')
    const me = `${url}/me`
    const followed = await during(() => leave(me, () => page.evaluate(`location.assign('${me}')`)))
    t.match(followed, [{ what: 'GET /me', status: 200, hasCookie: true, site: 'cross-site' }])
    t.equal(await page.textContent('body'), '{"user":"alice"}')

    for (const [host, site, hasCookie] of [
      ['evil.test', 'cross-site', false],
      ['evil.shop.test', 'same-site', true],
    ] as const) {
      // To another site the browser itself does not send the cookie; within one, only the plugin rejects it.
      const status = hasCookie ? 403 : 401
      const rejected = [{ status, hasCookie, site }]
      await visit(host)
      const form = await during(() => leave(notes, () => formTo('_self')))
      t.match(form, rejected, `${host}: a form`)
      await visit(host)
      t.match(await during(() => formTo('frame')), rejected, `${host}: a form in a frame`)
      const fetched = await during(() => call(page, 'post', notes, 'no-cors'))
      t.match(fetched, rejected, `${host}: fetch`)
      const socket = await during(async () => {
        t.equal(await call(page, 'openSocket', `${socketUrl}/chat`), 'rejected')
      })
      t.match(socket, [{ what: 'GET /chat', status, hasCookie }], `${host}: a WebSocket`)
      const bob = { username: 'bob', password: passwords.bob }
      const other = await during(() => call(page, 'postForm', `${url}/login`, bob, 'login'))
      t.match(
        other,
        [{ what: 'POST /login', status: 403, site }],
        `${host}: a login as another user`,
      )
      // A page may embed what it cannot read.
      const framed = await during(() => call(page, 'openFrame', me))
      t.match(framed, [{ status: hasCookie ? 200 : 401, hasCookie, site }], `${host}: a frame`)
      await call(page, 'plantCookies')
    }
    t.strictSame(ran, [], 'no handler ran')

    await page.goto(me)
    t.equal(await page.textContent('body'), '{"user":"alice"}', 'no cookie of a subdomain counts')

    await visit('partner.shop.test')
    const trusted = await during(() => call(page, 'post', notes, 'no-cors'))
    t.match(trusted, [{ status: 200, hasCookie: true, site: 'same-site' }])
    t.equal(await call(page, 'openSocket', `${socketUrl}/chat`), 'alice')
    t.strictSame(ran, ['note of alice', 'chat of alice'], 'a trusted origin')
  },
)
