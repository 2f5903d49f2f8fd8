// Remembered devices spare the code, and nothing else.
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import bcrypt from 'bcrypt'
import t, { type Test } from 'tap'
import { authnTesting, logInWith } from '../../lib/testing/index.js'
import { clockOf } from '../helpers/clock.js'
import { password } from '../helpers/accounts.js'
import { cost } from '../helpers/app.js'
import { cookiesOf, linesOf, tls } from '../helpers/cookies.js'
import { setNodeEnv } from '../helpers/environment.js'
import {
  answerOf,
  bodyOf,
  codeNow,
  deviceOf,
  email,
  factorApp,
  sessionOf,
  stepClock,
  wrongCode,
} from '../helpers/second-factor.js'

type Headers = Record<string, string>

const remember = 86_400
const forms = { email, password }

async function remembered(t: Test, cookies: unknown = true, headers: Headers = {}) {
  const clock = stepClock(t)
  const setting = await factorApp(t, { remember }, { cookies }, undefined, { trustProxy: true })
  const { secret, ...enabled } = await setting.enable()
  clock.advance(30)
  const asked = await setting.post('/login', forms, headers)
  t.equal(asked.statusCode, 202, asked.body)
  const { token } = bodyOf(asked).secondFactor
  const body = { token, code: codeNow(secret), remember: true }
  const response = await setting.post('/login/second-factor', body, headers)
  const { cookie } = deviceOf(response)
  const name = cookie.slice(0, cookie.indexOf('='))
  const device = { ...headers, cookie }
  const ask = async (more: Headers = device, user = email): Promise<number> =>
    (await setting.post('/login', { email: user, password }, more)).statusCode
  return { ...setting, ...enabled, secret, clock, response, name, device, ask }
}

t.test('a remembered device is not asked for a code, but its session is not mfa', async (t) => {
  const { app, post, device, response, ask, clock, secret, lines, setUp } = await remembered(
    t,
    true,
    tls,
  )
  const line = linesOf(response).find((each) => /device/.test(each))
  t.match(line, /^__Host-device=[\w.-]+; Max-Age=86400; Path=\/; Secure; HttpOnly; SameSite=Lax$/)
  const next = await post('/login', forms, device)
  t.equal(next.statusCode, 200)
  t.notOk(
    cookiesOf(next).some(({ name }) => /device/.test(name)),
    'not made longer',
  )
  const strong = await app.inject({ url: '/mfa', headers: { ...tls, ...sessionOf(next) } })
  t.equal(strong.statusCode, 401)
  const settings = await post('/second-factor/setup', undefined, { ...tls, ...sessionOf(next) })
  t.equal(settings.statusCode, 401)
  t.match(settings.headers['www-authenticate'], /acr_values="mfa"/)
  const { body } = await setUp({ ...tls, ...sessionOf(response) })
  const weak = { ...tls, ...sessionOf(next) }
  t.equal((await post('/second-factor/enable', body, weak)).statusCode, 401, 'not mfa')
  const confirmed = await post('/login/confirm', { code: codeNow(secret, 1) }, weak)
  t.equal(confirmed.statusCode, 200)
  clock.advance(remember - 600)
  t.equal(await ask(), 200, 'log-out and time do not end it')
  clock.advance(600)
  t.equal(await ask(), 202, 'it has expired')
  t.notMatch(lines.join(''), /eyJ/)
})

t.test('the name and the form of its cookie are those of the others', async (t) => {
  const named = await remembered(t, { name: 'shop' })
  t.equal(named.name, 'shop-device')
  t.equal(await named.ask(), 200)
  const named2 = await remembered(t, { name: 'shop' }, tls)
  t.equal(named2.name, '__Host-shop-device')
  t.equal(await named2.ask(), 200)
  setNodeEnv(t, 'production')
  const jwt = { secret: randomBytes(32) }
  const { half, enable, post } = await factorApp(t, { remember }, { cookies: true, jwt })
  const { secret } = await enable()
  const body = { token: await half(), code: codeNow(secret, 1), remember: true }
  const lines = linesOf(await post('/login/second-factor', body))
  t.match(
    lines.find((each) => /device/.test(each)),
    /^__Host-device=.*; Secure/,
  )
})

