import { t, type Test } from 'tap'
import { password } from '../helpers/accounts.js'
import { bearer } from '../helpers/app.js'
import type { Headers } from '../helpers/client.js'
import { browser, origin, passkeysOver, type StoredPasskey } from '../helpers/passkeys.js'
import {
  answerOf,
  bodyOf,
  claimsIn,
  codeNow,
  factorApp,
  sessionOf,
  wrongCode,
  type FactorUser,
} from '../helpers/second-factor.js'
import { eventsOf } from '../helpers/sessions.js'

interface Ceremony {
  token: string
  publicKey: { challenge: string; allowCredentials?: object[] }
}

const stale = Math.floor(Date.now() / 1000) - 1200
const [insufficient, gone] = [
  '401 ERR_AUTH_INSUFFICIENT_AUTHENTICATION',
  '401 ERR_AUTH_JWT_INVALID',
]
const wrong = {
  password: '403 ERR_AUTH_CURRENT_PASSWORD',
  code: '403 ERR_AUTH_CODE_INVALID',
  passkey: '403 ERR_AUTH_PASSKEY_INVALID',
}

/** An app with passwords, codes and passkeys, whose sessions can begin with any level. */
async function confirmApp(t: Test, options: object = {}, passkeys: object = {}) {
  const stored: StoredPasskey[] = []
  const all = {
    passkeys: { origin, name: 'Shop', ...passkeysOver(stored), ...passkeys },
    ...options,
  }
  const setting = await factorApp(t, {}, all, (app) => {
    app.get('/fresh', { config: { auth: { fresh: 600 } } }, () => 'in')
    app.post<{ Body: { id: number; how?: object } }>('/begin', ({ body }, reply) =>
      app.authn.sessions.begin(body.id, reply.request, reply, body.how),
    )
  })
  const { app, post } = setting
  const begin = async (how?: object, id = 1): Promise<Headers> =>
    sessionOf(await post('/begin', { id, how }))
  const get = async (url: string, headers: Headers): Promise<string> => {
    const response = await app.inject({ url, headers })
    return response.statusCode === 200 ? '200' : answerOf(response)
  }
  /** The header of a session that has proved a password alone, as on a remembered device. */
  const less = async (): Promise<Headers> => {
    const user = setting.stored()
    const { secondFactor } = user
    user.secondFactor = null
    const headers = await begin({ amr: ['pwd'], authTime: stale })
    user.secondFactor = secondFactor ?? null
    return headers
  }
  const shown = async (headers: Headers): Promise<unknown> =>
    (await app.inject({ url: '/login/confirm', headers })).json()
  const devices = async (id = 1): Promise<number> => (await app.authn.sessions.list(id)).length
  const asked = async (url: string, headers: Headers): Promise<Ceremony> =>
    (await post(url, {}, headers)).json()
  const addPasskey = async (headers: Headers) => {
    const key = browser()
    const { token, publicKey } = await asked('/passkeys/options', headers)
    const response = await post('/passkeys', { token, response: key.create(publicKey) }, headers)
    t.equal(response.statusCode, 201)
    return key
  }
  const byPasskey = async (key: ReturnType<typeof browser>, headers: Headers = {}) => {
    const { token, publicKey } = await asked('/login/passkey/options', headers)
    return { token, response: key.get(publicKey), publicKey }
  }
  const confirm = (body: object, headers: Headers) => post('/login/confirm', body, headers)
  return { ...setting, begin, less, get, shown, devices, addPasskey, byPasskey, confirm }
}

t.test('a password makes a session fresh, which takes the place of the old one', async (t) => {
  const { begin, get, devices, confirm } = await confirmApp(t)
  const old = await begin({ amr: ['pwd'], authTime: stale })
  t.equal(await get('/fresh', old), insufficient)
  const response = await confirm({ password }, old)
  t.equal(answerOf(response), '200 tokens')
  t.match(response.headers, { 'cache-control': 'no-store' })
  t.strictSame(claimsIn(bodyOf(response).token).amr, ['pwd'])
  t.equal(await get('/fresh', sessionOf(response)), '200')
  t.equal(await get('/me', old), gone, 'copies of its tokens are revoked')
  t.equal(await devices(), 1)
})

