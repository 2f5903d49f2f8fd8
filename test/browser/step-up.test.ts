// Second factors and step-up, as pages and apps use them.
import t, { type Test } from 'tap'
import { alice, bob, shopOptions, transferRoute } from '../helpers/browser-factors.js'
import { held, offline, setUp, settle, status, url } from '../helpers/browser-session.js'
import { codeNow, wrongCode } from '../helpers/second-factor.js'
import type { Session, StepUp } from '../../lib/browser/index.js'

interface Body {
  readonly secret: string
  readonly token: string
  readonly recoveryCodes: string[]
  readonly secondFactor: { readonly token: string }
}
const bodyOf = (result: { body: unknown }): Body => result.body as Body

/** Alice, logged in, with a second factor. */
async function withFactor(t: Test) {
  const all = await setUp(t, shopOptions('https://shop.example').options, transferRoute)
  const asked: StepUp[] = []
  const confirm = { now: async (_session: Session): Promise<unknown> => false }
  const session: Session = all.open({
    onStepUp(needs) {
      asked.push(needs)
      return confirm.now(session)
    },
  })
  t.match(await session.logIn(alice), { ok: true, status: 200 })
  const begun = bodyOf(await session.post('second-factor/setup'))
  all.state.changes.length = 0
  const code = codeNow(begun.secret)
  const enabled = await session.post('second-factor/enable', { token: begun.token, code })
  t.match(enabled, { ok: true, status: 200 })
  all.log()
  const { recoveryCodes } = bodyOf(enabled)
  const next = (): { code: string } => ({ code: String(recoveryCodes.pop()) })
  return { ...all, asked, confirm, session, next, secret: begun.secret }
}

/** The same, a quarter of an hour later: whoever has logged in has to confirm that it is them. */
async function later(t: Test) {
  const all = await withFactor(t)
  all.state.ahead = 900_000
  const transfer = async (body = '{"to":"bob"}', send = all.session.fetch): Promise<number> => {
    const headers = { 'content-type': 'application/json' }
    return (await send('/transfers', { method: 'POST', headers, body })).status
  }
  const confirmNow = async (session: Session): Promise<string> => {
    t.match(await session.confirm(all.next()), { ok: true, status: 200, error: null })
    return 'what it returns does not matter'
  }
  return { ...all, transfer, confirmNow }
}

t.test('a login with a code has two steps, and logs in at the second one', async (t) => {
  const { session, state, log, next, secret } = await withFactor(t)
  t.equal(session.url, `${url}/login`)
  t.strictSame(state.changes, [], 'enable keeps the user')
  t.match(await session.get('second-factor'), { ok: true, body: { enabled: true } })
  await session.logOut()
  state.changes.length = 0
  log()
  const half = await session.logIn(alice)
  t.match(half, { ok: true, status: 202, error: null })
  t.strictSame([session.loggedIn, state.kept, state.changes], [false, null, []])
  const { token } = bodyOf(half).secondFactor
  const wrong = await session.post('login/second-factor', { token, code: wrongCode(secret) })
  t.match(wrong, { ok: false, status: 403 })
  t.match(await session.post('login/second-factor', { token: 'x', ...next() }), { status: 401 })
  t.equal(session.loggedIn, false)
  t.match(await session.post('login/second-factor', { token, ...next() }), { status: 200 })
  t.strictSame([session.loggedIn, state.changes], [true, ['login true']])
  t.equal((await session.fetch('/me')).status, 200)
  const second = '/login/second-factor'
  t.strictSame(log(), ['/login 202', `${second} 403`, `${second} 401`, `${second} 200`, '/me 200'])
})

t.test('the second step of a login refreshes nothing, and changes the user', async (t) => {
  const { session, state, log, next } = await later(t)
  const { token } = bodyOf(await session.logIn(alice)).secondFactor
  t.match(await session.post('login/second-factor', { token: 'x', ...next() }), { status: 401 })
  t.ok(session.loggedIn, 'as who was logged in before')
  t.match(await session.post('login/second-factor', { token, ...next() }), { ok: true })
  t.strictSame(state.changes, ['login true'])
  t.strictSame(log(), ['/login 202', '/login/second-factor 401', '/login/second-factor 200'])
})

t.test('one confirmation is for all requests that wait for it', async (t) => {
  const { asked, confirm, confirmNow, transfer, log, state, answer, session } = await later(t)
  confirm.now = confirmNow
  const late = held()
  answer('/transfers', (reach) => reach().then((response) => late.answer(async () => response)))
  const first = transfer()
  t.strictSame(await Promise.all([transfer(), transfer(), transfer()]), [200, 200, 200])
  late.release()
  t.equal(await first, 200, 'sent before, rejected after')
  t.strictSame(asked, [{ mfa: true, maxAge: 600, methods: ['code'] }])
  t.strictSame(state.changes, [])
  const counts = new Map<string, number>()
  for (const entry of log()) counts.set(entry, (counts.get(entry) ?? 0) + 1)
  t.strictSame(Object.fromEntries(counts), {
    '/login/refresh 200': 1,
    '/transfers 401': 4,
    '/login/confirm 200': 2,
    '/transfers 200': 4,
  })
  t.equal(await transfer(), 200)
  state.ahead += 900_000
  const body = new Request(`${url}/transfers`, { method: 'POST', body: '{"a":1}' })
  body.headers.set('content-type', 'application/json')
  t.strictSame(await (await session.fetch(body)).json(), { sent: { a: 1 } })
  t.equal(asked.length, 2, 'asked again when it is stale again')
})