const ends: Record<string, (setting: Awaited<ReturnType<typeof remembered>>) => unknown> = {
  'a new password': ({ stored }) => (stored().password = bcrypt.hashSync(password, cost)),
  'forget-devices': ({ send, headers }) =>
    send('/second-factor/forget-devices', undefined, headers),
  'a new factor': async ({ send, setUp, headers }) =>
    send('/second-factor/enable', (await setUp(headers)).body, headers),
}

for (const [name, end] of Object.entries(ends)) {
  t.test(`${name} makes remembered devices unknown`, async (t) => {
    const setting = await remembered(t)
    t.equal(await setting.ask(), 200)
    await end(setting)
    t.equal(await setting.ask(), 202)
  })
}

t.test('several users of one browser are remembered, each for a time of their own', async (t) => {
  const setting = await remembered(t)
  const { table, post, enable, logIn, half, clock, device, ask, secret, send, headers } = setting
  let { cookie } = device
  const first = { email, secret }
  const users = [first]
  const rememberMe = async (user: typeof first): Promise<void> => {
    const body = { token: await half(user.email), code: codeNow(user.secret), remember: true }
    const response = await post('/login/second-factor', body, { cookie })
    ;({ cookie } = deviceOf(response))
    t.ok(Buffer.byteLength(cookie) <= 1100, 'of about 1 KB at most')
  }
  const add = async (id: number): Promise<void> => {
    const address = `user-${id}@example.com`
    if (!table.some((each) => each.id === id))
      table.push({ id, email: address, password: table[0]?.password ?? null, secondFactor: null })
    const user = { email: address, ...(await enable(await logIn(address))) }
    users.push(user)
    clock.advance(30)
    await rememberMe(user)
  }
  const known = async (): Promise<string[]> => {
    const answers = users.map(async (user) => (await ask({ cookie }, user.email)) === 200)
    const are = await Promise.all(answers)
    return users.filter((_, at) => are[at]).map((user) => user.email)
  }
  for (const id of [11, 12, 13, 14]) await add(id)
  const names = users.map((user) => user.email)
  t.strictSame(await known(), names)
  t.equal(await send('/second-factor/forget-devices', undefined, headers), '204')
  t.strictSame(await known(), names.slice(1), 'the others stay')
  clock.advance(30)
  await rememberMe(first)
  t.strictSame(await known(), names, 'again, in its own place')
  await add(15)
  t.strictSame(await known(), [email, ...names.slice(2), 'user-15@example.com'], 'five at most')
  clock.advance(remember - 150)
  await rememberMe(first)
  clock.advance(149)
  t.strictSame(await known(), [email, 'user-15@example.com'], 'no one makes another one longer')
})

t.test('with the longest keys, fewer fit', async (t) => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 3072 })
  const rsa = { private: privateKey.export({ type: 'pkcs8', format: 'pem' }) }
  const clock = clockOf(t)
  const { table, post, enable, half, logIn } = await factorApp(
    t,
    { remember },
    { cookies: true, jwt: { rsa, signingMethod: 'RS512' } },
  )
  let cookie = ''
  for (let id = 3; id < 8; id += 1) {
    const address = `user-${id}@example.com`
    table.push({ id, email: address, password: table[0]?.password ?? null, secondFactor: null })
    const { secret } = await enable(await logIn(address))
    clock.advance(30)
    const body = { token: await half(address), code: codeNow(secret), remember: true }
    const response = await post('/login/second-factor', body, { cookie })
    ;({ cookie } = deviceOf(response))
    t.ok(cookie.length <= 1024 + 'device='.length)
    const next = await post('/login', { email: address, password }, { cookie })
    t.equal(next.statusCode, 200)
  }
})