t.test(
  'a remembered device becomes fresh by the password, and mfa by a code or a passkey alone',
  async (t) => {
    const { less, get, enable, confirm, devices, addPasskey, byPasskey } = await confirmApp(t)
    const { secret, headers } = await enable()
    const key = await addPasskey(headers)
    const byPassword = await confirm({ password }, await less())
    t.strictSame(claimsIn(bodyOf(byPassword).token).amr, ['pwd'])
    t.equal(await get('/fresh', sessionOf(byPassword)), '200')
    t.equal(await get('/mfa', sessionOf(byPassword)), insufficient)
    const byCode = await confirm({ code: codeNow(secret, 1) }, await less())
    t.strictSame(claimsIn(bodyOf(byCode).token).amr, ['pwd', 'otp', 'mfa'])
    t.equal(await get('/mfa', sessionOf(byCode)), '200')
    const own = await less()
    const { token, response, publicKey } = await byPasskey(key, own)
    t.match(publicKey.allowCredentials, [{ id: /./ }], 'the passkeys of its user alone')
    const byKey = await confirm({ token, response }, own)
    t.strictSame(claimsIn(bodyOf(byKey).token).amr, ['pwd', 'pop', 'mfa'])
    t.equal(await get('/mfa', sessionOf(byKey)), '200')
    t.equal(await devices(), 4)
  },
)

t.test('a session that is mfa is not made fresh by less, whatever that is', async (t) => {
  const { begin, enable, confirm, get, devices } = await confirmApp(t)
  await enable()
  const before = await devices()
  const own = await begin({ amr: ['pwd', 'otp', 'mfa'], authTime: stale })
  for (const typed of [password, 'another', 'another', 'another', 'another', 'another']) {
    const response = await confirm({ password: typed }, own)
    t.equal(answerOf(response), insufficient)
    t.match(response.headers['www-authenticate'], /acr_values="mfa"/)
  }
  t.equal(await get('/me', own), '200', 'nothing was counted')
  t.equal(await devices(), before + 1)
})

t.test('the fifth wrong one revokes the session, and counts for the session alone', async (t) => {
  const { less, confirm, enable, get, events, addPasskey, byPasskey } = await confirmApp(t)
  const { secret, headers } = await enable()
  const key = await addPasskey(headers)
  const logouts = eventsOf(t, 'logout')
  const bodies = {
    password: async () => ({ password: 'another' }),
    code: async () => ({ code: wrongCode(secret) }),
    passkey: async () => {
      const { token, response } = await byPasskey(key)
      const signature = Buffer.from(String(response.response['signature']), 'base64url')
      signature.writeUInt8((signature.at(-1) as number) ^ 1, signature.length - 1)
      const wrongly = { ...response.response, signature: signature.toString('base64url') }
      return { token, response: { ...response, response: wrongly } }
    },
  }
  for (const [kind, bodyFor] of Object.entries(bodies)) {
    const own = await less()
    const answers: string[] = []
    for (let count = 0; count < 5; count += 1) {
      answers.push(answerOf(await confirm(await bodyFor(), own)))
    }
    const each = wrong[kind as keyof typeof wrong]
    t.strictSame(answers, [each, each, each, each, gone], kind)
    t.equal(await get('/me', own), gone)
    t.equal(await get('/me', headers), '200', 'the other session stays')
  }
  t.equal(events.filter(({ action }) => action === 'failed').length, 5)
  t.strictSame(
    logouts.map(({ authenticator, revoked, sub }) => `${authenticator} ${revoked} ${sub}`),
    Array(3).fill('confirm 1 1'),
  )
  t.equal(answerOf(await confirm({ code: codeNow(secret, 1) }, headers)), '200 tokens')
})

t.test(
  'wrong ones of all kinds, and current passwords, add up; a right one resets its own',
  async (t) => {
    const accounts = {
      url: 'https://shop.example',
      create: () => true,
      update: () => true,
      sendMail() {},
    }
    const { less, confirm, enable, post, get } = await confirmApp(t, { accounts })
    const { secret } = await enable()
    const own = await less()
    const change = { currentPassword: 'another', password: 'a new password of mine' }
    t.equal(answerOf(await post('/password/change', change, own)), insufficient, 'not looked at')
    const guesses = [{ password: 'another' }, { code: wrongCode(secret) }]
    for (const each of guesses) t.match(answerOf(await confirm(each, own)), /^403/)
    const right = sessionOf(await confirm({ code: codeNow(secret, 1) }, own))
    const changed = async () => answerOf(await post('/password/change', change, right))
    for (let count = 0; count < 3; count += 1) t.equal(await changed(), wrong.password)
    t.equal(answerOf(await confirm({ code: wrongCode(secret) }, right)), gone)
    t.equal(await get('/me', right), gone)
  },
)

