// An app that keeps its tokens itself, such as one on a phone.
import { Readable } from 'node:stream'
import { setTimeout as later } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { passwords } from '../helpers/app.js'
import {
  held,
  lost,
  offline,
  setUp,
  settle,
  status,
  unauthorized,
  url,
} from '../helpers/browser-session.js'
import type { Session } from '../../lib/browser/index.js'

const alice = { username: 'alice', password: passwords.alice }
const bob = { username: 'bob', password: passwords.bob }
const busy = status(503)
const away = 'The server cannot be reached.'

/** A client on which alice is logged in. */
async function loggedIn(t: Test) {
  const all = await setUp(t)
  const session = all.open()
  t.match(await session.logIn(alice), { ok: true, status: 200, error: null, retryAfter: null })
  all.state.log.length = all.state.sent.length = all.state.changes.length = 0
  return { ...all, session, me: meOf(session) }
}
const meOf = (session: Session) => async (): Promise<number> => (await session.fetch('/me')).status

t.test('a client needs to know where its API is', async (t) => {
  const { open } = await setUp(t)
  t.throws(() => open({ url: undefined }), TypeError)
  t.throws(() => open({ url: '/api' }), TypeError)
})

t.test('the refresh token is kept by the app, and the access token in memory', async (t) => {
  const { state, session, open, log } = await loggedIn(t)
  const first = String(state.kept)
  t.ok(session.loggedIn)
  t.equal(await meOf(session)(), 200)
  const [{ init }] = state.sent as [(typeof state.sent)[0]]
  t.match(init.headers.get('authorization'), /^Bearer ey/)
  t.equal(init.credentials, 'omit')
  t.equal(init.headers.get('token-delivery'), 'body')
  t.strictSame(log(), ['/me 200'])

  const again = open()
  t.equal(again.loggedIn, false, 'not before ready')
  const response = again.fetch('/me')
  await again.ready
  t.equal(again.loggedIn, true)
  t.equal((await response).status, 200)
  t.strictSame(log(), ['/login/refresh 200', '/me 200'], 'an unknown token is refreshed first')
  t.not(state.kept, first)
  t.strictSame(state.changes, [])

  state.kept = null
  const nobody = open()
  await nobody.ready
  t.equal(nobody.loggedIn, false)
})

t.test('calls before the client is ready wait until it is', async (t) => {
  const { state, open, log, tokens } = await loggedIn(t)
  const slow = () => {
    const { answer, release } = held(async () => new Response())
    return { get: () => answer(async () => new Response()).then(tokens.get), release }
  }
  const [one, two] = [slow(), slow()]
  const session = open({ tokens: { ...tokens, get: one.get } })
  const refreshed = session.refresh()
  await settle()
  one.release()
  t.equal(await refreshed, true)
  t.equal(await meOf(session)(), 200)
  t.strictSame(log(), ['/login/refresh 200', '/me 200'])

  const other = open({ tokens: { ...tokens, get: two.get } })
  const login = other.logIn(bob)
  const sent = state.sent.length
  await settle()
  t.equal(state.sent.length, sent)
  two.release()
  t.match(await login, { ok: true })
  await settle()
  t.strictSame(log(), ['/login 200'])
  t.equal(await meOf(other)(), 200)
  t.strictSame(log(), ['/me 200'], 'it knows the new token')
  t.strictSame(state.changes, ['login true'])
})

t.test('a request without a response is given up, also where timers are numbers', async (t) => {
  const { open, answer } = await setUp(t)
  const timer = globalThis.setTimeout
  const limits: number[] = []
  let isNext = false
  globalThis.setTimeout = ((run: () => void, milliseconds: number) => {
    if (milliseconds < 8000) return timer(run, milliseconds)
    limits.push(milliseconds)
    const limited = timer(run, isNext ? 20 : milliseconds).unref()
    isNext = false
    return Number(limited)
  }) as never
  const alive = setInterval(() => undefined, 1000)
  t.teardown(() => clearInterval(alive))
  const session = open()
  t.match(await session.logIn(alice), { ok: true })
  t.equal(await session.refresh(), true)
  t.strictSame(limits, [30_000, 8000, 30_000])

  const never = held()
  answer('/login/refresh', never.answer)
  isNext = true
  t.equal(await session.refresh(), true)
  answer('/login', never.answer)
  isNext = true
  const login = session.logIn(bob)
  const logout = session.logOut()
  t.match(await login, { ok: false, status: 0, error: away })
  t.match(await logout, { ok: true }, 'it does not wait for ever')
})

