// The client for apps that a tutorial prints, with tokens in bodies. Pages have lib/browser.
import { EventEmitter, once } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { compileFunction } from 'node:vm'
import { transformSync } from 'esbuild'
import t, { type Test } from 'tap'
import { passwords } from '../helpers/app.js'
import { blocksOf, readPage } from '../helpers/readme.js'
import { sessionApp } from '../helpers/sessions.js'

interface Client {
  request(path: string, init?: { method?: string; body?: string }): Promise<Response>
  logIn(username: string, password: string): Promise<Response>
  logOut(): Promise<void>
}
type Answer = (reach: () => Promise<Response>) => Promise<Response>

/** A function of a module that a page prints. */
function printed<T>(page: string, name: string, globals: object): T {
  const block = blocksOf(readPage(page)).find(({ text }) => text.includes(`function ${name}(`))
  const { code } = transformSync(block?.text ?? '', { loader: 'ts', format: 'cjs' })
  const run = compileFunction(`${code}\nreturn module.exports`, ['module', ...Object.keys(globals)])
  const made = run({ exports: {} }, ...Object.values(globals)) as Record<string, T>
  return made[name] as T
}

/** A client on which alice has logged in, and everything around it: its network, its clock, its timers, its app. */
async function setUp(t: Test) {
  const app = await sessionApp(t, {})
  const state = {
    logouts: 0,
    now: 0,
    kept: null as { token: string } | null,
    /** Requests, as `path status`. */
    sent: [] as string[],
    waits: [] as number[],
    timer: null as { run: () => void; milliseconds: number } | null,
  }
  const answers = new Map<string, Answer[]>()

  async function reach(url: string, init: RequestInit = {}): Promise<Response> {
    const {
      method = 'GET',
      headers,
      body,
    } = init as { method?: 'GET'; body?: string } & RequestInit
    const reply = await app.inject({
      method,
      url,
      headers: Object.fromEntries(new Headers(headers)),
      ...(body !== undefined && { payload: body }),
    })
    const { statusCode: status } = reply
    return new Response(status === 204 ? null : reply.body, { status })
  }
  const globals = {
    Date: { now: () => state.now },
    async fetch(url: string, init?: RequestInit): Promise<Response> {
      const path = url.replace('http://app.example', '')
      const entry = state.sent.push(path) - 1
      const { [0]: answer = (go: () => Promise<Response>) => go() } = answers.get(path) ?? []
      answers.get(path)?.shift()
      const response = await answer(() => reach(path, init))
      state.sent[entry] += ` ${response.status}`
      return response
    },
    setTimeout(run: () => void, milliseconds: number) {
      if (milliseconds < 20_000) {
        state.waits.push(Math.floor(milliseconds / 1000))
        return void turn().then(run)
      }
      return (state.timer = { run, milliseconds })
    },
    clearTimeout(timer: unknown) {
      if (timer === state.timer) state.timer = null
    },
  }
  const onLogout = (): void => void (state.logouts += 1)
  const storage = {
    load: async () => state.kept,
    save: async (tokens: typeof state.kept) => void (state.kept = tokens),
  }
  const open = async (): Promise<Client> =>
    printed<(options: object) => Promise<Client>>(
      'docs/start/mobile-client.md',
      'openSession',
      globals,
    )({ onLogout, storage, baseUrl: 'http://app.example', device: 'a phone' })
  const client = await open()
  t.equal((await client.logIn('alice', 'wrong')).status, 401)
  t.equal((await client.logIn('alice', passwords.alice)).status, 200)
  const me = async (): Promise<number> => (await client.request('/me')).status
  t.equal(await me(), 200)
  state.sent.length = 0
  return {
    app,
    client,
    state,
    me,
    open,
    /** What the next requests for a path get instead of the app's response. */
    answer: (path: string, ...next: Answer[]) => void answers.set(path, next),
    refreshes: () => state.sent.filter((entry) => entry.startsWith('/login/refresh')).length,
  }
}

const status =
  (status: number, headers: Record<string, string> = {}): Answer =>
  async () =>
    new Response('{}', { status, headers })
const offline: Answer = () => Promise.reject(new TypeError('offline'))
const lost: Answer = async (reach) => {
  await reach()
  throw new TypeError('the connection was lost')
}
const unauthorized = status(401)

/** An answer that comes when the test says so. */
function held(answer: Answer): { answer: Answer; release(): void } {
  const released = new EventEmitter()
  const promise = once(released, 'now')
  return {
    answer: (reach) => promise.then(() => answer(reach)),
    release: () => void released.emit('now'),
  }
}

