// program: its own, in npm run test:all
// nginx and Caddy, with the files that pages show, in front of apps that are set up as these pages say. The test
// replaces ports, the certificate and the folder of files.
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import cors from '@fastify/cors'
import t, { type Test } from 'tap'
import { authn } from '../lib/index.js'
import { memorySessions } from '../lib/sessions/index.js'
import {
  appWith,
  cost,
  fastify,
  passwords,
  standardOptions,
  userService,
  users,
} from './helpers/app.js'
import { openPage } from './helpers/browser.js'
import { listen, nameOf } from './helpers/flows.js'
import { until } from './helpers/load.js'
import { findProgram, unlessFound } from './helpers/programs.js'
import { root } from './helpers/project.js'
import {
  markerOf,
  proxiedPages,
  proxyNames,
  startProxy,
  type ProxiedPage,
  type ProxyName,
} from './helpers/proxies.js'
import { blocksOf, pages, readPage } from './helpers/readme.js'
import { filesOf } from './helpers/tutorial.js'

const trustProxy = '127.0.0.1'
const alice = { username: 'alice', password: passwords.alice }
/** What a client claims, so that the app believes that it is another one, or that it came in another way. */
const forged = {
  'x-forwarded-for': ['192.0.2.1', '192.0.2.2'],
  'x-forwarded-host': 'evil.example',
  'x-forwarded-proto': 'http',
  forwarded: 'for=192.0.2.1;host=evil.example;proto=http',
}
const cookieLines = [
  /^__Host-token=[^;]+; Max-Age=300; Path=\/; Secure; HttpOnly; SameSite=Lax$/,
  /^__Host-refresh=[^;]+; Max-Age=1209600; Path=\/; Secure; HttpOnly; SameSite=Strict$/,
]
const cookieOf = (lines: readonly string[] = []): string =>
  lines.map((line) => line.replace(/;.*/, '')).join('; ')

t.test('every block that says it is run with one of them is run here', async (t) => {
  const found = pages()
    .flatMap((page) => blocksOf(readPage(page), page))
    .filter(({ marker }) => marker?.startsWith('run with '))
    .map(({ page, marker }) => `${page}: ${marker}`)
  const run = proxiedPages.flatMap((page) => proxyNames.map((name) => `${page}: ${markerOf(name)}`))
  t.strictSame(found.toSorted(), run.toSorted())
})

/** Tries what a page promises. */
const tried: Record<ProxiedPage, (t: Test, name: ProxyName, page: ProxiedPage) => Promise<void>> = {
  'docs/guides/deployment.md': twoProcesses,
  'docs/start/spa.md': pageAndApi,
}
for (const page of proxiedPages) {
  for (const name of proxyNames) {
    t.test(`${page}: ${name}`, { skip: unlessFound(name) }, (t) => tried[page](t, name, page))
  }
}

async function twoProcesses(t: Test, name: ProxyName, page: ProxiedPage): Promise<void> {
  const store = memorySessions()
  const ports: number[] = []
  const open = async () => {
    const options = {
      sessions: { store },
      throttle: { perUsername: 2 },
      requireMarks: true,
    } as const
    const app = await appWith(
      t,
      { ...standardOptions(), ...options, cookies: true },
      (app) => {
        app.addHook('onSend', async (_, reply) => void reply.header('process', port))
        app.get('/whoami', { config: { auth: true } }, (request) => [
          nameOf(request),
          request.ip,
          request.headers['x-forwarded-for'],
          request.protocol,
          request.host,
        ])
      },
      { trustProxy },
    )
    const port = await listen(app)
    ports.push(port)
    return app
  }
  await open()
  const other = await open()
  const [first = 0, second = 0] = ports
  const { ask } = await startProxy(t, name, page, { ports: { 3000: first, 3001: second } })
  const site = 'https://guestbook.example'
  const from = '127.0.0.2'
  const logIn = (password = alice.password, client = from) =>
    ask(`${site}/login`, { method: 'POST', from: client, body: { ...alice, password } })

  const login = await logIn()
  t.strictSame([login.status, login.body], [200, '{"expiresIn":300}'])
  t.match(login.headers['set-cookie'], cookieLines)
  const cookie = cookieOf(login.headers['set-cookie'])

  const served = new Set<unknown>()
  await until(async () => {
    const { body, headers } = await ask(`${site}/whoami`, { from, headers: { cookie, ...forged } })
    t.strictSame(JSON.parse(body), ['alice', from, from, 'https', 'guestbook.example'])
    return served.add(headers.process).size === 2
  }, 'both processes have served')

  const post = (origin: string) =>
    ask(`${site}/logout`, { method: 'POST', from, headers: { cookie, origin } })
  t.equal((await post('https://evil.example')).status, 403, 'CSRF')
  t.equal((await post(site)).status, 204, 'the origin is that of the site')
  t.equal((await ask(`${site}/whoami`, { headers: { cookie } })).status, 401, 'logged out')

  const plain = await ask('http://guestbook.example/whoami?a=b')
  t.equal(plain.headers.location, `${site}/whoami?a=b`, 'http leads to https')
  t.equal(Math.floor(plain.status / 100), 3)

  const limited = new Set<unknown>()
  await until(async () => {
    const { status, headers } = await logIn('wrong')
    t.ok(status === 401 || status === 429)
    if (status === 429) limited.add(headers.process)
    return limited.size === 2
  }, 'both processes reject the attacker')
  t.equal((await logIn()).status, 429)
  t.equal((await logIn(alice.password, '127.0.0.3')).status, 200, 'and nobody else')

  // Caddy chooses at random, and before 2.11.2 it lost the body of what it sends to the other process.
  await other.close()
  for (let round = 0; round < 8; round += 1) {
    t.equal((await ask(`${site}/whoami`)).status, 401, 'the other process answers')
  }
}