t.test('storage that fails logs no user in and is asked again', async (t) => {
  const { state, open, log, tokens } = await setUp(t)
  const failing = { get: true, set: 0 }
  const session = open({
    tokens: {
      get: () => {
        if (failing.get) throw new Error('the keychain is locked')
        return tokens.get()
      },
      set: async (token) => {
        failing.set -= 1
        if (failing.set >= 0) throw new Error('the keychain is locked')
        await tokens.set(token)
      },
    },
  })
  await session.ready
  t.equal(session.loggedIn, false)
  t.match(await session.logOut(), { ok: false, status: 0, error: away })
  failing.set = 1
  t.match(await session.logIn(alice), { ok: false, status: 0 })
  t.equal(session.loggedIn, false)
  failing.get = false
  t.match(await session.logIn(alice), { ok: true })
  const { kept } = state
  log()

  state.ahead = 295_000
  failing.set = 1
  t.equal(await meOf(session)(), 200)
  t.strictSame(log(), ['/login/refresh 200', '/login/refresh 200', '/me 200'])
  t.strictSame(state.waits, [1])
  t.not(state.kept, kept)

  await t.test('a refresh token that stays in storage after a logout is revoked', async (t) => {
    failing.set = 1
    t.match(await session.logOut(), { ok: true, status: 204 })
    t.strictSame([session.loggedIn, await meOf(session)()], [false, 401])
  })
})

t.test('storage that could not be read at the start is read at the next request', async (t) => {
  const { open, state, log, tokens, answer } = await loggedIn(t)
  let fails = 1
  const get = (): Promise<string | null> => {
    fails -= 1
    return fails >= 0 ? Promise.reject(new Error('the keychain is locked')) : tokens.get()
  }
  const locked = async (times: number): Promise<Session> => {
    fails = times
    state.changes.length = state.waits.length = 0
    const session = open({ tokens: { ...tokens, get } })
    await session.ready
    t.equal(session.loggedIn, false)
    return session
  }
  const session = await locked(1)
  t.strictSame(await Promise.all([meOf(session)(), meOf(session)()]), [200, 200])
  t.strictSame(log(), ['/login/refresh 200', '/me 200', '/me 200'])
  t.strictSame([session.loggedIn, state.changes, state.waits], [true, ['login true'], []])

  const posting = await locked(2)
  t.match(await posting.post('email/change', { email: '' }), { ok: true })
  t.strictSame([posting.loggedIn, state.waits], [true, [1]])

  const { kept } = state
  const failing = await locked(5)
  const error = { message: away, status: 0, retryAfter: null }
  await t.rejects(meOf(failing)(), error, 'as when a refresh cannot be sent')
  t.strictSame(
    [state.kept, failing.loggedIn, state.changes, state.waits],
    [kept, false, [], [1, 1, 2]],
  )
  t.equal(await meOf(failing)(), 200)

  const asked = await locked(1)
  answer('/me', unauthorized)
  t.equal(await meOf(asked)(), 200, 'such a request is repeated, as others are')

  await t.test('another user may log in before', async (t) => {
    const session = await locked(1)
    t.match(await session.logIn(bob), { ok: true })
    log()
    t.equal(((await (await session.fetch('/me')).json()) as { name: string }).name, 'bob')
    t.strictSame(log(), ['/me 200'])
  })

  await t.test('there may be no token', async (t) => {
    state.kept = null
    const session = await locked(1)
    t.equal(await meOf(session)(), 401)
    log()
    t.equal(await meOf(session)(), 401)
    t.strictSame([log(), state.changes], [['/me 401'], []], 'it is known now')
  })
})

