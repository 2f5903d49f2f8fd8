// Tabs of one browser, with cookies, as far as that shows without one; test/browser/pages.test.ts has a real one.
import { setTimeout as later } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { passwords } from '../helpers/app.js'
import {
  held,
  offline,
  replaceGlobals,
  setUp,
  settle,
  status,
  unauthorized,
  url,
  type Answer,
} from '../helpers/browser-session.js'
import type { Session, SessionOptions } from '../../lib/browser/index.js'

const alice = { username: 'alice', password: passwords.alice }
const bob = { username: 'bob', password: passwords.bob }
const key = `fastify-authn ${url}/login`
const page = 'https://shop.example'

type Listener = () => void

/** Web Locks as one process sees them. */
function fakeLocks() {
  const state = { held: 0, most: 0, freed: [] as number[], isFree: Promise.resolve() }
  return {
    state,
    async request(name: string, { signal }: { signal: AbortSignal }, run: () => Promise<unknown>) {
      if (name !== key) throw new Error(`another lock: ${name}`)
      const before = state.isFree
      let free = (): void => undefined
      state.isFree = before.then(() => new Promise<void>((resolve) => (free = resolve)))
      const aborted = new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')))
      })
      try {
        await Promise.race([before, aborted])
        state.held += 1
        state.most = Math.max(state.most, state.held)
        await run()
        state.held -= 1
        state.freed.push(performance.now())
      } finally {
        void before.then(() => free())
      }
    },
  }
}

interface Browser {
  readonly origin?: string
  readonly locks?: ReturnType<typeof fakeLocks>
  /** Null: there is none. */
  readonly storage?: object | null
}

/** A browser with tabs at the same page. */
async function browser(t: Test, { origin = page, locks, storage }: Browser = {}) {
  const all = await setUp(t, { cookies: { trustedOrigins: [page] } })
  const listeners = new Map<string, Set<Listener>>()
  const items = new Map<string, string>()
  const document = { hidden: false, addEventListener }
  function addEventListener(type: string, run: Listener, { signal }: { signal: AbortSignal }) {
    const set = listeners.get(type) ?? new Set()
    listeners.set(type, set.add(run))
    signal.addEventListener('abort', () => set.delete(run))
  }
  const working = {
    getItem: (name: string) => items.get(name) ?? null,
    setItem: (name: string, value: string) => void items.set(name, value),
  }
  replaceGlobals(t, {
    location: { value: { origin } },
    localStorage: {
      get() {
        if (storage === null) throw new Error('SecurityError')
        return storage ?? working
      },
    },
    document: { value: document },
    addEventListener: { value: addEventListener },
    navigator: { value: { locks } },
  })
  const emit = async (type: string): Promise<void> => {
    for (const run of listeners.get(type) ?? []) run()
    await settle()
  }
  return {
    ...all,
    items,
    document,
    listeners,
    emit,
    tab: (more: SessionOptions = {}): Session & { readonly changes: string[] } => {
      const changes: string[] = []
      const onChange = (change: object): void => void changes.push(Object.values(change).join(' '))
      const session = all.open({ tokens: undefined, onChange, ...more })
      return Object.defineProperty(session, 'changes', { value: changes }) as never
    },
  }
}

t.test('cookies are sent to the API, wherever the page is', async (t) => {
  for (const [origin, credentials] of [
    [page, 'include'],
    [url, 'same-origin'],
  ] as const) {
    const { tab, state } = await browser(t, { origin })
    const session = tab(origin === url ? { url: undefined } : {})
    t.equal(session.loggedIn, false)
    t.match(await session.logIn(alice), { ok: true, body: { expiresIn: 300 } })
    await session.fetch('/me')
    await session.fetch('/nothing', { credentials: 'omit' })
    const sent = state.sent.map(({ init }) => [init.credentials, init.headers.get('authorization')])
    t.strictSame(sent, [
      [credentials, null],
      [credentials, null],
      ['omit', null],
    ])
    t.notOk(state.sent.some(({ init }) => init.headers.has('token-delivery')))
  }
})