t.test('a token that was revoked is refreshed before the user is asked', async (t) => {
  const { asked, confirm, confirmNow, transfer, log, answer } = await later(t)
  await transfer()
  log()
  confirm.now = confirmNow
  answer('/transfers', async () => new Response('{}', { status: 401 }))
  t.equal(await transfer(), 200)
  const paths = ['/transfers 401', '/login/refresh 200', '/transfers 401']
  const confirmed = ['/login/confirm 200', '/login/confirm 200']
  t.strictSame(log(), [...paths, ...confirmed, '/transfers 200'])
  t.equal(asked.length, 2)
})

t.test('a request asks once and refreshes once, whatever the server responds', async (t) => {
  const { asked, confirm, confirmNow, transfer, log, answer } = await later(t)
  await transfer()
  asked.length = 0
  log()
  confirm.now = confirmNow
  const headers = { 'www-authenticate': 'Bearer error="insufficient_user_authentication"' }
  const more = status(401, headers)
  answer('/transfers', more, status(401), more, status(401))
  t.equal(await transfer(), 401)
  t.strictSame(asked, [{ mfa: false, maxAge: null, methods: ['code'] }])
  const paths = ['/transfers 401', '/login/confirm 200', '/login/confirm 200', '/transfers 401']
  t.strictSame(log(), [...paths, '/login/refresh 200', '/transfers 401'])
})

t.test('without a confirmation the 401 is returned, and nothing is refreshed', async (t) => {
  const { asked, confirm, confirmNow, transfer, log, session, open, tokens, next } = await later(t)
  const refreshed = ['/login/refresh 200', '/transfers 401']
  const left = ['/transfers 401', '/login/confirm 200']
  t.equal(await transfer(), 401)
  t.strictSame(log(), [...refreshed, '/login/confirm 200'])
  confirm.now = async () => true
  t.equal(await transfer(), 401, 'the page says so, but the server was not told')
  t.strictSame(log(), left)
  confirm.now = async () => (await session.confirm({ code: '000000' })).status
  t.equal(await transfer(), 401)
  t.strictSame(log(), [...left, '/login/confirm 403'])
  confirm.now = () => Promise.reject(new Error('the dialog'))
  await t.rejects(session.fetch('/transfers', { method: 'POST' }), { message: 'the dialog' })
  t.match(await session.post('second-factor/recovery-codes'), { ok: false, status: 401 })
  confirm.now = async () => {
    const { token } = bodyOf(await session.logIn(alice)).secondFactor
    return (await session.post('login/second-factor', { token, ...next() })).ok
  }
  log()
  t.equal(await transfer(), 401, 'another login may be that of another user')
  t.strictSame(log(), [...left, '/login 202', '/login/second-factor 200'])
  t.equal(asked.length, 6)
  t.equal(await transfer(), 200)

  t.match(await session.logIn(bob), { status: 200 })
  asked.length = 0
  confirm.now = () => session.confirm({ password: bob.password })
  t.equal(await transfer(), 401, 'it is less than what was asked for')
  t.strictSame(asked, [{ mfa: true, maxAge: 600, methods: [] }])
  confirm.now = confirmNow
  const alone = open({ tokens })
  await alone.ready
  log()
  t.equal(await transfer('{}', alone.fetch), 401)
  t.strictSame(log(), refreshed, 'there is no onStepUp')
})

t.test('a confirmation of another login repeats nothing', async (t) => {
  const { confirm, transfer, log, session, state } = await later(t)
  confirm.now = async () => {
    await session.logIn(bob)
    return session.confirm({ password: bob.password })
  }
  const removed = session.post('second-factor/disable')
  t.equal(await transfer(), 401)
  t.match(await removed, { ok: false, status: 401 })
  t.strictSame(state.changes, ['login true'])
  t.notOk(log().some((entry) => entry === '/transfers 403' || entry.endsWith('disable 204')))
})

t.test('what is sent while the callback runs gets its 401, and no second call', async (t) => {
  const { asked, confirm, confirmNow, transfer, session, next } = await later(t)
  const during: unknown[] = []
  confirm.now = async () => {
    during.push(await transfer(), (await session.post('second-factor/setup')).status)
    during.push((await session.post('second-factor/enable', { token: 'x', ...next() })).status)
    return confirmNow(session)
  }
  t.equal(await transfer(), 200)
  t.strictSame([during, asked.length], [[401, 401, 401], 1])
})