t.test('a response without tokens replaces none', async (t) => {
  const { session, state, answer, me } = await loggedIn(t)
  const { kept } = state
  answer('/login', status(200, {}, '{"expiresIn":300}'))
  t.match(await session.logIn(bob), {
    ok: false,
    status: 200,
    error: 'The response has no tokens.',
  })
  t.strictSame([state.kept, await me()], [kept, 200])
  answer('/login/refresh', status(200, {}, '{"expiresIn":300}'))
  await t.rejects(session.refresh(), { message: 'The response has no tokens.', status: 200 })
  t.strictSame([state.kept, await me()], [kept, 200])
})

t.test('a token that has less than 10 seconds left is refreshed before the request', async (t) => {
  const { state, me, log, answer } = await loggedIn(t)
  state.ahead = 289_000
  t.strictSame([await me(), log()], [200, ['/me 200']])
  state.ahead = 291_000
  t.strictSame(await Promise.all([me(), me(), me()]), [200, 200, 200])
  t.strictSame(log(), ['/login/refresh 200', '/me 200', '/me 200', '/me 200'])
  t.strictSame([await me(), log()], [200, ['/me 200']])
  t.ok(state.limits.includes(8000), 'within the grace')

  answer('/login/refresh', async (reach) => {
    const body = (await (await reach()).json()) as object
    return Response.json({ ...body, expiresIn: null })
  })
  state.ahead += 291_000
  await me()
  state.ahead += 1_000_000
  log()
  await me()
  t.match(log(), ['/me 401', '/login/refresh 200', '/me 200'], 'nobody knows when it expires')
})

t.test('a request that gets a 401 is repeated after one refresh, once', async (t) => {
  const { me, answer, log } = await loggedIn(t)
  const late = held(unauthorized)
  answer('/me', late.answer, unauthorized, unauthorized)
  const first = me()
  t.strictSame(await Promise.all([me(), me()]), [200, 200])
  late.release()
  t.equal(await first, 200, 'sent before the refresh')
  t.equal(log().filter((entry) => entry.startsWith('/login/refresh')).length, 1)
  answer('/me', unauthorized, unauthorized)
  t.strictSame([await me(), log()], [401, ['/me 401', '/login/refresh 200', '/me 401']])
})

t.test('a 401 causes no refresh when no user is logged in', async (t) => {
  const { open, log } = await setUp(t)
  t.equal(await meOf(open())(), 401)
  t.strictSame(log(), ['/me 401'])
})

t.test('a body that is a stream is sent once, any other one again', async (t) => {
  const { session, answer, log, state } = await loggedIn(t)
  const headers = { 'content-type': 'application/json' }
  const post = async (body: unknown, input: string | Request = '/notes'): Promise<number> => {
    answer('/notes', unauthorized)
    state.sent.length = 0
    const init = body === undefined ? {} : { method: 'POST', body: body as string, headers }
    return (await session.fetch(input, init)).status
  }
  const texts = (): unknown[] =>
    state.sent.filter(({ path }) => path === '/notes').map(({ text }) => text)
  const again = ['/notes 401', '/login/refresh 200', '/notes 200']
  t.strictSame([await post('{"a":1}'), log(), texts()], [200, again, ['{"a":1}', '{"a":1}']])
  const once = ['/notes 401', '/login/refresh 200']
  t.strictSame([await post(new Blob(['{}']).stream()), log()], [401, once], 'of the web')
  t.strictSame([await post(Readable.from([Buffer.from('{}')])), log()], [401, once], 'of Node')

  const bodies = {
    text: '{"a":1}',
    blob: new Blob(['{"a":1}'], { type: 'application/json' }),
    bytes: Buffer.from('{"a":1}'),
    stream: new Blob(['{"a":1}']).stream(),
  }
  for (const [name, body] of Object.entries(bodies)) {
    const init = { method: 'POST', body, headers, duplex: 'half' } as RequestInit
    const request = new Request(`${url}/notes`, init)
    const found = [await post(undefined, request), log(), texts()]
    t.strictSame(found, [200, again, ['{"a":1}', '{"a":1}']], `of a Request: ${name}`)
    t.equal(request.bodyUsed, true)
    await t.rejects(session.fetch(request), TypeError, 'a Request is sent once')
    t.strictSame([await post('{"b":2}', request), texts()], [200, ['{"b":2}', '{"b":2}']])
    log()
  }

  answer('/me', unauthorized)
  const own = { headers: { 'x-own': 'yes' } }
  const response = await session.fetch(new Request(`${url}/me`, own))
  t.strictSame([response.status, log()], [200, ['/me 401', '/login/refresh 200', '/me 200']])
})