t.test('a reload finds the session, and storage holds no secret', async (t) => {
  const { tab, items, jar, state, log } = await browser(t)
  const before = Date.now()
  await tab().logIn(alice)
  t.strictSame([...items.keys()], [key])
  const [id = '', expires] = String(items.get(key)).split(' ')
  t.match(id, /^0\.\d{6,}$/)
  t.ok(Number(expires) >= before + 300_000 && Number(expires) <= Date.now() + 300_000)
  for (const secret of jar.values()) t.notMatch(String(items.get(key)), secret)

  const session = tab()
  await session.ready
  t.equal(session.loggedIn, true)
  log()
  t.equal((await session.fetch('/me')).status, 200)
  t.strictSame(log(), ['/me 200'], 'it knows when the token expires')
  state.ahead = 295_000
  await session.fetch('/me')
  t.strictSame(log(), ['/login/refresh 200', '/me 200'])
  t.match(items.get(key), `${id} `, 'the same login')
  await session.logIn(alice)
  t.notMatch(items.get(key), `${id} `, 'another login')
})

t.test('with tokens, localStorage holds nothing', async (t) => {
  const { tab, tokens, items, state } = await browser(t)
  const session = tab({ tokens })
  t.match(await session.logIn(alice), { ok: false, error: 'The response has no tokens.' })
  state.kept = 'kept'
  await session.logOut()
  t.strictSame([...items], [])
})

t.test('tabs tell each other who is logged in, and why not', async (t) => {
  const { app, tab, emit, items } = await browser(t)
  const [one, two] = [tab(), tab()]
  const rows: [() => Promise<unknown>, string, boolean][] = [
    [() => one.logIn(alice), 'true login', true],
    [() => two.logIn(bob), 'true login', true],
    [() => one.logOut(), 'false logout', false],
    [() => one.post('sign-up/finish', { token: '', password: '' }), 'true login', true],
    [() => two.post('password/change', { password: '' }), 'true login', true],
    [() => one.post('account/delete', {}), 'false logout', false],
    [() => two.logIn(alice), 'true login', true],
    [
      async () => {
        await app.authn.sessions.revoke({ sub: 'alice' })
        await one.refresh()
      },
      'false expired',
      false,
    ],
    [() => two.logIn(alice), 'true login', true],
    [async () => items.clear(), 'false logout', false],
  ]
  for (const [act, change, loggedIn] of rows) {
    await act()
    await emit('storage')
    for (const session of [one, two]) {
      t.strictSame([session.changes.splice(0), session.loggedIn], [[change], loggedIn])
    }
  }
  await one.logIn(alice)
  await emit('storage')
  one.changes.length = 0
  await two.refresh()
  await emit('storage')
  t.strictSame(one.changes, [], 'a refresh is no change')
  one.close()
  await two.logOut()
  await emit('storage')
  t.strictSame(one.changes, [])
})

t.test('a request is not sent again as the user of another tab', async (t) => {
  const { tab, answer, log } = await browser(t)
  const [one, two] = [tab(), tab()]
  await one.logIn(alice)
  const slow = held(unauthorized)
  answer('/me', slow.answer)
  const waiting = one.fetch('/me')
  await settle()
  await two.logIn(bob)
  log()
  slow.release()
  t.equal((await waiting).status, 401)
  t.strictSame(log(), ['/me 401'])
  t.equal(((await (await one.fetch('/me')).json()) as { name: string }).name, 'bob')
})