t.test('to forget devices stops no login with a code', async (t) => {
  const setting = await factorApp(t)
  const { send, half, enable, stored } = setting
  const { secret, headers, recoveryCodes } = await enable()
  const forget = async () => send('/second-factor/forget-devices', undefined, headers)
  const token = await half()
  t.equal(await forget(), '204')
  t.equal(await send('/login/second-factor', { token, code: codeNow(secret, 1) }), '200 tokens')
  const flood = { isOver: false }
  const floods = Array.from({ length: 4 }, async () => {
    while (!flood.isOver) await Promise.all([forget(), setImmediate()])
  })
  try {
    for (const code of recoveryCodes.slice(0, 4)) {
      const answer = await send('/login/second-factor', { token: await half(), code })
      t.equal(answer, '200 tokens')
    }
  } finally {
    flood.isOver = true
    await Promise.all(floods)
  }
  t.type(stored().secondFactor, 'string')
})

t.test('it is of one user, and no other cookie is one', async (t) => {
  const { ask, device, table, name, enable, logIn, app, post, secret } = await remembered(t)
  await enable(await logIn('bob@example.com'))
  t.equal(await ask(device, 'bob@example.com'), 202)
  const { cookie } = device
  for (const value of [`${cookie}x`, `${cookie}; ${cookie}`, `${name}=x`, `${name}=`])
    t.equal(await ask({ cookie: value }), 202)
  const claims = { sub: 1, devices: [[]], path: '/login' }
  const forged = app.jwtService.generateTokenWithClaims(claims, undefined, { typ: 'device+jwt' })
  t.equal(await ask({ cookie: `${name}=${forged}` }), 202)
  const token = cookie.slice(name.length + 1)
  const half = bodyOf(await post('/login', forms)).secondFactor.token
  t.equal(await ask({ cookie: `${name}=${half}` }), 202, 'the token of a login')
  const login = { token, code: codeNow(secret, 1) }
  t.equal(answerOf(await post('/login/second-factor', login)), '401 ERR_AUTH_LOGIN_EXPIRED')
  const headers = { authorization: `Bearer ${token}` }
  t.equal((await app.inject({ url: '/me', headers })).statusCode, 401)
  t.equal(table.length, 2)
})

t.test('it is asked at each login, also while codes have to wait', async (t) => {
  let sent = ''
  const corp = { issuer: 'https://id.example', clientId: 'shop', username: () => 1 }
  const { app, half, post, enable } = await factorApp(
    t,
    { remember, page: '/code' },
    { cookies: true, loginWith: { corp } },
    (app) => {
      app.post('/begin', (request, reply) => app.authn.sessions.begin(1, request, reply))
      app.addHook('onRequest', async ({ headers }) => {
        if (sent) headers.cookie = `${headers.cookie ?? ''}; ${sent}`
      })
      return app.register(authnTesting)
    },
  )
  const { secret } = await enable()
  const body = { token: await half(), code: codeNow(secret, 1), remember: true }
  const device = deviceOf(await post('/login/second-factor', body))
  const guess = { token: await half(), code: wrongCode(secret) }
  for (let count = 0; count < 5; count += 1) await post('/login/second-factor', guess)
  t.equal((await post('/login/second-factor', guess)).statusCode, 429)
  for (const headers of [{}, device]) {
    const isKnown = headers === device
    t.equal((await post('/login', forms, headers)).statusCode, isKnown ? 200 : 202)
    t.equal((await post('/begin', undefined, headers)).statusCode, isKnown ? 200 : 202)
  }
  const atProvider = async () => {
    const { response } = await logInWith(app, 'corp', { sub: '7' })
    return response.headers.location
  }
  t.match(await atProvider(), /^\/code#/)
  sent = device.cookie
  t.equal(await atProvider(), '/')
})

t.test('without the option, or without the wish, no device is remembered', async (t) => {
  for (const [options, wish] of [
    [{}, true],
    [{ remember }, false],
    [{ remember }, undefined],
  ] as const) {
    const { post, half, enable } = await factorApp(t, options, { cookies: true })
    const { secret } = await enable()
    const body = { token: await half(), code: codeNow(secret, 1), remember: wish }
    const response = await post('/login/second-factor', body)
    t.equal(answerOf(response).slice(0, 3), '200')
    t.notOk(cookiesOf(response).some(({ name }) => /device/.test(name)))
  }
})