t.test('a refresh before the request leaves its body alone', async (t) => {
  const { session, state, log } = await loggedIn(t)
  state.ahead = 295_000
  const request = new Request(`${url}/notes`, { method: 'POST', body: '{"a":1}' })
  request.headers.set('content-type', 'application/json')
  t.equal((await session.fetch(request)).status, 200)
  t.strictSame([log(), state.sent.at(-1)?.text], [['/login/refresh 200', '/notes 200'], '{"a":1}'])
})

t.test('headers of a request are kept', async (t) => {
  const { session, state } = await loggedIn(t)
  await session.fetch(new Request(`${url}/me`, { headers: { 'x-own': 'yes' } }))
  await session.fetch('/me', { headers: { 'x-own': 'yes' } })
  const found = state.sent.map(({ init }) => init.headers.get('x-own'))
  t.strictSame(found, ['yes', 'yes'])
})

t.test('a request is not sent again as another user', async (t) => {
  const { session, me, answer, log } = await loggedIn(t)
  const slow = held(unauthorized)
  answer('/me', slow.answer)
  const waiting = me()
  await settle()
  await session.logIn(bob)
  slow.release()
  t.equal(await waiting, 401, 'the 401 came after the login')

  const slower = held()
  answer('/me', unauthorized)
  answer('/login/refresh', slower.answer)
  const another = me()
  await settle()
  await session.logIn(alice)
  slower.release()
  t.equal(await another, 401, 'the refresh ended after the login')
  t.equal(await me(), 200)
  const found = log().filter((entry) => entry.startsWith('/me'))
  t.strictSame(found, ['/me 401', '/me 401', '/me 200'])
})

t.test('a request that waits for a refresh is not sent as another user', async (t) => {
  const { session, state, answer, log } = await loggedIn(t)
  const slow = held()
  answer('/login/refresh', slow.answer)
  state.ahead = 295_000
  const waiting = session.fetch('/notes', { method: 'POST', body: '{}' })
  const rejected = t.rejects(waiting, { message: 'The user changed.', status: 401 })
  await settle()
  await session.logIn(bob)
  slow.release()
  await rejected
  t.notMatch(log().join(), '/notes')
  t.equal(((await (await session.fetch('/me')).json()) as { name: string }).name, 'bob')
})

t.test('a refresh that fails is tried again, and logs no user out', async (t) => {
  const { session, state, me, answer, refreshes } = await loggedIn(t)
  const waits = (): number[] => state.waits.splice(0)
  answer('/me', unauthorized)
  answer('/login/refresh', status(503, { 'retry-after': '3' }), busy, status(502), busy)
  await t.rejects(me(), { message: /./, status: 503, retryAfter: null })
  t.strictSame([waits(), refreshes()], [[3, 1, 2], 4])

  const failing = (seconds: string) =>
    [1, 2, 3, 4].map(() => status(500, { 'retry-after': seconds }))
  answer('/login/refresh', ...failing('10'))
  await t.rejects(session.refresh(), { message: /500/, status: 500, retryAfter: 10 })
  t.strictSame([waits(), refreshes()], [[10, 10, 10], 8])
  for (const seconds of ['11', '60', '1e9']) {
    const sent = refreshes()
    answer('/login/refresh', ...failing(seconds))
    await t.rejects(session.refresh(), { message: /500/, status: 500, retryAfter: Number(seconds) })
    t.strictSame([waits(), refreshes() - sent], [[], 1], `${seconds} s are too long to wait for`)
  }

  const portal = status(200, {}, '<p>Welcome to our hotel</p>')
  for (const each of [offline, portal]) {
    answer('/login/refresh', each, each, each, each)
    await t.rejects(session.refresh(), { message: away, status: 0, retryAfter: null })
    t.strictSame(waits(), [1, 1, 2])
  }
  const before = refreshes()
  for (const code of [404, 429]) {
    answer('/login/refresh', status(code, { 'retry-after': '900' }))
    await t.rejects(session.refresh(), { message: /./, status: code, retryAfter: 900 })
  }
  t.strictSame([waits(), refreshes() - before], [[], 2])

  answer('/me', unauthorized)
  answer('/login/refresh', busy)
  t.equal(await me(), 200, 'the server is back')
  answer('/me', offline)
  await t.rejects(me(), TypeError)
  t.strictSame([session.loggedIn, state.changes], [true, []])
})