t.test('one tab refreshes for all', async (t) => {
  const locks = fakeLocks()
  const { tab, state, log, answer } = await browser(t, { locks })
  const tabs = [tab(), tab(), tab(), tab(), tab()]
  await tabs[0]?.logIn(alice)
  const me = async (): Promise<number[]> => {
    const responses = await Promise.all(tabs.map((each) => each.fetch('/me')))
    return responses.map(({ status }) => status)
  }
  const good = tabs.map(() => 200)
  log()
  state.ahead = 295_000
  t.strictSame(await me(), good)
  t.equal(log().filter((entry) => entry.startsWith('/login/refresh')).length, 1, 'by the clock')
  answer('/me', ...tabs.map(() => unauthorized))
  t.strictSame(await me(), good)
  t.equal(log().filter((entry) => entry.startsWith('/login/refresh')).length, 1, 'after 401s')
  t.equal(locks.state.most, 1)

  const slow = held(unauthorized)
  answer('/me', slow.answer)
  const waiting = tabs[0]?.fetch('/me')
  await tabs[1]?.refresh()
  log()
  slow.release()
  t.equal((await waiting)?.status, 200)
  t.strictSame(log(), ['/me 401', '/me 200'], 'another tab has refreshed meanwhile')
})

t.test('a lock is held a little longer: other processes see later what is stored', async (t) => {
  const locks = fakeLocks()
  const { tab } = await browser(t, { locks })
  const session = tab()
  for (const act of [() => session.logIn(alice), () => session.refresh()]) {
    const before = locks.state.freed.length
    await act()
    const done = performance.now()
    t.equal(locks.state.held, 1, 'the request need not wait for it')
    while (locks.state.freed.length === before) await later(5)
    t.ok(Number(locks.state.freed[before]) - done > 80)
  }
})

t.test('a tab that hangs with the lock keeps no other one waiting', async (t) => {
  const locks = fakeLocks()
  const { tab, state, answer } = await browser(t, { locks })
  const [hanging, session] = [tab(), tab()]
  await session.logIn(alice)
  const timer = globalThis.setTimeout
  t.teardown(() => (globalThis.setTimeout = timer))
  const alive = setInterval(() => undefined, 1000)
  t.teardown(() => clearInterval(alive))
  for (const [wait, act, isRefresh] of [
    [5000, () => session.refresh(), true],
    [10_000, () => session.logIn(alice)],
    [10_000, () => session.post('password/change', { password: '' })],
    [10_000, () => session.logOut()],
  ] as const) {
    globalThis.setTimeout = timer
    while (locks.state.held > 0) await later(5)
    const never = held()
    answer('/login/refresh', never.answer)
    const waiting = hanging.refresh()
    await settle()
    state.limits.length = 0
    globalThis.setTimeout = ((run: () => void, milliseconds: number) => {
      state.limits.push(milliseconds)
      return timer(run, milliseconds === wait ? 50 : milliseconds)
    }) as never
    const started = performance.now()
    t.match(await act(), isRefresh ?? { ok: true })
    t.ok(performance.now() - started > 30, 'it has waited')
    t.ok(state.limits.includes(wait))
    never.release()
    if (isRefresh) t.equal(await waiting, true, 'the server gives both the same tokens')
    else await waiting
    t.equal(hanging.loggedIn, session.loggedIn)
  }
})

/** The server responds at once, and the response is late. */
const late =
  (slow: ReturnType<typeof held>): Answer =>
  async (reach) => {
    const response = await reach()
    return slow.answer(async () => response)
  }

const changes: Record<string, (session: Session) => Promise<unknown>> = {
  'a login': (session) => session.logIn(alice),
  'a logout and a login': async (session) => {
    await session.logOut()
    await session.logIn(alice)
  },
  'two logins at once': (session) => Promise.all([session.logIn(bob), session.logIn(alice)]),
  'a sign-up': (session) => session.post('sign-up/finish', { token: '', password: '' }),
  'a new password': (session) => session.post('password/change', { password: '' }),
}

