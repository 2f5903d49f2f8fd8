// What happens to users with a second factor wherever they log in, and in between.
import { setTimeout } from 'node:timers/promises'
import bcrypt from 'bcrypt'
import t, { type Test } from 'tap'
import { memoryApiKeys } from '../../lib/api-keys/index.js'
import { authn, basicAuthenticator, type AccountMail, type AuthnOptions } from '../../lib/index.js'
import { authnTesting, linkWith, logInWith } from '../../lib/testing/index.js'
import { clockOf } from '../helpers/clock.js'
import { newPassword, password } from '../helpers/accounts.js'
import { job } from '../helpers/api-keys.js'
import { basic, bearer, cost, type TestApp } from '../helpers/app.js'
import { cookiesOf } from '../helpers/cookies.js'
import {
  answerOf,
  bodyOf,
  claimsIn,
  codeNow,
  deviceOf,
  email,
  factorApp,
  factorsOver,
  sessionOf,
  type FactorUser,
} from '../helpers/second-factor.js'
import type { AnyResponse } from '../helpers/flows.js'
import { until } from '../helpers/load.js'
import { storeWith } from '../helpers/sessions.js'

const login = '/login/second-factor'
const expired = '401 ERR_AUTH_LOGIN_EXPIRED'
const asked = '202 code'

interface Begin {
  id: number
  amr?: string[]
}

/** Routes of an app that logs users in, and revokes their sessions. */
function routes(app: TestApp): void {
  app.post<{ Body: Begin }>('/begin', ({ body: { id, amr } }, reply) =>
    app.authn.sessions.begin(id, reply.request, reply, amr && { amr }),
  )
  app.post('/everywhere', async () => ({ revoked: await app.authn.sessions.revoke({ sub: 1 }) }))
  app.get('/basic', { config: { auth: { use: 'basic' } } }, () => 'in')
}

/** An app whose users can reset their password. */
async function withAccounts(t: Test) {
  const mails: AccountMail[] = []
  const accounts = {
    url: 'https://shop.example',
    create: () => false,
    update: (user: FactorUser, after: { passwordHash: string | null }) => {
      const row = setting.stored(user.id)
      row.password = after.passwordHash
      return true
    },
    sendMail: (mail: AccountMail) => void mails.push(mail),
  }
  const setting = await factorApp(t, { remember: 86_400 }, { accounts, cookies: true }, routes)
  const reset = async (): Promise<string> => {
    await setting.send('/password/forgot', { email })
    await setting.app.authn.accounts.settled()
    const token = mails.find(({ kind }) => kind === 'reset')?.token
    return setting.send('/password/reset', { token, password: newPassword })
  }
  return { ...setting, reset }
}

t.test('sessions.begin asks for the code, unless more was proved', async (t) => {
  const { app, post, send, enable } = await factorApp(t, {}, {}, routes)
  const { secret } = await enable()
  const begun = await post('/begin', { id: 1 })
  t.equal(answerOf(begun), asked)
  t.equal(begun.headers['cache-control'], 'no-store')
  const { token } = bodyOf(begun).secondFactor
  const done = await post(login, { token, code: codeNow(secret, 1) })
  t.match(claimsIn(bodyOf(done).token), { amr: ['otp', 'mfa'] })
  t.equal(await send('/begin', { id: 1, amr: ['pop', 'mfa'] }), '200 tokens')
  t.equal(await send('/begin', { id: 1, amr: ['pwd'] }), asked)
  t.equal(await send('/begin', { id: 2 }), '200 tokens', 'a user without one')
  const refreshed = await post('/login/refresh', {
    refreshToken: (JSON.parse(done.body) as { refreshToken: string }).refreshToken,
  })
  t.match(claimsIn(bodyOf(refreshed).token), { amr: ['otp', 'mfa'] }, 'a refresh keeps it')
  const { statusCode } = await app.inject({ url: '/mfa', headers: sessionOf(refreshed) })
  t.equal(statusCode, 200)
})