t.test('a response that was lost costs no session', async (t) => {
  const { app, session, state, answer } = await loggedIn(t)
  const first = state.kept
  answer('/login/refresh', lost)
  t.equal(await session.refresh(), true)
  t.strictSame([state.waits, state.changes], [[1], []])
  t.not(state.kept, first)
  t.equal((await app.authn.sessions.list('alice')).length, 1)
  t.equal(await session.refresh(), true, 'with the successor')
})

t.test('only a 401 of the refresh, or a 400, ends the session', async (t) => {
  const { app, me, state, session, log, answer } = await loggedIn(t)
  answer('/me', status(403), status(500))
  t.strictSame([await me(), await me(), session.loggedIn], [403, 500, true])
  await app.authn.sessions.revoke({ sub: 'alice' })
  t.strictSame(await Promise.all([me(), me()]), [401, 401])
  t.strictSame([session.loggedIn, state.kept, state.changes], [false, null, ['expired false']])
  log()
  t.strictSame([await me(), log()], [401, ['/me 401']], 'as nobody')

  await session.logIn(alice)
  state.kept = null
  t.equal(await session.refresh(), false, 'without a refresh token')
  t.strictSame(state.changes.splice(1), ['login true', 'expired false'])
})

t.test('a revoked session is found out before the request', async (t) => {
  const { app, me, state, log } = await loggedIn(t)
  await app.authn.sessions.revoke({ sub: 'alice' })
  state.ahead = 295_000
  t.strictSame([await me(), log()], [401, ['/login/refresh 401', '/me 401']])
  t.equal(state.sent.at(-1)?.init.headers.get('authorization'), null)
})

t.test('a logout that the server has not confirmed has not happened', async (t) => {
  const { app, session, me, answer, state } = await loggedIn(t)
  for (const [failing, code] of [
    [offline, 0],
    [status(503, { 'retry-after': '5' }), 503],
  ] as const) {
    answer('/logout', failing)
    t.match(await session.logOut(), { ok: false, status: code, error: String })
  }
  t.strictSame([await me(), session.loggedIn, state.changes], [200, true, []])
  const slow = held()
  answer('/me', unauthorized)
  answer('/login/refresh', slow.answer)
  const waiting = me()
  await settle()
  t.match(await session.logOut({ everywhere: true }), { ok: true, status: 204, error: null })
  slow.release()
  t.equal(await waiting, 401)
  t.strictSame([session.loggedIn, state.kept, state.changes], [false, null, ['logout false']])
  t.strictSame(await app.authn.sessions.list('alice'), [])
  t.equal(await me(), 401)
})

t.test('a logout works after the access token has expired', async (t) => {
  const { app, session, state } = await loggedIn(t)
  state.ahead = 400_000
  t.match(await session.logOut(), { ok: true, status: 204 })
  t.strictSame(await app.authn.sessions.list('alice'), [])
})

t.test('a logout of a session that is revoked succeeds, but not everywhere', async (t) => {
  const { app, session, state } = await loggedIn(t)
  for (const everywhere of [false, true]) {
    await session.logIn(alice)
    await app.authn.sessions.revoke({ sub: 'alice' })
    const { ok, status, error } = await session.logOut({ everywhere })
    t.strictSame([ok, status, error === null], [!everywhere, 401, !everywhere])
    t.strictSame([session.loggedIn, state.kept], [false, null])
  }
})