t.test('one call asks for all that is needed', async (t) => {
  const { asked, confirm, transfer, session, confirmNow, answer } = await later(t)
  confirm.now = confirmNow
  const fresh = 'Bearer error="insufficient_user_authentication", max_age="600"'
  answer('/notes', status(401, { 'www-authenticate': fresh }))
  const sent = session.fetch('/notes', { method: 'POST' })
  const all = await Promise.all([sent, transfer(), session.post('second-factor/setup')])
  t.strictSame([all[0].status, all[1], all[2].status], [200, 200, 200])
  t.strictSame(asked, [{ mfa: true, maxAge: 600, methods: ['code'] }])
})

t.test('methods are empty where the server cannot be asked', async (t) => {
  const { asked, transfer, answer } = await later(t)
  for (const each of [offline, status(500), status(404, {}, 'null'), status(200, {}, '[]')]) {
    answer('/login/confirm', each)
    t.equal(await transfer(), 401)
    t.strictSame(asked.pop(), { mfa: true, maxAge: 600, methods: [] })
  }
})

t.test('a user without a second factor confirms by the password', async (t) => {
  const { app, state, open, log, tokens } = await setUp(
    t,
    { ...shopOptions('https://shop.example').options, cookies: { apps: true } },
    transferRoute,
  )
  for (const place of [tokens, undefined]) {
    const asked: StepUp[] = []
    const session: Session = open({
      tokens: place,
      async onStepUp(needs) {
        asked.push(needs)
        for (const password of ['wrong', bob.password]) await session.confirm({ password })
      },
    })
    t.match(await session.logIn(bob), { ok: true })
    state.ahead += 900_000
    state.changes.length = 0
    log()
    t.match(await session.post('second-factor/setup'), { ok: true, status: 200 })
    t.strictSame(asked, [{ mfa: false, maxAge: 600, methods: ['password'] }])
    t.strictSame(state.changes, [])
    t.match(await session.get('login/confirm'), {
      body: { mfa: false, methods: { fresh: ['password'], mfa: [] } },
    })
    t.match(await session.confirm({} as never), { ok: false, status: 400 })
    t.match(await session.confirm(undefined as never), { ok: false, status: 400 }, 'no GET')
    await session.logOut()
    t.strictSame(await app.authn.sessions.list(2), [], 'one session')
  }
})

t.test('the fifth wrong one logs out', async (t) => {
  const { confirm, transfer, session, state } = await later(t)
  confirm.now = async () => {
    for (let tries = 0; tries < 5; tries += 1) await session.confirm({ code: '000000' })
  }
  t.equal(await transfer(), 401)
  t.strictSame([session.loggedIn, state.kept, state.changes], [false, null, ['expired false']])
})

t.test('what has its turn leaves it to ask, and is sent again', async (t) => {
  const { asked, confirm, confirmNow, session, state, log } = await later(t)
  confirm.now = confirmNow
  const given = { token: 'x', code: '000000' }
  t.match(await session.post('second-factor/enable', given), { ok: false, status: 401 })
  t.equal(asked.length, 1)
  t.strictSame(log(), [
    '/login/refresh 200',
    '/second-factor/enable 401',
    '/login/confirm 200',
    '/login/confirm 200',
    '/second-factor/enable 401',
    '/login/refresh 200',
    '/second-factor/enable 401',
  ])
  t.strictSame(state.changes, [])
  t.match(await session.confirm({ password: alice.password }), { ok: false, status: 401 })
  t.equal(asked.length, 1, 'a confirmation that is too weak asks for no other one')
})

t.test('a post without a body is a POST', async (t) => {
  const { session, state } = await withFactor(t)
  state.sent.length = 0
  t.match(await session.post('password/set'), { status: 404 })
  t.match(await session.logIn(), { status: 400 })
  t.match(await session.get('second-factor'), { status: 200 })
  const methods = state.sent.map(({ init, text }) => [init.method, text])
  t.strictSame(methods, [
    ['POST', '{}'],
    ['POST', '{}'],
    ['GET', undefined],
  ])
})

t.test('a stream is not sent again, but the user is asked', async (t) => {
  const { asked, confirm, confirmNow, session } = await later(t)
  confirm.now = confirmNow
  const send = (): Promise<Response> =>
    session.fetch('/transfers', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: new Blob(['{"a":1}']).stream(),
    })
  t.equal((await send()).status, 401)
  t.equal((await send()).status, 200)
  t.equal(asked.length, 1)
})

t.test('posts wait for the user, and nothing else does', async (t) => {
  const { confirm, confirmNow, session, state } = await later(t)
  const { answer, release } = held(async () => new Response())
  confirm.now = async () => {
    await answer(async () => new Response())
    return confirmNow(session)
  }
  state.limits.length = 0
  const renewed = session.post('second-factor/recovery-codes')
  await settle()
  t.match(await session.post('password/forgot', { email: '' }), { ok: true }, 'nothing else waits')
  release()
  const { ok, body } = await renewed
  t.strictSame([ok, (body as Body).recoveryCodes.length], [true, 10])
  const posts = state.limits.filter((limit) => limit === 30_000)
  t.equal(posts.length, 6, 'a limit for each request, so that none runs while the user types')
})