t.test('Basic of another registration with the same users is closed too', async (t) => {
  const table: FactorUser[] = []
  const hash = bcrypt.hashSync(password, cost)
  const { findByUsername, update } = factorsOver(table)
  const userService = { findByUsername }
  const { app, enable } = await factorApp(t, { update }, { userService }, async (app) => {
    const own = { userService: { findByUsername: () => null }, passwordField: 'hash' }
    const authenticators = {
      given: basicAuthenticator({ userService, passwordField: 'password' }),
    }
    const bound = {
      findByUsername: (...[name]: Parameters<typeof findByUsername>) => findByUsername(name),
    }
    const all = {
      same: { userService },
      bound: { userService: bound },
      given: { ...own, authenticators },
      others: { userService: { findByUsername: async () => ({ id: 1, password: hash }) } },
    } as const
    for (const [name, options] of Object.entries(all)) {
      const use = name === 'given' ? name : 'basic'
      const prefix = `/${name}-of-other`
      const register = async (scope: typeof app): Promise<void> => {
        await scope.register(authn, {
          ...options,
          authenticator: use,
          hashing: { cost },
        } as AuthnOptions)
        scope.get('/', { config: { auth: true } }, () => 'in')
      }
      await app.register(register, { prefix })
    }
  })
  for (const [id, address] of [email, 'bob@example.com'].entries())
    table.push({ id, email: address, password: hash, secondFactor: null })
  const ask = async (use: string, user: string): Promise<number> =>
    (await app.inject({ url: `/${use}-of-other`, headers: basic(user, password) })).statusCode
  const statuses = async (user: string) => {
    const names = ['same', 'bound', 'given', 'others']
    return Promise.all(names.map((name) => ask(name, user)))
  }
  t.strictSame(await statuses(email), [200, 200, 200, 200])
  await enable()
  t.strictSame(await statuses(email), [401, 401, 401, 200], 'other users need not have the field')
  t.strictSame(await statuses('bob@example.com'), [200, 200, 200, 200])
})

t.test('a reset between password and code makes the login invalid', async (t) => {
  const { half, reset, send, enable, post } = await withAccounts(t)
  const { secret } = await enable()
  const token = await half()
  t.equal(await reset(), '204', 'which logs nobody in')
  t.equal(await send(login, { token, code: codeNow(secret, 1) }), expired)
  const response = await post('/login', { email, password: newPassword })
  t.equal(answerOf(response), asked, 'the factor stays on')
  const again = { token: bodyOf(response).secondFactor.token, code: codeNow(secret, 1) }
  t.equal((await post(login, again)).statusCode, 200)
})

t.test('sessions that are revoked between password and code include the next one', async (t) => {
  const clock = clockOf(t)
  const { half, send, enable } = await factorApp(t, {}, {}, routes)
  const { secret } = await enable()
  const before = await half()
  t.match(await send('/everywhere'), /^200/)
  clock.advance(30)
  const code = codeNow(secret)
  t.equal(await send(login, { token: before, code }), '401 ERR_AUTH_INVALID_CREDENTIALS')
  const token = await half()
  t.equal(await send(login, { token, code: codeNow(secret, 1) }), '200 tokens')
})

t.test('so do those that are revoked while a login looks its user up', async (t) => {
  const { app, post, send, enable, hooks } = await factorApp(t, {}, {}, routes)
  const { secret } = await enable()
  hooks.lookUp = async () => {
    // The token of a login counts milliseconds.
    await setTimeout(10)
    await app.authn.sessions.revoke({ sub: 1 })
    await setTimeout(10)
  }
  const { token } = bodyOf(await post('/begin', { id: 1 })).secondFactor
  hooks.lookUp = async () => undefined
  const code = codeNow(secret, 1)
  t.equal(await send(login, { token, code }), '401 ERR_AUTH_INVALID_CREDENTIALS')
  hooks.lookUp = async () => t.fail('a name that no user has')
  t.equal(await app.authn.secondFactor.disable('a\u0000', {} as never), false)
})

t.test('so do tokens of jwt.validAfterField', async (t) => {
  const valid = { validAfter: 0 }
  const jwt = { secret: 'a-secret-of-the-tests-32-bytes-long!', validAfterField: 'validAfter' }
  const setting = await factorApp(t, {}, { jwt })
  for (const row of setting.table) Object.assign(row, valid)
  const { secret } = await setting.enable()
  const token = await setting.half()
  Object.assign(setting.stored(), { validAfter: Math.ceil(Date.now() / 1000) })
  t.equal(await setting.send(login, { token, code: codeNow(secret, 1) }), expired)
})

t.test('a long code is no code, and browsers get no tokens in the body', async (t) => {
  const { half, send, enable } = await factorApp(t, {}, { cookies: { apps: true } })
  const { secret } = await enable()
  const token = await half()
  const code = codeNow(secret, 1)
  t.match(await send(login, { token, code: '1'.repeat(65) }), /^400/)
  t.match(await send(login, { token, code: '' }), /^400/)
  const wish = { 'token-delivery': 'body' }
  const ofBrowser = { ...wish, 'sec-fetch-site': 'same-origin' }
  t.equal(await send(login, { token, code }, ofBrowser), '400 ERR_AUTH_TOKEN_DELIVERY')
  t.equal(await send(login, { token, code }, wish), '200 tokens')
})