/** A keychain whose writes take until the test says so, and what was written, in the order of the results. */
async function slowKeychain(t: Test) {
  const all = await setUp(t)
  const slow: ReturnType<typeof held>[] = []
  const writes: (string | null)[] = []
  let atOnce = 0
  const session = all.open({
    tokens: {
      get: all.tokens.get,
      set: async (token) => {
        t.equal((atOnce += 1), 1, 'one write at a time')
        const wait = slow.shift()
        try {
          await wait?.answer(async () => new Response())
          all.state.kept = token
          writes.push(token)
        } finally {
          atOnce -= 1
        }
      },
    },
  })
  await session.logIn(alice)
  return { ...all, session, slow, writes }
}

t.test('the last login wins, whatever the keychain is still writing', async (t) => {
  const changes: Record<string, (session: Session) => Promise<unknown>> = {
    refresh: (session) => session.refresh(),
    login: (session) => session.logIn(alice),
    logout: (session) => session.logOut(),
    'sign-up': (session) => session.post('sign-up/finish', { token: '', password: '' }),
    password: (session) => session.post('password/change', { password: '' }),
    deletion: (session) => session.post('account/delete', {}),
  }
  const nameOf = async (session: Session): Promise<unknown> =>
    ((await (await session.fetch('/me')).json()) as { name?: string }).name
  for (const [name, change] of Object.entries(changes)) {
    for (const isFailing of [false, true]) {
      const { session, slow, writes, state } = await slowKeychain(t)
      const fail = (): Promise<never> => Promise.reject(new Error('the keychain is locked'))
      const write = held(isFailing ? fail : undefined)
      slow.push(write)
      const first = change(session)
      while (slow.length > 0) await settle()
      const login = session.logIn(bob)
      await Promise.race([login, later(50)])
      write.release()
      await first
      t.match(await login, { ok: true }, `${name}, ${isFailing}`)
      t.equal(state.kept, writes.at(-1))
      t.equal(await nameOf(session), 'bob')
      t.equal(await session.refresh(), true)
      t.equal(await nameOf(session), 'bob', 'after a refresh')
    }
  }

  await t.test('the last login wins if a session expires meanwhile', async (t) => {
    const { app, session, slow } = await slowKeychain(t)
    await app.authn.sessions.revoke({ sub: 'alice' })
    const write = held()
    slow.push(write)
    const first = session.refresh()
    while (slow.length > 0) await settle()
    const login = session.logIn(bob)
    await Promise.race([login, later(50)])
    write.release()
    await first
    t.match(await login, { ok: true })
    t.strictSame([await session.refresh(), await nameOf(session)], [true, 'bob'])
  })

  await t.test('the last login wins if the response to an earlier one is late', async (t) => {
    const { session, answer } = await slowKeychain(t)
    const late = held()
    answer('/login', late.answer)
    const first = session.logIn(alice)
    const second = session.logIn(bob)
    await Promise.race([second, later(50)])
    late.release()
    t.match(await Promise.all([first, second]), [{ ok: true }, { ok: true }])
    t.strictSame([await session.refresh(), await nameOf(session)], [true, 'bob'])
  })
})

t.test('a logout waits for the keychain, and deletes what it has written', async (t) => {
  const { session, state, slow, log } = await slowKeychain(t)
  const write = held()
  slow.push(write)
  const refreshed = session.refresh()
  while (slow.length > 0) await settle()
  const loggedOut = session.logOut()
  await settle()
  write.release()
  t.match(await loggedOut, { ok: true, status: 204 })
  await refreshed
  t.strictSame([state.kept, session.loggedIn], [null, false])
  log()
  t.equal(await meOf(session)(), 401)
  t.equal(state.sent.at(-1)?.init.headers.get('authorization'), null)
})