async function pageAndApi(t: Test, name: ProxyName, page: ProxiedPage): Promise<void> {
  const origin = 'https://shop.example'
  const api = 'https://api.shop.example'
  const email = 'alice@example.com'
  const app = fastify(t, { trustProxy })
  await app.register(cors, { origin, credentials: true })
  await app.register(authn, {
    ...standardOptions(),
    userService: userService(users.map((user) => ({ ...user, name: email }))),
    hashing: { cost },
    login: { usernameField: 'email' },
    sessions: { store: memorySessions() },
    cookies: { trustedOrigins: [origin] },
    requireMarks: true,
  })
  const seen: string[] = []
  app.get('/wishes', { config: { auth: true } }, ({ ip, headers, protocol, host }) => {
    seen.push(ip, String(headers['x-forwarded-for']), protocol, host)
    return [{ id: 1, text: 'a teapot' }]
  })
  const ports = { 3000: await listen(app) }
  const files = path.join(t.testdir({}), 'dist')
  makePage(page, files, api)
  const { ask, httpsPort } = await startProxy(t, name, page, { ports, files })

  const from = '127.0.0.2'
  const sent = { origin, 'sec-fetch-site': 'same-site' }
  const body = { email, password: passwords.alice }
  const login = await ask(`${api}/login`, { method: 'POST', from, headers: sent, body })
  t.strictSame([login.status, login.body], [200, '{"expiresIn":300}'])
  t.equal(login.headers['access-control-allow-origin'], origin)
  t.match(login.headers['set-cookie'], cookieLines)
  const headers = { ...sent, ...forged, cookie: cookieOf(login.headers['set-cookie']) }
  t.equal((await ask(`${api}/wishes`, { from, headers })).status, 200)
  t.strictSame(seen, [from, from, 'https', 'api.shop.example'])
  t.equal((await ask(`${api}/main.js`)).status, 404, 'the API has no files')

  const index = filesOf(page).get('page/index.html')
  for (const [url, type, text] of [
    ['/', 'text/html', index],
    // Links in mails.
    ['/sign-up', 'text/html', index],
    ['/reset', 'text/html', index],
    ['/main.js', 'text/javascript', filesOf(page).get('page/main.js')],
  ] as const) {
    const { status, headers, body } = await ask(`${origin}${url}`)
    t.equal(status, 200, url)
    t.ok(headers['content-type']?.startsWith(type), `${url}: ${headers['content-type']}`)
    t.equal(body, text, url)
    t.match(headers['content-security-policy'], /default-src 'none'.* connect-src https:\/\/api/)
  }
  for (const site of [origin, api]) {
    const plain = await ask(`${site.replace('https', 'http')}/reset?a=b`)
    t.equal(plain.headers.location, `${site}/reset?a=b`, 'http leads to https')
  }
  await t.test(
    'the page works in a browser behind the proxy',
    { skip: unlessFound('Chromium') },
    (t) => usePage(t, origin, api, httpsPort),
  )
}

/** The files of the page, as they are deployed. */
function makePage(page: ProxiedPage, folder: string, api: string): void {
  mkdirSync(folder)
  for (const [name, text] of filesOf(page)) {
    if (name.startsWith('page/')) writeFileSync(path.join(folder, path.basename(name)), text)
  }
  writeFileSync(path.join(folder, 'config.js'), `export const api = '${api}'\n`)
  const client = path.join(root, 'dist/esm/lib/browser/index.js')
  copyFileSync(client, path.join(folder, 'fastify-authn.js'))
}

/** The policy lets the page do what it has to, and the cookies are those of the API. */
async function usePage(t: Test, origin: string, api: string, port: number): Promise<void> {
  const hosts = [origin, api].map((url) => new URL(url).host)
  const chromium = String(findProgram('Chromium'))
  const { page, complaints } = await openPage(t, chromium, 'en', hosts, port)
  await page.goto(origin)
  await page.locator('#login [name=email]').fill('alice@example.com')
  await page.locator('#login [name=password]').fill(passwords.alice)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('a teapot').waitFor()
  await page.reload()
  await page.getByText('a teapot').waitFor()
  t.match(await page.context().cookies(api), [
    { name: '__Host-token', secure: true, httpOnly: true },
    { name: '__Host-refresh', secure: true, httpOnly: true },
  ])
  t.strictSame(await page.context().cookies(origin), [])
  await page.goto(`${origin}/reset#token`)
  await page.getByLabel('New password').waitFor()
  t.strictSame(complaints, [])
}
