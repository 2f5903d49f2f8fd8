import t from 'tap'
import { anyOf, basicAuthenticator, jwtAuthenticator, type Authenticator } from '../../lib/index.js'
import { appWith, basic, bearer, logLines, passwords, standardOptions } from '../helpers/app.js'
import { crossSite as rejection } from '../helpers/cookies.js'
import {
  startupError,
  isRejection,
  listen,
  probe,
  send,
  type AnyResponse,
} from '../helpers/flows.js'

const partner = 'https://partner.example'
type Headers = Record<string, string | string[]>

/** Whether a request passes that has these headers; its Host is `shop.example`, and it comes by http. */
const rows: [headers: Headers, passes: boolean][] = [
  // No browser.
  [{}, true],
  // What browsers say of themselves.
  [{ 'sec-fetch-site': 'same-origin' }, true],
  [{ 'sec-fetch-site': 'none' }, true],
  [{ 'sec-fetch-site': 'same-origin', origin: 'http://shop.example' }, true],
  [{ 'sec-fetch-site': 'same-origin', origin: 'null' }, true],
  [{ 'sec-fetch-site': 'cross-site' }, false],
  [{ 'sec-fetch-site': 'same-site' }, false],
  [{ 'sec-fetch-site': 'same-site', origin: 'http://sub.shop.example' }, false],
  [{ 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, false],
  // It counts before Origin.
  [{ 'sec-fetch-site': 'cross-site', origin: 'http://shop.example' }, false],
  // Strange ones.
  [{ 'sec-fetch-site': '' }, false],
  [{ 'sec-fetch-site': 'Same-Origin' }, false],
  [{ 'sec-fetch-site': 'same-origin;x' }, false],
  [{ 'sec-fetch-site': 'same-origin, none' }, false],
  [{ 'sec-fetch-site': ['same-origin', 'same-origin'] }, false],
  [{ 'sec-fetch-site': ['cross-site', 'same-origin'] }, false],
  [{ 'sec-fetch-site': 'constructor' }, false],
  // Older browsers, and WebSockets.
  [{ origin: 'http://shop.example' }, true],
  [{ origin: 'https://shop.example' }, false],
  [{ origin: 'null' }, false],
  [{ origin: '' }, false],
  [{ origin: ['http://shop.example', 'http://shop.example'] }, false],
  // Trusted origins.
  [{ origin: partner }, true],
  [{ origin: partner, 'sec-fetch-site': 'cross-site' }, true],
  [{ origin: `${partner}:443` }, false],
  [{ origin: 'https://PARTNER.example' }, false],
  [{ origin: 'https://sub.partner.example' }, false],
  // Other headers prove nothing.
  [{ origin: 'https://evil.example', referer: 'http://shop.example/' }, false],
  [{ origin: 'https://evil.example', 'x-requested-with': 'XMLHttpRequest' }, false],
  [{ origin: 'https://evil.example', 'x-forwarded-host': 'evil.example' }, false],
  [{ origin: 'https://shop.example', 'x-forwarded-proto': 'https' }, false],
]

t.test('a cookie is accepted from its own and trusted origins only, except for GET', async (t) => {
  const { handler, take } = probe()
  const options = { ...standardOptions(), cookies: { trustedOrigins: [partner] } }
  const app = await appWith(t, options, (app) => {
    app.route({
      method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
      url: '/notes',
      config: { auth: true },
      handler,
    })
    app.post('/optional', { config: { auth: 'optional' } }, handler)
    app.post('/try', { config: { auth: 'try' } }, handler)
  })
  const cookie = `__Host-token=${app.jwtService.generateToken('alice')}`
  const ask = (method: string, url: string, headers: Headers): Promise<AnyResponse> =>
    app.inject({
      method: method as 'GET',
      url,
      headers: { host: 'shop.example', ...headers } as never,
    })

  for (const [headers, passes] of rows) {
    const title = JSON.stringify(headers)
    for (const url of ['/notes', '/optional', '/try']) {
      const response = await ask('POST', url, { ...headers, cookie })
      if (passes) t.equal(response.statusCode, 200, `${url} ${title}`)
      else isRejection(t, response, rejection, `${url} ${title}`)
      t.equal(take(), passes ? 1 : 0, 'the handler')
    }
    t.equal((await ask('GET', '/notes', { ...headers, cookie })).statusCode, 200, `GET ${title}`)
    take()
  }
  const evil = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  for (const method of ['PUT', 'PATCH', 'DELETE'])
    isRejection(t, await ask(method, '/notes', { ...evil, cookie }), rejection, method)
  for (const method of ['HEAD', 'OPTIONS'])
    t.equal((await ask(method, '/notes', { ...evil, cookie })).statusCode, 200, method)
  take()

  // A token that is bad all the same: the origin is checked first.
  isRejection(t, await ask('POST', '/notes', { ...evil, cookie: '__Host-token=broken' }), rejection)
  // Where no cookie authenticates, no request is rejected for its origin.
  const { authorization } = bearer(app.jwtService.generateToken('bob'))
  t.equal((await ask('POST', '/notes', { ...evil, cookie, authorization })).statusCode, 200)
  t.equal((await ask('POST', '/optional', evil)).statusCode, 200)
  t.equal((await ask('POST', '/notes', evil)).statusCode, 401)
  t.equal(
    (await ask('POST', '/notes', { ...evil, authorization: 'Bearer x', cookie })).statusCode,
    401,
  )
})

t.test('Basic credentials from another site are a 403 before the user is looked up', async (t) => {
  const { handler, take } = probe()
  const service = standardOptions().userService
  const directory: Authenticator = {
    scheme: 'BASIC',
    authenticate: ({ headers }) => (headers.authorization === undefined ? null : { name: 'ldap' }),
  }
  const options = {
    ...standardOptions(),
    userService: service,
    cookies: { trustedOrigins: [partner] },
    basic: { username: 'root', password: 'toor' },
    authenticators: { directory, either: anyOf(basicAuthenticator(), jwtAuthenticator()) },
    throttle: { perUsername: 1, perAddress: 1 },
  }
  const uses = ['basic', 'configBasic', 'directory', 'either', ['jwt', 'basic']]
  const app = await appWith(t, options, (app) => {
    uses.forEach((use, index) => {
      const url = `/${index}`
      app.route({ method: ['GET', 'POST'], url, config: { auth: { use } as never }, handler })
      for (const mode of ['optional', 'try'] as const) {
        app.post(`/${index}/${mode}`, { config: { auth: { mode, use } as never } }, handler)
      }
    })
    app.post('/jwt', { config: { auth: 'optional' } }, handler)
  })
  const ask = (url: string, headers: Headers, method: 'GET' | 'POST' = 'POST') =>
    app.inject({ method, url, headers: { host: 'shop.example', ...headers } as never })
  for (const [index, use] of uses.entries()) {
    const isConfig = use === 'configBasic'
    const good = isConfig ? basic('root', 'toor') : basic('alice', passwords.alice)
    const bad = basic('alice', 'wrong')
    // All rows for one of them: the rule has no other one for the others.
    for (const [headers, passes] of index === 0 ? rows : rows.slice(1, 7)) {
      const title = `${String(use)} ${JSON.stringify(headers)}`
      const paths = [`/${index}`, `/${index}/optional`, `/${index}/try`]
      for (const url of paths) {
        service.asked.length = 0
        const response = await ask(url, { ...headers, ...(passes ? good : bad) })
        if (passes) t.equal(response.statusCode, 200, `${url} ${title}`)
        else isRejection(t, response, rejection, `${url} ${title}`)
        if (!passes) t.strictSame(service.asked, [], 'before the user is looked up')
        t.equal(take(), passes ? 1 : 0, 'the handler')
      }
    }
    const evil = { origin: 'https://evil.example' }
    t.equal((await ask(`/${index}`, { ...evil, ...good }, 'GET')).statusCode, 200, 'GET')
    const socket = { connection: 'upgrade', upgrade: 'websocket' }
    t.equal((await ask(`/${index}`, { ...evil, ...good, ...socket }, 'GET')).statusCode, 403)
    t.equal((await ask(`/${index}/optional`, evil)).statusCode, 200, 'without credentials')
    t.equal((await ask('/jwt', { ...evil, ...good })).statusCode, 200, 'where Basic is not read')
    take()
  }
  const { authorization } = bearer(app.jwtService.generateToken('bob'))
  for (const url of ['/3', '/4']) {
    const response = await ask(url, { origin: 'https://evil.example', authorization })
    t.equal(response.statusCode, 200, 'Bearer is free')
  }
})

t.test('a login from another site is logged with its header, and not throttled', async (t) => {
  const { lines, stream } = logLines()
  const options = {
    ...standardOptions(),
    cookies: { trustedOrigins: [partner] },
    throttle: { perUsername: 1, perAddress: 1 },
  }
  const app = await appWith(t, options, undefined, { logger: { stream } })
  const payload = { username: 'alice', password: passwords.alice }
  const login = (headers: Headers): Promise<AnyResponse> =>
    app.inject({
      method: 'POST',
      url: '/login',
      payload,
      headers: { host: 'shop.example', ...headers } as never,
    })
  for (const [headers] of rows.filter(([, passes]) => !passes))
    isRejection(t, await login(headers), rejection, JSON.stringify(headers))
  const logged = lines.filter(({ code }) => code === 'ERR_AUTH_CROSS_SITE')
  const found = logged.length > 0 && logged.every(({ level }) => level === 30)
  t.ok(found, 'logged as other rejections are')
  const reasons = new Set(logged.map(({ reason }) => String(reason)))
  t.equal(reasons.size, 2, 'one for each header')
  for (const reason of reasons) t.match(reason, 'cookies.trustedOrigins')
  // None of these counted for the throttle.
  for (const [headers] of rows.filter(([, passes]) => passes))
    t.equal((await login(headers)).statusCode, 200, JSON.stringify(headers))
})

t.test('onUnauthorized writes the 403 for a request of another site', async (t) => {
  const authenticator: Authenticator = {
    ...jwtAuthenticator(),
    onUnauthorized: ({ code, statusCode }, _, reply) => reply.code(statusCode).send(code),
  }
  const options = { ...standardOptions(), cookies: true as const, authenticator }
  const app = await appWith(t, options, (app) =>
    app.post('/notes', { config: { auth: true } }, () => 'no'),
  )
  const headers = { cookie: `token=${app.jwtService.generateToken('alice')}`, origin: 'null' }
  const response = await app.inject({ method: 'POST', url: '/notes', headers })
  t.strictSame([response.statusCode, response.body], [403, 'ERR_AUTH_CROSS_SITE'])
})

t.test('the origin is compared with that of the proxy, over a real connection too', async (t) => {
  const options = { ...standardOptions(), cookies: true as const }
  const declare = { config: { auth: true } } as const
  const app = await appWith(t, options, (app) => app.post('/notes', declare, () => 'ok'), {
    trustProxy: '127.0.0.1',
  })
  const port = await listen(app)
  const token = app.jwtService.generateToken('alice')
  const tls = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'shop.example' }
  const post = async (headers: Headers): Promise<number> =>
    (await send(port, { method: 'POST', path: '/notes', headers: headers as never })).statusCode
  const cookie = `token=${token}`
  t.equal(await post({ cookie }), 200)
  t.equal(await post({ cookie: [cookie, cookie] }), 401)
  t.equal(await post({ cookie, origin: `http://127.0.0.1:${port}` }), 200)
  t.equal(await post({ cookie, origin: `http://localhost:${port}` }), 403)
  t.equal(await post({ cookie, 'sec-fetch-site': ['same-origin', 'cross-site'] }), 403)
  t.equal(await post({ cookie, 'Sec-Fetch-Site': 'same-origin' }), 200)
  const secure = `__Host-token=${token}`
  t.equal(await post({ ...tls, cookie: secure, origin: 'https://shop.example' }), 200)
  t.equal(await post({ ...tls, cookie: secure, origin: 'http://shop.example' }), 403)
  t.equal(await post({ ...tls, cookie: secure, origin: `http://127.0.0.1:${port}` }), 403)
})

t.test('startup fails for trusted origins that no browser sends', async (t) => {
  const errorOf = (...trustedOrigins: string[]) =>
    startupError(() => appWith(t, { ...standardOptions(), cookies: { trustedOrigins } }))
  const error = await errorOf(partner, 'https://a.example/')
  t.match(error, { code: 'ERR_AUTH_OPTION' })
  t.match(error?.message, 'option "cookies.trustedOrigins.1": found "https://a.example/"')
  const secret = await errorOf('https://u:hush@a.example')
  t.match(secret?.message, 'found an address with an @')
  t.notMatch(secret?.message, 'hush')
})
