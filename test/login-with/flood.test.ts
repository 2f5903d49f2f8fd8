import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { tls } from '../helpers/cookies.js'
import { listen, type AnyResponse } from '../helpers/flows.js'
import { until } from '../helpers/load.js'
import { jarOf, loginApp, type LoginApp } from '../helpers/login-app.js'
import { json, startProvider, type TestProvider } from '../helpers/provider.js'

type Answer = Parameters<TestProvider['answers']['set']>[1]

/** Holds what is asked of the token endpoint back. @returns the held answers, and the most that were held at once */
function held(provider: TestProvider, answer: Answer) {
  const waiting: (() => void)[] = []
  const seen = { peak: 0, count: 0 }
  provider.answers.set('/token', (response, asked) => {
    seen.count += 1
    seen.peak = Math.max(
      seen.peak,
      waiting.push(() => answer(response, asked)),
    )
  })
  const release = (): void => {
    for (const each of waiting.splice(0)) each()
  }
  return { waiting, seen, release }
}

/** Callbacks that arrive at once from an address. */
async function flood({ app, begin }: LoginApp, count: number, address = '192.0.2.1') {
  const begun = await Promise.all(Array.from({ length: count }, () => begin()))
  return begun.map(({ callback, cookie }) => {
    const headers = { ...tls, cookie, 'x-forwarded-for': address }
    return app.inject({ url: callback.pathname + callback.search, headers })
  })
}

/** Releases answers until all callbacks are done. @returns how often each status came */
async function countsOf(sent: Promise<AnyResponse>[], release: () => void) {
  const timer = setInterval(release, 5)
  const statuses = (await Promise.all(sent)).map(({ statusCode }) => statusCode)
  clearInterval(timer)
  return (status: number): number => statuses.filter((each) => each === status).length
}

const rejections: Readonly<Record<string, Answer>> = {
  invalid_grant: json({ error: 'invalid_grant' }, 400),
  invalid_request: json({ error: 'invalid_request' }, 400),
  'an error with status 200': json({ error: 'invalid_code' }),
  // As oauth2orize answers.
  'invalid_grant with 403': json({ error: 'invalid_grant' }, 403),
}

/** No client can help them. */
const outages: Readonly<Record<string, Answer>> = {
  invalid_client: json({ error: 'invalid_client' }, 401),
  '429': json({ error: 'slow_down' }, 429),
  '500': json({}, 500),
  'a page': (response) => void response.setHeader('content-type', 'text/html').end('<p>'),
  'a redirect': (response) => void response.writeHead(302, { location: '/other' }).end(),
  'too much': json({ error: 'x'.repeat(300_000) }, 400),
  'no response': (response) => void response.destroy(),
}

t.test('made-up codes of one address are exchanged 16 at a time, and counted', async (t) => {
  for (const [what, answer] of Object.entries(rejections)) {
    const provider = await startProvider(t)
    const login = await loginApp(t, provider, {}, { throttle: { perAddress: 20 } })
    const { seen, release } = held(provider, answer)
    let throttled = 0
    for (const wave of [1, 2, 3]) {
      const countOf = await countsOf(await flood(login, 30), release)
      t.equal(countOf(303), 0, `${what}, wave ${wave}`)
      throttled = countOf(429)
    }
    t.ok(seen.peak <= 16, `${what}: ${seen.peak} at once`)
    t.ok(seen.count >= 20 && seen.count < 20 + 16, `${what}: ${seen.count} were exchanged`)
    t.equal(throttled, 30, what)
    provider.answers.clear()
    const [other] = await flood(login, 1, '192.0.2.2')
    t.equal((await other)?.statusCode, 303, `${what}: another address logs in`)
  }
})

t.test('an outage of a provider, or a wrong secret, keeps no client out', async (t) => {
  for (const userinfo of [false, true])
    for (const [what, answer] of Object.entries(outages)) {
      const provider = await startProvider(t)
      const login = await loginApp(t, provider, { userinfo }, { throttle: { perAddress: 2 } })
      const session = jarOf(await login.logIn())
      provider.answers.set(userinfo ? '/userinfo' : '/token', answer)
      for (let count = 0; count < 4; count += 1)
        t.equal((await login.logIn()).statusCode, 503, what)
      provider.answers.clear()
      const headers = { ...tls, cookie: session }
      const refreshed = await login.app.inject({ method: 'POST', url: '/login/refresh', headers })
      t.equal(refreshed.statusCode, 200, `${what}: sessions go on`)
      t.equal((await login.logIn()).statusCode, 303, what)
    }
})

