// program: its own, in npm run test:all
// A provider on another site that sends the browser back with a form, as Apple does, in a real browser.
import t, { type Test } from 'tap'
import { appWith, passwords, secret, standardOptions } from '../helpers/app.js'
import { openPage } from '../helpers/browser.js'
import { listen, nameOf } from '../helpers/flows.js'
import { findProgram, unlessFound } from '../helpers/programs.js'
import { oauth2Entry } from '../helpers/login-app.js'
import { startProvider } from '../helpers/provider.js'
import { startServer } from '../helpers/server.js'

const chromium = findProgram('Chromium')
const skip = unlessFound('Chromium')

/** The app is `localhost` and the provider is `127.0.0.1`, which are two sites. */
async function visit(t: Test, sameSite: 'lax' | 'strict') {
  const provider = await startProvider(t)
  const owners = new Map<string, string>()
  const link = ({ sub }: { sub: string }, user: object) =>
    owners.set(sub, String(nameOf({ user }))).size > 0
  const more = { responseMode: 'form_post', ...(sameSite === 'lax' && { link }) } as const
  // Its page sends the form at once.
  const { url: pages } = await startServer(t, (request, response) => {
    const { origin, pathname, searchParams } = provider.visit(new URL(String(request.url), pages))
    const fields = Array.from(
      searchParams,
      ([name, value]) => `<input type="hidden" name="${name}" value="${value}">`,
    )
    const form = `<form method="post" action="${origin}${pathname}">${fields.join('')}</form>`
    response.setHeader('content-type', 'text/html')
    response.end(`${form}<script>document.forms[0].submit()</script>`)
  })
  const authorizationEndpoint = `${pages}/authorize`
  const corp = oauth2Entry(provider, { authorizationEndpoint }, more)
  const options = { sessions: true, cookies: { sameSite }, loginWith: { corp }, jwt: { secret } }
  const app = await appWith(
    t,
    { ...standardOptions(), ...options },
    (app) => {
      for (const url of ['/', '/notes'])
        app.get(url, { config: { auth: 'try' } }, (request, reply) =>
          reply
            .type('text/html')
            .send(
              `<p>${String(nameOf(request))}</p><a href="/login/corp?returnTo=/notes">Sign in</a>`,
            ),
        )
    },
    { forceCloseConnections: true },
  )
  const url = `http://localhost:${await listen(app)}`
  const { page } = await openPage(t, chromium ?? '', 'en', ['localhost'])
  await page.goto(url)
  return { url, page, owners }
}

for (const sameSite of ['lax', 'strict'] as const) {
  t.test(`a form of another site logs a user in, with ${sameSite} cookies`, { skip }, async (t) => {
    const { page, url } = await visit(t, sameSite)
    await Promise.all([page.waitForURL('**/notes'), page.getByText('Sign in').click()])
    t.equal(await page.locator('p').innerText(), 'alice')
    const cookies = await page.context().cookies(url)
    t.ok(cookies.every((each) => each.sameSite !== 'None'))
    t.notOk(cookies.some(({ name }) => name.includes('login-')))
  })
}

t.test('a form of another site links an account in the session', { skip }, async (t) => {
  const { page, owners } = await visit(t, 'lax')
  const post = `(path, body) => fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })`
  await page.evaluate(
    `(${post})('/login', ${JSON.stringify({ username: 'bob', password: passwords.bob })})`,
  )
  const ended = page.waitForURL('**/notes')
  await page.evaluate(
    `(${post})('/login/corp/link', { returnTo: '/notes' }).then((r) => r.json()).then(({ location: to }) => { location.href = to })`,
  )
  await ended
  t.strictSame([...owners], [['alice', 'bob']])
  t.equal(await page.locator('p').innerText(), 'bob')
})