t.test('fetch() rejects other origins and sends them no token', async (t) => {
  const { session, log, state } = await loggedIn(t)
  for (const input of [
    'https://evil.example/',
    '//evil.example',
    'http://api.shop.example/me',
    new URL('https://api.shop.example:8443/me'),
    new Request('https://api.shop.example.evil.example/'),
    'https://api.shop.example@evil.example/me',
  ]) {
    await t.rejects(session.fetch(input), TypeError)
  }
  t.strictSame(log(), [])
  const foreign = Object.assign(new URL('https://evil.example/'), { url: '/me' })
  const inherited = { url: `${url}/me`, toString: () => 'https://evil.example/' }
  for (const input of [foreign, inherited, Object.create(inherited) as object]) {
    await t.rejects(session.fetch(input as URL), TypeError)
  }
  for (const prototype of [Object.prototype, String.prototype, URL.prototype]) {
    const value = `${url}/me`
    Object.defineProperty(prototype, 'url', { value, configurable: true, writable: true })
    try {
      await t.rejects(session.fetch('https://evil.example/'), TypeError)
      await t.rejects(session.fetch(new URL('https://evil.example/')), TypeError)
      await t.rejects(session.fetch(new Request('https://evil.example/')), TypeError)
      await session.fetch('/nothing')
    } finally {
      Reflect.deleteProperty(prototype, 'url')
    }
  }
  t.strictSame(new Set(state.sent.map(({ path }) => path)), new Set(['/nothing']))
  log()
  for (const input of [`${url}/me`, new URL('/me', url), 'me', new Request(`${url}/me`)]) {
    t.equal((await session.fetch(input)).status, 200)
  }
})

t.test('logIn, post and logOut resolve to what went wrong', async (t) => {
  const { session, answer, state } = await loggedIn(t)
  const wrong = await session.logIn({ ...alice, password: 'wrong' })
  t.match(wrong, { ok: false, status: 401, error: 'Invalid credentials.' })
  t.strictSame(wrong.body, { error: 'Invalid credentials.' })
  const html = '<h1>Bad Gateway</h1>'
  const rows: [Parameters<typeof answer>[1], object][] = [
    [offline, { status: 0, error: away, body: null, retryAfter: null }],
    [status(200, {}, html), { status: 0, error: away }],
    [status(502, {}, html), { status: 502, error: 'The server responded with 502.', body: null }],
    [status(429, { 'retry-after': '60' }, '{"error":"Wait."}'), { error: 'Wait.', retryAfter: 60 }],
    [
      status(400, {}, '{"statusCode":400,"error":"Bad Request","message":"no name"}'),
      { error: 'no name', body: { statusCode: 400 } },
    ],
    [status(400, {}, '{"error":{"code":1}}'), { error: 'The server responded with 400.' }],
    [status(400, {}, 'null'), { error: 'The server responded with 400.', body: null }],
  ]
  for (const [given, expected] of rows) {
    answer('/login', given)
    answer('/logout', given)
    answer('/sign-up', given)
    for (const act of [
      () => session.logIn(alice),
      () => session.logOut(),
      () => session.post('sign-up', { email: 'alice@shop.example' }),
    ]) {
      t.match(await act(), { ok: false, ...expected })
    }
  }
  t.strictSame([session.loggedIn, state.changes], [true, []])
  t.ok(state.limits.includes(30_000))
})

