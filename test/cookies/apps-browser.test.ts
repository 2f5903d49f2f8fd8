// program: its own, in npm run test:all
// `cookies.apps` in a real browser: a script that an attacker has put into a page of the app wants tokens that it can read.
import cors from '@fastify/cors'
import formbody from '@fastify/formbody'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { appWith, passwords, standardOptions } from '../helpers/app.js'
import { openPage } from '../helpers/browser.js'
import { listen } from '../helpers/flows.js'
import { findProgram, unlessFound } from '../helpers/programs.js'

const chromium = findProgram('Chromium')
const alice = { username: 'alice', password: passwords.alice }

/** What the script of an attacker runs, in the page, a worker and a frame: each way to ask for tokens. */
const script = `
  const json = { 'content-type': 'application/json' }
  const asks = { 'token-delivery': 'body' }
  const log = ${JSON.stringify(JSON.stringify(alice))}
  const ways = [
    ['/login', { method: 'POST', headers: { ...json, ...asks }, body: log }],
    ['/login', { method: 'POST', headers: { ...json, 'token-delivery': 'Body' }, body: log }],
    ['/begin', { method: 'POST', headers: asks }],
    ['/begin', { method: 'GET', headers: asks }],
    ['/exchange', { method: 'POST', headers: { ...json, ...asks }, body: '{}' }],
    ['/login/refresh', { method: 'POST', headers: { ...json, ...asks }, body: '{"refreshToken":"x"}' }],
    ['/logout', { method: 'POST', headers: { ...json, ...asks }, body: '{"refreshToken":"x"}' }],
  ]
  async function attack(base, more) {
    const found = []
    for (const [path, init] of ways) {
      const headers = { ...init.headers, ...more.headers }
      found.push(await fetch(base + path, { ...init, ...more, headers }).then(
        async (response) => [init.method + ' ' + path, response.status, await response.text()],
        () => [init.method + ' ' + path, 0, ''],
      ))
    }
    return found
  }
`
const html = `<!doctype html><title>page</title><body><script>${script}
  function byXhr(method, path) {
    return new Promise((resolve) => {
      const request = new XMLHttpRequest()
      request.open(method, path)
      request.setRequestHeader('token-delivery', 'body')
      request.onloadend = () => resolve([method + ' ' + path, request.status, request.responseText])
      request.send()
    })
  }
  /** Runs the attack elsewhere, and takes what comes back. */
  function elsewhere(code, start) {
    return new Promise((resolve) => {
      const channel = new MessageChannel()
      channel.port1.onmessage = ({ data }) => resolve(data)
      start(code, channel.port2)
    })
  }
  const inWorker = (code, port) => {
    const worker = new Worker(URL.createObjectURL(new Blob([code])))
    worker.postMessage('go', [port])
  }
  const inFrame = (code, port) => {
    const frame = document.createElement('iframe')
    frame.sandbox = 'allow-scripts'
    frame.srcdoc = '<script>' + code + '<\\/script>'
    frame.onload = () => frame.contentWindow.postMessage('go', '*', [port])
    document.body.append(frame)
  }
  const code = (base, more) => ${JSON.stringify(script)} +
    'onmessage = async ({ ports }) => ports[0].postMessage(await attack(' + JSON.stringify(base) + ',' + JSON.stringify(more) + '))'
  async function byServiceWorker() {
    await navigator.serviceWorker.register('/sw.js')
    await navigator.serviceWorker.ready
    if (!navigator.serviceWorker.controller) {
      await new Promise((resolve) => navigator.serviceWorker.addEventListener('controllerchange', resolve))
    }
    return attack('/sw', { headers: { 'token-delivery': 'body' } })
  }
</script>`
/** A service worker that sends each request on, to the API, with the header. */
const serviceWorker = `
  oninstall = () => skipWaiting()
  onactivate = (event) => event.waitUntil(clients.claim())
  onfetch = (event) => {
    const { pathname } = new URL(event.request.url)
    if (!pathname.startsWith('/sw/')) return
    event.respondWith((async () => {
      const { method, headers } = event.request
      const body = method === 'GET' ? undefined : await event.request.text()
      return fetch(pathname.slice(3), { method, body, headers, credentials: 'include' })
    })())
  }
`
type Found = [what: string, status: number, body: string]

/** A shop whose CORS is as careless as can be. */
async function openShop(t: Test) {
  const seen: { what: string; names: string[] }[] = []
  const app = await appWith(
    t,
    { ...standardOptions(), sessions: true, cookies: { apps: true } },
    async (app) => {
      app.addHook('onRequest', (request, _, done) => {
        if (request.method !== 'OPTIONS') {
          const names = Object.keys(request.headers)
          seen.push({ what: `${request.method} ${request.url}`, names })
        }
        done()
      })
      await app.register(cors, { origin: true, credentials: true })
      await app.register(formbody)
      app.get('/', (_, reply) => reply.type('text/html').send(html))
      app.get('/sw.js', (_, reply) => reply.type('text/javascript').send(serviceWorker))
      // Such as the callback of another login.
      app.route({
        method: ['GET', 'POST'],
        url: '/begin',
        handler: (request, reply) => app.authn.sessions.begin('alice', request, reply),
      })
      app.post('/exchange', (request, reply) => {
        const [, token] = /refresh=([\w-]+)/.exec(request.headers.cookie ?? '') ?? []
        return app.authn.sessions.refresh(String(token), request, reply)
      })
    },
    { forceCloseConnections: true },
  )
  return { app, seen, port: await listen(app) }
}