t.test('the client refreshes once after a 401 and sends the request again', async (t) => {
  const { me, answer, refreshes, state } = await setUp(t)
  const late = held(unauthorized)
  answer('/me', late.answer, unauthorized, unauthorized)
  const first = me()
  t.strictSame(await Promise.all([me(), me()]), [200, 200])
  late.release()
  t.equal(await first, 200, 'sent before the refresh')
  t.equal(refreshes(), 1)
  answer('/me', unauthorized, unauthorized)
  t.strictSame([await me(), refreshes(), state.logouts], [401, 2, 0])
})

t.test('the client tries a failed refresh again and logs no user out', async (t) => {
  const { client, me, answer, refreshes, state } = await setUp(t)
  const busy = status(503)
  answer('/me', unauthorized)
  answer('/login/refresh', status(503, { 'retry-after': '3' }), busy, busy, busy)
  await t.rejects(client.request('/me'), { message: /503/ })
  t.match(state.waits, [/[34]/, /[23]/, /[456]/], 'it waits longer each time')
  t.equal(refreshes(), 4)

  answer('/me', unauthorized)
  answer('/login/refresh', busy, status(429), status(502))
  t.equal(await me(), 200, 'the server is back')

  const portal: Answer = async () => new Response('<p>Welcome to our hotel</p>')
  for (const away of [offline, portal]) {
    const before = refreshes()
    answer('/me', unauthorized)
    answer('/login/refresh', away, away)
    await t.rejects(client.request('/me'))
    t.equal(refreshes() - before, 2)
  }
  answer('/me', offline)
  await t.rejects(client.request('/me'), TypeError)

  answer('/me', unauthorized)
  answer('/login/refresh', lost)
  t.equal(await me(), 200, 'the server gives the same tokens again')
  t.equal(state.logouts, 0)
})

t.test('the client logs out once when its session was revoked', async (t) => {
  const { app, me, refreshes, state } = await setUp(t)
  await app.authn.sessions.revoke({ sub: 'alice' })
  t.strictSame(await Promise.all([me(), me()]), [401, 401])
  t.strictSame([refreshes(), state.logouts, state.timer], [1, 1, null])
  t.strictSame(state.kept, null)
})

t.test('the client stays logged in until a logout succeeds', async (t) => {
  const { app, client, me, answer, refreshes, state } = await setUp(t)
  for (const answered of [offline, status(503)]) {
    answer('/logout', answered)
    await t.rejects(client.logOut())
  }
  t.strictSame([await me(), state.logouts], [200, 0])
  const slow = held((reach) => reach())
  answer('/me', unauthorized)
  answer('/login/refresh', slow.answer)
  const waiting = me()
  await turn()
  await client.logOut()
  slow.release()
  t.equal(await waiting, 401)
  t.strictSame([state.logouts, state.timer, state.kept], [1, null, null])
  t.strictSame(await app.authn.sessions.list('alice'), [])
  t.equal(refreshes(), 1)
})

t.test('the client does not send a request again as another user', async (t) => {
  const { client, me, answer, state } = await setUp(t)
  const slow = held(unauthorized)
  answer('/me', slow.answer)
  const waiting = me()
  await client.logIn('bob', passwords.bob)
  slow.release()
  t.equal(await waiting, 401)
  const slower = held((reach) => reach())
  answer('/me', unauthorized)
  answer('/login/refresh', slower.answer)
  const another = me()
  await turn()
  await client.logIn('alice', passwords.alice)
  slower.release()
  t.equal(await another, 401)
  t.equal(await me(), 200)
  t.strictSame(
    state.sent.filter((entry) => entry.startsWith('/me')),
    ['/me 401', '/me 401', '/me 200'],
  )
  t.equal(state.logouts, 0)
})

t.test('the client refreshes by its clock, and keeps tokens over a restart', async (t) => {
  const { app, client, me, open, answer, refreshes, state } = await setUp(t)
  state.now = 199_000
  t.strictSame([await me(), refreshes()], [200, 0])
  const slow = held((reach) => reach())
  answer('/login/refresh', slow.answer)
  state.now = 201_000
  t.strictSame([await me(), refreshes()], [200, 1], 'in the background')
  const { kept } = state
  slow.release()
  for (let turns = 0; turns < 50; turns += 1) await turn()
  t.not(state.kept?.token, kept?.token)
  answer('/login/refresh', offline, offline)
  state.now = 402_000
  t.equal(await me(), 200, 'the token is still valid')
  for (let turns = 0; turns < 50; turns += 1) await turn()
  state.now = 502_000
  const before = refreshes()
  t.strictSame([await me(), refreshes() - before], [200, 1], 'before the request')
  t.match(state.sent.slice(-2), ['/login/refresh 200', '/me 200'])

  t.equal((await (await open()).request('/me')).status, 200, 'after a restart')
  t.match(await app.authn.sessions.list('alice'), [{ userAgent: 'a phone' }])
  await t.rejects(client.request('https://evil.example/'), TypeError)
  await client.logOut()
  t.equal((await (await open()).request('/me')).status, 401)
})
