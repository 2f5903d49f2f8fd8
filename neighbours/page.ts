// For tests of components: a page without a browser, whose requests reach an app with cookies.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import Fastify from 'fastify'
import authn, { configFromEnv } from 'fastify-authn'
import { Window } from 'happy-dom'
import { users } from './src/users.js'

/** The element that components are rendered into, and the app. */
export async function openPage() {
  const app = Fastify()
  await app.register(authn, {
    ...configFromEnv(),
    userService: users,
    sessions: true,
    cookies: true,
  })
  app.get('/me', { config: { auth: true } }, ({ user }) => user)
  const window = new Window({ url: 'https://shop.example/' })
  const { document, location, localStorage, navigator, Element, SVGElement } = window
  const cookies = new Map<string, string>()
  async function fetch(url: string | URL, { method = 'GET', headers, body }: RequestInit = {}) {
    const { pathname } = new URL(url)
    const response = await app.inject({
      method: method as 'GET',
      url: pathname,
      headers: {
        ...Object.fromEntries(new Headers(headers)),
        host: 'shop.example',
        'sec-fetch-site': 'same-origin',
      },
      cookies: Object.fromEntries(cookies),
      ...(typeof body === 'string' && { payload: body }),
    })
    for (const { name, value } of response.cookies) cookies.set(name, value)
    return new Response(response.body || null, {
      status: response.statusCode,
      headers: { 'content-type': String(response.headers['content-type']) },
    })
  }
  const globals = {
    window,
    document,
    location,
    localStorage,
    navigator,
    Element,
    SVGElement,
    fetch,
  }
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
  }
  const root = document.createElement('div')
  document.body.append(root)
  return { app, root: root as unknown as Element, text: () => root.textContent }
}

/** What a component that uses `useSession` shows, from the login to the end of the session. */
export async function followSession(
  t: TestContext,
  { app, text }: Awaited<ReturnType<typeof openPage>>,
  session: typeof import('./src/react-session.js').session,
) {
  t.after(async () => {
    session.close()
    await app.close()
  })
  async function shows(expected: string) {
    for (let tries = 0; text() !== expected && tries < 500; tries++) await setTimeout(10)
    assert.equal(text(), expected)
  }
  await shows('Log in.')
  const logIn = (username: string, password: string) => session.logIn({ username, password })
  assert.equal((await logIn('alice', 'wrong')).status, 401)
  await shows('Log in.')
  assert.equal((await logIn('alice', 'wonderland-1865')).status, 200)
  await shows('alice')
  assert.equal((await logIn('bob', 'wonderland-1865')).status, 200)
  await shows('bob')
  await app.authn.sessions.revoke({ sub: 'bob' })
  await session.fetch('/me')
  await shows('Log in.')
  await logIn('alice', 'wonderland-1865')
  await shows('alice')
  await session.logOut()
  await shows('Log in.')
}