t.test('a hash that the login itself replaces does not make it invalid', async (t) => {
  for (const works of [true, false]) {
    const table: FactorUser[] = []
    let [updates, stored] = [0, '']
    const { findByUsername, update } = factorsOver(table)
    const userService = {
      findByUsername,
      async updatePasswordHash(user: FactorUser, hash: string) {
        updates += 1
        if (!works) throw new Error('a replica')
        const row = table.find(({ id }) => id === user.id)
        if (row) row.password = stored = hash
      },
    }
    const hashing = { cost: 5 }
    const setting = await factorApp(
      t,
      { update, remember: 3600 },
      { userService, hashing, cookies: true },
    )
    const weak = bcrypt.hashSync(password, 4)
    table.push({ id: 1, email, password: bcrypt.hashSync(password, 5), secondFactor: null })
    const { secret } = await setting.enable()
    Object.assign(table[0] as FactorUser, { password: weak })
    const token = await setting.half()
    await until(() => updates === 1, 'the new hash')
    if (works) t.equal(table[0]?.password, stored)
    const body = { token, code: codeNow(secret, 1), remember: true }
    const done = await setting.post(login, body)
    t.equal(done.statusCode, 200, `${works}`)
    const next = await setting.post('/login', { email, password }, deviceOf(done))
    t.equal(next.statusCode, 200, 'the device is remembered')
  }
})

t.test('a user who is gone or has changed', async (t) => {
  const { half, send, enable, stored, table } = await factorApp(t)
  const { secret } = await enable()
  const token = await half()
  const code = codeNow(secret, 1)
  const text = stored().secondFactor ?? null
  stored().secondFactor = null
  t.equal(await send(login, { token, code }), expired, 'it was switched off')
  stored().secondFactor = text
  const [row] = table.splice(0, 1)
  t.equal(await send(login, { token, code }), expired, 'deleted')
  table.push(row as FactorUser)
  t.equal(await send(login, { token, code }), '200 tokens')
})

t.test('a user who changes while the session is stored', async (t) => {
  let change = (): unknown => undefined
  const store = storeWith(({ create }) => ({
    async create(session) {
      change()
      return create(session)
    },
  }))
  const setting = await factorApp(t, {}, { sessions: { store } })
  const { send, table, stored } = setting
  const { secret, headers, recoveryCodes } = await setting.enable()
  const token = await setting.half()
  const before = { ...stored() }
  const changed = bcrypt.hashSync(newPassword, 4)
  const renew = () => (stored().password = changed)
  change = renew
  t.equal(await send(login, { token, code: codeNow(secret, 1) }), expired)
  Object.assign(stored(), before)
  const confirm = { code: recoveryCodes[0] }
  t.equal(await send('/login/confirm', confirm, headers), expired)
  Object.assign(stored(), before)
  change = () => table.splice(0)
  t.equal(await send('/login/confirm', confirm, headers), expired, 'deleted')
  table.push(before)
  change = () => undefined
  const { body } = await setting.setUp(headers)
  change = renew
  t.equal(await send('/second-factor/enable', body, headers), expired, 'enabled')
})

t.test('a login that is older than the process, or than its monotonic clock', async (t) => {
  const clock = clockOf(t)
  const { half, send, enable } = await factorApp(t, {}, {}, routes)
  const { secret, recoveryCodes } = await enable()
  const real = performance.now.bind(performance)
  let behind = 0
  t.intercept(performance, 'now', { value: () => real() - behind })
  t.match(await send('/everywhere'), /^200/)
  clock.advance(30)
  // The clock of a process that was suspended stands still, while the time goes on.
  const token = await half()
  clock.advance(300)
  t.equal(await send(login, { token, code: codeNow(secret) }), '200 tokens', 'suspended')
  const revoked = await half()
  clock.advance(1)
  t.match(await send('/everywhere'), /^200/)
  const code = recoveryCodes[0]
  t.equal(await send(login, { token: revoked, code }), '401 ERR_AUTH_INVALID_CREDENTIALS')
  const { post, ...young } = await factorApp(t)
  const enabled = await young.enable()
  const older = await young.half()
  clock.advance(300)
  // As in a process that has just begun.
  behind = real()
  const body = { token: older, code: codeNow(enabled.secret) }
  t.equal(answerOf(await post(login, body)), '200 tokens', 'young')
  behind = 0
  t.equal(await send(login, { token: await half(), code }), '200 tokens', 'it was not used up')
})

t.test('a login during which a second factor is enabled begins no session', async (t) => {
  const { app, hooks, send, stored, table } = await factorApp(t, {}, {}, routes)
  let [reads, change] = [Infinity, (): unknown => (stored().secondFactor = 'on')]
  hooks.lookUp = async () => {
    reads -= 1
    // The login reads the user, confirms the password, and then that there is still no second factor.
    if (reads === 0) change()
  }
  const bodies = { '/login': { email, password }, '/begin': { id: 1 } }
  for (const [path, body] of Object.entries(bodies)) {
    reads = path === '/login' ? 3 : 2
    t.equal(await send(path, body), '401 ERR_AUTH_INVALID_CREDENTIALS', path)
    stored().secondFactor = null
    t.strictSame(await app.authn.sessions.list(1), [])
  }
  ;[reads, change] = [2, () => table.splice(0)]
  t.equal(await send('/begin', { id: 1 }), '401 ERR_AUTH_INVALID_CREDENTIALS', 'deleted')
})