t.test('what is no guess is not counted', async (t) => {
  const { less, confirm, enable, get } = await confirmApp(t)
  const { secret } = await enable()
  const own = await less()
  const used = { code: codeNow(secret, -1) }
  for (let count = 0; count < 4; count += 1) {
    t.equal(answerOf(await confirm({ code: wrongCode(secret) }, own)), wrong.code)
  }
  const others = [
    {},
    { code: 1 },
    { password, code: '1' },
    { token: 'x', response: {} },
    { token: 'x' },
  ]
  for (const body of others) t.match((await confirm(body, own)).statusCode, /400|401/)
  t.equal(answerOf(await confirm(used, own)), wrong.code, 'it was used to switch the factor on')
  t.equal(await get('/me', own), '200')
})

t.test('a store that cannot revoke the session gives no more guesses', async (t) => {
  const { less, confirm, enable, app, get, events } = await confirmApp(t)
  const { secret } = await enable()
  const own = await less()
  const { sessions } = app.authn
  const { revoke } = sessions
  Object.assign(sessions, { revoke: () => Promise.reject(new Error('the store is away')) })
  const guess = async () => (await confirm({ code: wrongCode(secret) }, own)).statusCode
  const answers: number[] = []
  for (let count = 0; count < 8; count += 1) answers.push(await guess())
  t.strictSame(answers, [403, 403, 403, 403, 500, 500, 500, 500])
  const right = await confirm({ code: codeNow(secret, 1) }, own)
  t.equal(right.statusCode, 500, 'nothing is looked at')
  Object.assign(sessions, { revoke })
  t.equal(await guess(), 401)
  t.equal(await get('/me', own), gone)
  t.equal(events.filter(({ action }) => action === 'failed').length, 5)
})

t.test('twenty guesses at once are no more than five', async (t) => {
  const { less, confirm, enable, events } = await confirmApp(t)
  const { secret } = await enable()
  const twenty = async (guess: () => object): Promise<string[]> => {
    const own = await less()
    const guesses = Array.from({ length: 20 }, async () => answerOf(await confirm(guess(), own)))
    return Promise.all(guesses)
  }
  // bcrypt takes longer than it takes the others to arrive.
  const [passwords, codes] = [
    await twenty(() => ({ password: 'another' })),
    await twenty(() => ({ code: wrongCode(secret) })),
  ]
  t.ok(passwords.filter((each) => each === wrong.password).length <= 4, String(passwords))
  t.ok(passwords.every((each) => each === wrong.password || each === gone))
  t.ok(codes.filter((each) => each === wrong.code).length <= 4, String(codes))
  t.ok(codes.every((each) => each === wrong.code || each === gone))
  t.ok(events.filter(({ action }) => action === 'failed').length <= 5)
})

t.test('GET says what the session has proved, and what would be more', async (t) => {
  const { begin, shown, enable, addPasskey, get } = await confirmApp(t)
  const one = await begin({ amr: ['pwd'], authTime: stale }, 2)
  const authenticated = new Date(stale * 1000).toISOString()
  const methods = { fresh: ['password'], mfa: [] }
  t.strictSame(await shown(one), { authenticated, mfa: false, methods })
  const { headers } = await enable()
  await addPasskey(headers)
  const strong = ['code', 'passkey']
  t.match(await shown(headers), { mfa: true, methods: { fresh: strong, mfa: strong } })
  t.equal(await get('/login/confirm', {}), '401 ERR_AUTH_NO_CREDENTIALS')
})

t.test('"log out everywhere" while a confirmation is under way leaves no session', async (t) => {
  let wait = async (): Promise<void> => undefined
  const slow = {
    claims: async () => {
      await wait()
      return {}
    },
  }
  const login = { usernameField: 'email', subject: ({ id }: FactorUser) => id, ...slow }
  const { begin, confirm, app, devices } = await confirmApp(t, { login })
  const own = await begin({ amr: ['pwd'] }, 2)
  wait = async () => {
    wait = async () => undefined
    await app.authn.sessions.revoke({ sub: 2 })
  }
  t.equal(answerOf(await confirm({ password }, own)), gone)
  t.equal(await devices(2), 0)
})

t.test('a passkey of another user, API keys and requests without a session', async (t) => {
  const { begin, confirm, enable, addPasskey, byPasskey, app } = await confirmApp(t)
  const { headers } = await enable()
  const key = await addPasskey(headers)
  const other = await begin({ amr: ['pwd'] }, 2)
  const { token, response } = await byPasskey(key)
  t.equal(answerOf(await confirm({ token, response }, other)), wrong.passkey)
  const bare = bearer(app.jwtService.generateToken('2'))
  t.equal(answerOf(await confirm({ password }, bare)), '403 ERR_AUTH_FORBIDDEN')
  t.equal(answerOf(await confirm({ password }, {})), '401 ERR_AUTH_NO_CREDENTIALS')
})