t.test('a refresh that is answered late replaces no newer session', async (t) => {
  for (const [name, change] of Object.entries(changes)) {
    for (const isOther of [false, true]) {
      for (const locks of [fakeLocks(), undefined]) {
        const about = `${name}, ${isOther ? 'another' : 'the same'} tab, ${locks ? 'locks' : 'no locks'}`
        const { tab, answer, emit, log, app } = await browser(t, locks && { locks })
        const one = tab()
        const two = isOther ? tab() : one
        await one.logIn(name === 'a new password' ? alice : bob)
        const slow = held()
        answer('/login/refresh', late(slow))
        const refreshed = two.refresh()
        while (app.authn.stats().sessions?.refreshed === 0) await settle()
        const changed = change(one)
        // In the same tab, or with locks, it may wait for the refresh.
        await (isOther && !locks ? changed : Promise.race([changed, later(50)]))
        await emit('storage')
        slow.release()
        await changed
        await refreshed
        log()
        const response = await one.fetch('/me')
        t.match(await response.json(), { name: 'alice' }, about)
        t.strictSame([log(), one.loggedIn, two.loggedIn], [['/me 200'], true, true])
      }
    }
  }
})

t.test('a logout waits for no refresh of its tab', async (t) => {
  for (const locks of [fakeLocks(), undefined]) {
    const { tab, answer, app, refreshes } = await browser(t, locks && { locks })
    const session = tab()
    await session.logIn(alice)
    answer('/login/refresh', held().answer)
    const refreshed = session.refresh()
    await settle()
    t.equal(refreshes(), 0, 'it has no answer')
    t.match(await session.logOut(), { ok: true, status: 204 })
    t.equal(await refreshed, false)
    t.strictSame(await app.authn.sessions.list('alice'), [])
  }
})

t.test('what changes no session keeps no login and no refresh waiting', async (t) => {
  const locks = fakeLocks()
  const { tab, answer } = await browser(t, { locks })
  const [session, other] = [tab(), tab()]
  for (const [route, body] of [
    ['sign-up', { email: 'a@b.c' }],
    ['password/forgot', { email: 'a@b.c' }],
    ['password/reset', { token: 'x', password: 'a long password' }],
  ] as const) {
    const slow = held(status(202))
    answer(`/${route}`, slow.answer)
    const posted = session.post(route, body)
    await settle()
    t.equal(locks.state.held, 0, route)
    t.match(await session.logIn(alice), { ok: true })
    t.equal(await other.refresh(), true)
    t.match(await session.logOut(), { ok: true })
    slow.release()
    t.match(await posted, { ok: true, status: 202 })
    while (locks.state.held > 0) await later(5)
  }
})

t.test('a refresh that a login with a wrong password has aborted is repeated', async (t) => {
  const { tab, answer, app, state, log } = await browser(t, { locks: fakeLocks() })
  const session = tab()
  await session.logIn(alice)
  state.ahead = 295_000
  answer('/login/refresh', late(held()))
  const response = session.fetch('/me')
  while (app.authn.stats().sessions?.refreshed === 0) await settle()
  const wrong = await session.logIn({ ...bob, password: 'wrong' })
  t.match(wrong, { ok: false, status: 401 })
  log()
  t.equal((await response).status, 200)
  t.strictSame([log().at(-1), session.loggedIn], ['/me 200', true])
})

t.test('a logout that is answered late ends no newer session', async (t) => {
  for (const locks of [fakeLocks(), undefined]) {
    const { tab, answer } = await browser(t, locks && { locks })
    const [one, two] = [tab(), tab()]
    await one.logIn(alice)
    const slow = held()
    answer('/logout', late(slow))
    const loggedOut = one.logOut()
    await settle()
    // Without locks, each tab keeps its own order.
    const login = (locks ? two : one).logIn(bob)
    await Promise.race([login, later(50)])
    slow.release()
    t.match(await Promise.all([loggedOut, login]), [{ ok: true }, { ok: true }])
    t.match(await (await one.fetch('/me')).json(), { name: 'bob' })
    t.strictSame([one.loggedIn, two.loggedIn], [true, true])
  }
})

t.test('a lock that a page may not have, or a failed refresh, changes nothing', async (t) => {
  const locks = fakeLocks()
  const { tab, answer, state, refreshes } = await browser(t, { locks })
  const session = tab()
  await session.logIn(alice)
  answer('/login/refresh', offline, offline, offline, offline)
  await t.rejects(session.refresh(), { message: /./, status: 0 })
  await settle()
  t.strictSame([state.waits, refreshes()], [[1, 1, 2], 4])
  t.equal(await session.refresh(), true)
  locks.request = async () => {
    throw new Error('SecurityError')
  }
  t.equal(await session.refresh(), true)
})