t.test('a login on a device that is forgotten meanwhile begins no session', async (t) => {
  const setting = await factorApp(t, { remember: 86_400 }, { cookies: true })
  const { app, post, send, hooks } = setting
  const { secret, headers } = await setting.enable()
  const body = { token: await setting.half(), code: codeNow(secret, 1), remember: true }
  const device = deviceOf(await post(login, body))
  let [reads, meanwhile] = [3, async (): Promise<unknown> => undefined]
  hooks.lookUp = async () => {
    reads -= 1
    // As above: the login has looked at the device when the user is read for the third time.
    if (reads === 0) await meanwhile()
  }
  const enter = () => send('/login', { email, password }, device)
  t.match(await enter(), /^200/)
  const before = await app.authn.sessions.list(1)
  meanwhile = () => send('/second-factor/forget-devices', undefined, headers)
  reads = 3
  t.equal(await enter(), '401 ERR_AUTH_INVALID_CREDENTIALS')
  t.equal((await app.authn.sessions.list(1)).length, before.length)
})

t.test(
  'an account is linked only after a code, whether or not its provider stands in for that',
  async (t) => {
    for (const mfa of [['gold'], undefined]) {
      const corp = {
        issuer: 'https://id.example',
        clientId: 'shop',
        username: () => 1,
        link: () => true,
        ...(mfa && { mfa }),
      }
      const { app, half, post, enable } = await factorApp(
        t,
        { page: '/code', remember: 86_400 },
        { cookies: true, loginWith: { corp } },
        (app) => app.register(authnTesting),
      )
      const before = await logInWith(app, 'corp', { sub: '7' })
      const linkIn = async (headers: Record<string, string>) =>
        (await linkWith(app, 'corp', { sub: '8' }, { headers })).response
      t.equal((await linkIn(before.headers)).statusCode, 303, 'a user without a second factor')
      const { secret, headers } = await enable({ ...before.headers })
      const body = { token: await half(), code: codeNow(secret, 1), remember: true }
      const device = deviceOf(await post(login, body))
      const weak = await post('/login', { email, password }, device)
      t.equal(weak.statusCode, 200)
      const response = await linkIn(sessionOf(weak))
      t.equal(response.statusCode, 401)
      t.match(response.headers['www-authenticate'], /acr_values="mfa"/)
      t.equal((await linkIn(headers)).statusCode, 303, 'after a code')
      const { response: entered } = await logInWith(app, 'corp', { sub: '8', acr: 'gold' })
      t.match(entered.headers.location, mfa ? /^\/$/ : /^\/code#/)
    }
  },
)

t.test('a change of password keeps the level of the session', async (t) => {
  const clock = clockOf(t)
  const levelOf = (response: AnyResponse) => {
    const { value } = cookiesOf(response).find(({ name }) => name.endsWith('token')) ?? {}
    const { auth_time, amr } = claimsIn(String(value))
    return { auth_time, amr }
  }
  const { post, half, enable } = await withAccounts(t)
  const { secret } = await enable()
  const remembered = { token: await half(), code: codeNow(secret, 1), remember: true }
  const strong = await post(login, remembered)
  t.strictSame(levelOf(strong).amr, ['pwd', 'otp', 'mfa'])
  const body = { currentPassword: password, password: newPassword }
  const weak = await post('/login', { email, password }, deviceOf(strong))
  t.equal(weak.statusCode, 200)
  const onDevice = await post('/password/change', body, sessionOf(weak))
  t.equal(answerOf(onDevice), '401 ERR_AUTH_INSUFFICIENT_AUTHENTICATION', 'a remembered device')
  clock.advance(60)
  const changed = await post('/password/change', body, sessionOf(strong))
  t.equal(changed.statusCode, 200)
  t.strictSame(levelOf(changed), levelOf(strong))
})

t.test('API keys go on', async (t) => {
  const { app, enable } = await factorApp(
    t,
    {},
    { apiKeys: { prefix: 'shop', store: memoryApiKeys() } },
    (app) => app.get('/key', { config: { auth: { use: 'apiKey' } } }, ({ user }) => user),
  )
  await enable()
  const { key } = await app.authn.apiKeys.issue({ ...job, owner: '1' })
  const { statusCode } = await app.inject({ url: '/key', headers: bearer(key) })
  t.equal(statusCode, 200)
})