t.test('callbacks that fail because of the provider have a limit of their own', async (t) => {
  const provider = await startProvider(t)
  const login = await loginApp(t, provider, {}, { throttle: {} })
  const session = jarOf(await login.logIn())
  const { seen, release } = held(provider, json({ error: 'redirect_uri_mismatch' }, 400))
  for (let wave = 1; wave <= 3; wave += 1) await countsOf(await flood(login, 30), release)
  t.ok(seen.count >= 30 && seen.count < 30 + 16, `${seen.count} were exchanged`)
  provider.answers.clear()
  const [next] = await flood(login, 1)
  t.match(await next, { statusCode: 429 })
  const [other] = await flood(login, 1, '192.0.2.2')
  t.equal((await other)?.statusCode, 303)
  const headers = { ...tls, cookie: session, 'x-forwarded-for': '192.0.2.1' }
  const refreshed = await login.app.inject({ method: 'POST', url: '/login/refresh', headers })
  t.equal(refreshed.statusCode, 200, 'which ends no session')
})

t.test('valid codes of one address that arrive at once wait for their turn', async (t) => {
  const provider = await startProvider(t)
  const login = await loginApp(t, provider, {}, { sessions: { maxPerUser: 1000 } })
  const countOf = await countsOf(await flood(login, 50), () => undefined)
  t.equal(countOf(303), 50)
})

t.test('128 codes are exchanged at once for all addresses together', async (t) => {
  const provider = await startProvider(t)
  const login = await loginApp(t, provider, {}, { throttle: false })
  const { waiting, release } = held(provider, json({ error: 'invalid_grant' }, 400))
  const sent: Promise<AnyResponse>[] = []
  for (let last = 1; last <= 8; last += 1) sent.push(...(await flood(login, 16, `192.0.2.${last}`)))
  await until(() => waiting.length === 128, 'they wait')
  sent.push(...(await flood(login, 1, '192.0.2.9')))
  await setTimeout(50)
  t.equal(waiting.length, 128)
  const countOf = await countsOf(sent, release)
  t.equal(countOf(401), 129, 'another address waits for its turn')
  provider.answers.clear()
  const [next] = await flood(login, 1, '192.0.2.9')
  t.equal((await next)?.statusCode, 303)
})

t.test('a provider that stops half way keeps none in the line waiting', async (t) => {
  const provider = await startProvider(t)
  const login = await loginApp(t, provider, {}, { throttle: false })
  const { waiting, seen, release } = held(provider, (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write('{')
    response.socket?.destroySoon()
  })
  const sent = await flood(login, 40)
  await until(() => waiting.length === 16, 'they wait')
  const countOf = await countsOf(sent, release)
  t.equal(countOf(503), 40)
  t.equal(seen.count, 16)
})

t.test('a code is sent once, also where the provider closes the connection', async (t) => {
  const provider = await startProvider(t)
  const { logIn } = await loginApp(t, provider)
  let count = 0
  provider.answers.set('/token', (response) => {
    count += 1
    response.destroy()
  })
  t.equal((await logIn()).statusCode, 503)
  t.equal(count, 1)
})

t.test('no code is exchanged for a browser that has left', async (t) => {
  const provider = await startProvider(t)
  const { app, begin } = await loginApp(t, provider, {}, { throttle: false })
  const { waiting, seen, release } = held(provider, json({ error: 'invalid_grant' }, 400))
  const port = await listen(app)
  const begun = await Promise.all(Array.from({ length: 60 }, () => begin()))
  const requests = begun.map(
    ({ callback: { pathname, search }, cookie }) =>
      `GET ${pathname}${search} HTTP/1.1\r\nhost: shop.example\r\nx-forwarded-proto: https\r\ncookie: ${cookie}\r\n\r\n`,
  )
  const connected = once(app.server, 'connection') as Promise<[Socket]>
  const browser = connect(port, '127.0.0.1')
  browser.on('error', () => undefined)
  browser.write(requests.join(''))
  await until(() => waiting.length === 16, 'they wait')
  const [socket] = await connected
  browser.destroy()
  if (!socket.closed) await once(socket, 'close')
  release()
  await setTimeout(50)
  t.equal(seen.count, 16)
})