t.test('a tab that tries again sees that another one was faster', async (t) => {
  const { tab, answer, log } = await browser(t)
  const [one, two] = [tab(), tab()]
  await one.logIn(alice)
  const slow = held(status(503))
  answer('/login/refresh', slow.answer)
  const waiting = one.refresh()
  await settle()
  await two.refresh()
  log()
  slow.release()
  t.equal(await waiting, true)
  t.strictSame(log(), ['/login/refresh 503'])
})

t.test('a browser whose storage throws has one tab', async (t) => {
  const full = {
    getItem: () => null,
    setItem: () => {
      throw new Error('QuotaExceededError')
    },
  }
  for (const storage of [null, full]) {
    const { tab, state, log } = await browser(t, { storage })
    const session = tab()
    t.equal(session.loggedIn, false)
    t.match(await session.logIn(alice), { ok: true })
    t.strictSame([session.loggedIn, session.changes], [true, ['true login']])
    state.ahead = 295_000
    log()
    t.equal((await session.fetch('/me')).status, 200)
    t.strictSame(log(), ['/login/refresh 200', '/me 200'])
    t.match(await session.logOut(), { ok: true })
    t.strictSame([session.loggedIn, tab().loggedIn], [false, false])
  }
})

t.test('a tab that becomes visible finds out that its session was revoked', async (t) => {
  const { app, tab, state, document, emit, log, answer, items } = await browser(t)
  const session = tab()
  await session.logIn(alice)
  log()
  state.ahead = 295_000
  await emit('visibilitychange')
  t.strictSame(log(), [], 'the token is still valid')
  state.ahead = 301_000
  document.hidden = true
  await emit('visibilitychange')
  t.strictSame(log(), [], 'it is hidden')
  document.hidden = false
  answer('/login/refresh', status(404))
  await emit('visibilitychange')
  t.strictSame([log(), session.loggedIn], [['/login/refresh 404'], true])
  await app.authn.sessions.revoke({ sub: 'alice' })
  await emit('visibilitychange')
  t.strictSame(log(), ['/login/refresh 401'])
  t.strictSame(session.changes.splice(0), ['true login', 'false expired'])
  await emit('visibilitychange')
  t.strictSame(log(), [], 'nobody is logged in')

  await session.logIn(bob)
  items.set(key, 'logout')
  await emit('visibilitychange')
  t.strictSame(session.changes, ['true login', 'false logout'], 'an event that it has missed')
  session.close()
  items.set(key, 'x 0')
  log()
  await emit('visibilitychange')
  t.strictSame(log(), [])
})

t.test('a 400 ends no session that is in cookies', async (t) => {
  const { tab, answer } = await browser(t)
  const session = tab()
  await session.logIn(alice)
  answer('/login/refresh', status(400))
  await t.rejects(session.refresh(), { message: /400/, status: 400 })
  t.equal(session.loggedIn, true)
})

t.test('a logout of the page ends the session at the server', async (t) => {
  const { app, tab, jar, state } = await browser(t)
  const session = tab()
  await session.logIn(alice)
  const [login] = state.sent
  t.strictSame(login?.body, alice)
  t.match(await session.logOut({ everywhere: true }), { ok: true, status: 204 })
  t.strictSame(state.sent[1]?.body, { everywhere: true }, 'no token in the body')
  t.strictSame(await app.authn.sessions.list('alice'), [])
  t.strictSame([...jar.values()], ['', ''])
  t.equal(await session.refresh(), false)
})

t.test('on a server that renders pages, no user is logged in', async (t) => {
  const { open } = await setUp(t)
  const session = open({ tokens: undefined })
  await session.ready
  t.equal(session.loggedIn, false)
})