t.test('post() finds the account routes, and logs in or out as they do', async (t) => {
  const { app, open, state, answer, log } = await setUp(t)
  const session = open()
  const finish = { token: 'x', password: 'a long password' }
  t.match(await session.post('sign-up', { email: 'a@b.c' }), { ok: true, status: 202, body: {} })
  t.equal(session.loggedIn, false)
  t.match(await session.post('sign-up/finish', finish), { ok: true, body: { expiresIn: 300 } })
  t.equal(session.loggedIn, true)
  t.match(await session.post('password/forgot', { email: 'a@b.c' }), { ok: true, status: 202 })
  t.match(await session.post('password/reset', finish), { ok: true, status: 204, body: null })
  const first = state.kept
  const wrong = { currentPassword: 'wrong', password: 'another password' }
  t.match(await session.post('password/change', wrong), { status: 403, error: 'Wrong password.' })
  t.equal(state.kept, first)
  const right = { ...wrong, currentPassword: 'right' }
  answer('/password/change', unauthorized)
  t.match(await session.post('password/change', right), { ok: true }, 'after a refresh')
  t.not(state.kept, first)
  t.equal(await meOf(session)(), 200)
  const email = { email: 'c@b.c', currentPassword: 'right' }
  t.match(await session.post('email/change', email), { ok: true, status: 202 })
  t.match(await session.post('email/confirm', { token: 'x' }), { ok: true, status: 204 })
  answer('/email/confirm', unauthorized)
  answer('/login/refresh', ...[1, 2, 3, 4].map(() => status(503, { 'retry-after': '2' })))
  const confirmed = await session.post('email/confirm', { token: 'x' })
  t.match(confirmed, { ok: false, status: 503, retryAfter: 2, error: String })
  t.equal(session.loggedIn, true)
  t.match(await session.post('account/delete', {}), { ok: true, status: 204 })
  t.strictSame([session.loggedIn, state.kept], [false, null])
  t.strictSame(state.changes, ['login true', 'login true', 'logout false'])
  t.strictSame(await app.authn.sessions.list('alice'), [])

  log()
  for (const login of ['/auth/login', 'auth/login/']) {
    const other = open({ login })
    await other.logIn({})
    await other.post('password/forgot', { email: 'a@b.c' })
    await other.logOut()
    await other.refresh().catch(() => undefined)
    t.match(log(), [
      login === '/auth/login' ? '/auth/login 404' : '/auth/login/ 404',
      '/auth/password/forgot 404',
      '/auth/logout 404',
      '/auth/login/refresh 404',
    ])
  }
})

t.test('link() asks for the address at the provider, as the user', async (t) => {
  const { session, answer, state, log } = await loggedIn(t)
  const body = { location: 'https://id.example/authorize?state=a' }
  const path = '/login/corp/link'
  answer(path, unauthorized, status(200, {}, JSON.stringify(body)))
  log()
  t.match(await session.link('corp', { returnTo: '/settings' }), { ok: true, status: 200, body })
  t.match(log(), [`${path} 401`, '/login/refresh 200', `${path} 200`])
  const sent = state.sent.filter((each) => each.path === path)
  t.match(sent, [{ body: { returnTo: '/settings' } }, { body: { returnTo: '/settings' } }])
  t.ok(sent.every(({ init }) => init.headers.has('authorization')))
  answer(path, status(403, {}, '{"error":"Please log in again to do this."}'))
  const again = { ok: false, status: 403, error: 'Please log in again to do this.' }
  t.match(await session.link('corp'), again)
  t.equal(state.sent.at(-1)?.text, '{}')
  t.equal(session.loggedIn, true)
})

t.test('refresh finds a login that the client has not seen', async (t) => {
  const { state, open, app } = await setUp(t)
  const session = open()
  t.equal(await session.refresh(), false)
  t.strictSame(state.changes, [], 'it was nobody before')
  const reply = await app.inject({ method: 'POST', url: '/login', payload: alice })
  state.kept = reply.json<{ refreshToken: string }>().refreshToken
  t.equal(await session.refresh(), true)
  t.strictSame([session.loggedIn, state.changes], [true, ['login true']])
})

t.test('a closed client tells nothing, and an error of onChange breaks nothing', async (t) => {
  const { open, state } = await setUp(t)
  const errors: unknown[] = []
  const listener = (error: unknown): void => void errors.push(error)
  const before = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException').on('uncaughtException', listener)
  t.teardown(() => {
    process.off('uncaughtException', listener)
    for (const each of before) process.on('uncaughtException', each)
  })
  const session = open({
    onChange: () => {
      throw new Error('of the app')
    },
  })
  t.match(await session.logIn(alice), { ok: true })
  await settle()
  t.match(errors, [{ message: 'of the app' }])
  const other = open()
  await other.ready
  other.close()
  t.match(await other.logOut(), { ok: true })
  t.strictSame(state.changes, [])
})