t.test(
  'a script in a page of the app reads no tokens',
  { skip: unlessFound('Chromium') },
  async (t) => {
    const { app, seen, port } = await openShop(t)
    const { page } = await openPage(t, chromium ?? '', 'en', ['shop.test', 'evil.test'])
    const run = (call: string): Promise<unknown> => page.evaluate(call)
    const isRejected = (found: unknown, title: string): void => {
      t.notMatch(JSON.stringify(found), /"?(?:token|refreshToken)\\?":|ey[A-Z]/, title)
      for (const [what, status] of found as Found[])
        t.ok([0, 400, 401, 403].includes(status), `${title}: ${what} ${status}`)
    }
    const is400 = (found: unknown, title: string): void => {
      isRejected(found, title)
      for (const [what, status] of found as Found[]) t.equal(status, 400, `${title}: ${what}`)
    }
    const cookieNames = async (page: Page): Promise<string[]> =>
      (await page.context().cookies()).map(({ name }) => name).toSorted()
    const sessions = async (): Promise<number> => (await app.authn.sessions.list('alice')).length

    // The browser says of itself what it is, and has cookies.
    const local = `http://localhost:${port}`
    await page.goto(local)
    const login = `fetch('/login', { method: 'POST', headers: json, body: log }).then((r) => r.text())`
    t.equal(await run(login), '{"expiresIn":300}')
    t.strictSame(await cookieNames(page), ['refresh', 'token'])
    t.equal(await run('document.cookie'), '')
    seen.length = 0
    for (const credentials of ['include', 'same-origin', 'omit'])
      is400(await run(`attack('', { credentials: '${credentials}' })`), credentials)
    for (const more of ["mode: 'same-origin'", "referrerPolicy: 'no-referrer'", 'keepalive: true'])
      is400(await run(`attack('', { ${more} })`), more)
    const forged =
      "{ headers: { 'sec-fetch-site': '', origin: '', cookie: 'a=b' }, credentials: 'omit' }"
    is400(await run(`attack('', ${forged})`), 'headers that scripts cannot set')
    is400([await run("byXhr('POST', '/begin')"), await run("byXhr('GET', '/begin')")], 'XHR')
    is400(await run(`elsewhere(code('${local}', {}), inWorker)`), 'a worker')
    is400(await run('byServiceWorker()'), 'a service worker')
    t.ok(seen.filter(({ what }) => /begin|login/.test(what)).length > 30, 'they were sent')
    isRejected(
      await run(`elsewhere(code('${local}', { credentials: 'include' }), inFrame)`),
      'frame',
    )
    await page.goto(local)
    await Promise.all([
      page.waitForURL(`${local}/login`),
      run(`(() => {
        const form = document.createElement('form')
        Object.assign(form, { method: 'post', action: '/login' })
        for (const [name, value] of [...Object.entries(JSON.parse(log)), ['token-delivery', 'body']])
          form.append(Object.assign(document.createElement('input'), { name, value }))
        document.body.append(form)
        form.submit()
      })()`),
    ])
    t.equal(await page.textContent('body'), '{"expiresIn":300}', 'a form')

    // Pages of other sites.
    await page.goto(`http://evil.test:${port}`)
    for (const credentials of ['include', 'omit'])
      isRejected(await run(`attack('${local}', { credentials: '${credentials}' })`), 'another site')

    // Without TLS a browser sends no Sec-Fetch-Site, and keeps no cookie of ours, as do old ones.
    await page.goto(`http://shop.test:${port}`)
    seen.length = 0
    is400(await run("attack('', { credentials: 'omit' })"), 'without TLS')
    is400(await run("attack('', { credentials: 'include' })"), 'without TLS')
    const ofBrowsers = ({ names }: { names: string[] }): string[] =>
      names.filter((name) => /^(?:sec-fetch-site|sec-fetch-dest|origin|cookie)$/.test(name))
    const begun = seen.filter(({ what }) => what.endsWith('/begin'))
    t.strictSame(
      begun.map((each) => [each.what, ofBrowsers(each)]),
      [0, 1].flatMap(() => [
        ['POST /begin', ['origin']],
        ['GET /begin', []],
      ]),
      'which is why a GET gives no tokens in the body',
    )
    t.equal(await sessions(), 1, 'none has begun but that of the form, which replaced the first')
  },
)
