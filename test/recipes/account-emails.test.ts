// The recipe as its page tells it, and what an attacker would try.
import { randomBytes } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { hashPassword } from 'fastify-authn'
import { buildApp, type Account, type Accounts } from '../../examples/recipes/account-emails.js'

const secret = randomBytes(64).toString('base64url')
const origin = 'https://shop.example'
const passwords = { alice: 'wonderland-1865', bob: 'builder-19990401' }
const hashes = {
  alice: await hashPassword(passwords.alice, { cost: 4 }),
  bob: await hashPassword(passwords.bob, { cost: 4 }),
}

/** A table, with the conditions that the recipe asks of its queries. */
function table(): Accounts & { readonly rows: Map<number, Account> } {
  const rows = new Map<number, Account>()
  const find = (email: string) => [...rows.values()].find((row) => row.email === email)
  const store = (account: Account): Account => {
    rows.set(account.id, account)
    return account
  }
  store({ id: 1, email: 'alice@shop.example', password: hashes.alice, tokensValidAfter: null })
  store({ id: 2, email: 'bob@shop.example', password: hashes.bob, tokensValidAfter: null })
  return {
    rows,
    byId: async (id) => rows.get(id),
    byEmail: async (email) => find(email),
    insert: async (email, password) =>
      find(email)
        ? undefined
        : store({ id: rows.size + 1, email, password, tokensValidAfter: null }),
    async update(before, change) {
      const row = rows.get(before.id)
      if (row?.email !== before.email || row.password !== before.password) return false
      const taken = change.email === undefined ? undefined : find(change.email)
      if (taken !== undefined) return false
      store({ ...row, ...change })
      return true
    },
  }
}

interface Mail {
  readonly kind: string
  readonly to: string
  readonly link?: string | undefined
}

async function setUp(t: Test, accounts = table()) {
  const mails: Mail[] = []
  const options = {
    accounts,
    origin,
    sendMail: async (kind: string, to: string, link?: string) =>
      void mails.push({ kind, to, link }),
  }
  const app = await buildApp(secret, options)
  app.get('/me', { config: { auth: true } }, (request) => request.user)
  t.teardown(() => app.close())
  const client = { remoteAddress: '127.0.0.1' }
  const post = (url: string, payload: object, headers: Record<string, string> = {}) =>
    app.inject({ method: 'POST', url, payload, headers, ...client })
  const me = async (headers: Record<string, string>): Promise<number> =>
    (await app.inject({ url: '/me', headers })).statusCode
  return {
    app,
    accounts,
    post,
    me,
    /** Another client, which has no limit yet. */
    client,
    /** The mails since the last call. */
    async mails(): Promise<Mail[]> {
      await turn()
      return mails.splice(0)
    },
    async logIn(name: keyof typeof passwords, password = passwords[name]) {
      return cookies(await post('/login', { email: `${name}@shop.example`, password }))
    },
    /** Asks for a mail, and returns the token of its link. */
    async tokenFor(url: string, email: string, headers?: Record<string, string>): Promise<string> {
      const { statusCode } = await post(url, { email }, headers)
      if (statusCode !== 202) throw new Error(`${url}: ${statusCode}`)
      await turn()
      return tokenOf(mails.splice(0).at(-1))
    },
  }
}

/** The header of a browser after this reply. */
function cookies({ cookies, statusCode, body }: LightMyRequestResponse): { cookie: string } {
  if (cookies.length === 0) throw new Error(`no cookies: ${statusCode} ${body}`)
  return { cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; ') }
}

function tokenOf(mail: Mail | undefined): string {
  const [, token] = /^https:\/\/shop\.example\/[a-z-]+#([\w.-]+)$/.exec(mail?.link ?? '') ?? []
  if (token === undefined) throw new Error(`no link: ${JSON.stringify(mail)}`)
  return token
}

function basic(name: keyof typeof passwords, password = passwords[name]): Record<string, string> {
  const pair = Buffer.from(`${name}@shop.example:${password}`).toString('base64')
  return { authorization: `Basic ${pair}` }
}

const next = 'a new password of alice'

t.test('a sign-up link makes one account, once', async (t) => {
  const { app, accounts, post, me, mails } = await setUp(t)
  const asked = await post('/sign-up', { email: 'Carol@Shop.example' })
  t.match([asked.statusCode, asked.body], [202, '{}'])
  t.equal(accounts.rows.size, 2, 'no account before the address is verified')
  const [mail] = await mails()
  t.match(mail, { kind: 'sign-up', to: 'carol@shop.example' })
  const payload = { token: tokenOf(mail), password: 'through the looking-glass' }

  const [first, second] = await Promise.all([
    post('/sign-up/finish', payload),
    post('/sign-up/finish', payload),
  ])
  const [done, rejected] = first.statusCode === 200 ? [first, second] : [second, first]
  t.strictSame([done.statusCode, rejected.statusCode], [200, 400], 'one of two at once')
  t.match((await app.inject({ url: '/me', headers: cookies(done) })).json(), {
    id: 3,
    email: 'carol@shop.example',
  })
  t.equal((await post('/sign-up/finish', payload)).statusCode, 400, 'a second time')
  t.equal(await me(cookies(await post('/login', { ...payload, email: 'carol@shop.example' }))), 200)
})

t.test('responses are the same for known and unknown addresses', async (t) => {
  const { post, mails } = await setUp(t)
  const shown = ({ statusCode, body, headers }: LightMyRequestResponse) => {
    const changing = /^(?:date|x-ratelimit-.*)$/
    const rest = Object.entries(headers).filter(([name]) => !changing.test(name))
    return { statusCode, body, rest }
  }
  for (const url of ['/sign-up', '/reset']) {
    const known = shown(await post(url, { email: 'alice@shop.example' }))
    t.strictSame(shown(await post(url, { email: 'nobody@shop.example' })), known, url)
  }
  const currentPassword = basic('alice')
  const free = shown(await post('/email', { email: 'new@shop.example' }, currentPassword))
  t.strictSame(shown(await post('/email', { email: 'bob@shop.example' }, currentPassword)), free)
  t.strictSame(
    (await mails()).map(({ kind, to }) => `${kind}: ${to}`),
    [
      'has-account: alice@shop.example',
      'sign-up: nobody@shop.example',
      'reset: alice@shop.example',
      'new-email: new@shop.example',
    ],
  )
})

t.test('a reset link sets the password once, and revokes all sessions', async (t) => {
  const { app, post, me, mails, logIn, tokenFor } = await setUp(t)
  const before = await logIn('alice')
  const other = await tokenFor('/reset', 'alice@shop.example')
  const token = await tokenFor('/reset', 'ALICE@shop.example')

  for (const method of ['GET', 'HEAD', 'PUT'] as const) {
    for (const url of ['/reset/finish', `/reset/finish?token=${token}&password=${next}`]) {
      t.equal((await app.inject({ method, url })).statusCode, 404, `${method}: nothing happens`)
    }
  }
  for (const password of ['too short', 'é'.repeat(37), 'a'.repeat(73)]) {
    t.equal((await post('/reset/finish', { token, password })).statusCode, 400)
  }
  t.equal(await me(before), 200, 'the link has not been used')

  const answers = await Promise.all(
    [token, token, other].map((each) => post('/reset/finish', { token: each, password: next })),
  )
  const codes = answers.map(({ statusCode }) => statusCode)
  t.strictSame(
    codes.toSorted((a, b) => a - b),
    [204, 400, 400],
    'one of three at once',
  )
  t.match(await mails(), [{ kind: 'password-changed', to: 'alice@shop.example' }])
  for (const each of [token, other]) {
    const again = await post('/reset/finish', { token: each, password: 'yet another password' })
    t.equal(again.statusCode, 400, 'used')
  }
  t.equal(await me(before), 401, 'sessions of the old password are revoked')
  t.equal((await post('/login/refresh', {}, before)).statusCode, 401)
  const login = { email: 'alice@shop.example', password: passwords.alice }
  t.equal((await post('/login', login)).statusCode, 401)
  t.equal(await me(await logIn('alice', next)), 200)
  t.equal(await me(await logIn('bob')), 200, 'others have the password that they had')
})

t.test('a reset revokes sessions of processes with another store too', async (t) => {
  const here = await setUp(t)
  const there = await setUp(t, here.accounts)
  const session = await there.logIn('alice')
  t.equal(await here.me(session), 200)
  const token = await here.tokenFor('/reset', 'alice@shop.example')
  await here.post('/reset/finish', { token, password: next })
  for (const app of [here, there]) {
    t.equal(await app.me(session), 401)
    t.equal((await app.post('/login/refresh', {}, session)).statusCode, 401)
  }
})

t.test('a new password needs the current one, and revokes other sessions', async (t) => {
  const { app, post, me, mails, logIn, tokenFor } = await setUp(t)
  const [here, elsewhere] = [await logIn('alice'), await logIn('alice')]
  const reset = await tokenFor('/reset', 'alice@shop.example')
  const payload = { password: next }

  t.equal((await post('/password', payload)).statusCode, 401)
  t.equal((await post('/password', payload, here)).statusCode, 401, 'a session is not enough')
  const wrong = await post('/password', payload, { ...here, ...basic('alice', 'wrong') })
  t.match([wrong.statusCode, wrong.headers['www-authenticate']], [401, undefined])
  t.equal(await me(here), 200)

  const changed = await post('/password', payload, { ...here, ...basic('alice') })
  t.equal(changed.statusCode, 200)
  t.match(await mails(), [{ kind: 'password-changed', to: 'alice@shop.example' }])
  t.equal(await me(cookies(changed)), 200, 'this browser has a new session')
  t.equal((await post('/login/refresh', {}, cookies(changed))).statusCode, 200)
  t.equal(await me(here), 401)
  t.equal(await me(elsewhere), 401)
  t.equal((await app.authn.sessions.list(1)).length, 1)
  t.equal((await post('/password', payload, basic('alice'))).statusCode, 401, 'the old password')
  t.equal((await post('/reset/finish', { token: reset, ...payload })).statusCode, 400)

  const attempts = []
  for (let turn = 0; turn < 12; turn += 1) {
    attempts.push((await post('/password', payload, basic('bob', `guess ${turn}`))).statusCode)
  }
  t.match([attempts[0], attempts.at(-1)], [401, 429], 'guesses are throttled')
})

t.test('a new address needs the current password, and its link', async (t) => {
  const { app, post, me, mails, logIn, tokenFor } = await setUp(t)
  const [alice, bob] = [await logIn('alice'), await logIn('bob')]
  t.equal((await post('/email', { email: 'a@b.example' }, alice)).statusCode, 401)
  const reset = await tokenFor('/reset', 'alice@shop.example')
  const token = await tokenFor('/email', 'Liddell@shop.example', basic('alice'))
  const sameForBob = await tokenFor('/email', 'liddell@shop.example', basic('bob'))
  const finish = (headers: Record<string, string>, each = token) =>
    post('/email/finish', { token: each, email: 'mallory@evil.example', id: 2 }, headers)

  t.equal((await finish({})).statusCode, 401)
  t.equal((await finish(bob)).statusCode, 400, 'of another user')
  t.equal((await finish(alice)).statusCode, 204)
  t.match(await mails(), [{ kind: 'email-changed', to: 'alice@shop.example' }])
  t.match((await app.inject({ url: '/me', headers: alice })).json(), {
    id: 1,
    email: 'liddell@shop.example',
  })
  t.equal((await finish(alice)).statusCode, 400, 'used')
  t.equal((await finish(bob, sameForBob)).statusCode, 400, 'taken meanwhile')
  const late = await post('/reset/finish', { token: reset, password: next })
  t.equal(late.statusCode, 400, 'a link in the old mailbox')
  t.equal(await me(bob), 200)
})

t.test('a link works for its own purpose only, and for an hour', async (t) => {
  const { app, post, client, logIn, tokenFor } = await setUp(t)
  const alice = await logIn('alice')
  const cookie = /token=([^;]+)/.exec(alice.cookie)?.[1] ?? ''
  const tokens = {
    '/sign-up/finish': await tokenFor('/sign-up', 'dave@shop.example'),
    '/reset/finish': await tokenFor('/reset', 'alice@shop.example'),
    '/email/finish': await tokenFor('/email', 'new@shop.example', basic('alice')),
    '/me': cookie,
  }
  const claimsOf = (token: string) =>
    JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { exp: number }
  const service = app.jwtService
  for (const [url, own] of Object.entries(tokens)) {
    const headers = { authorization: `Bearer ${own}` }
    t.equal((await app.inject({ url: '/me', headers })).statusCode, url === '/me' ? 200 : 401)
    if (url === '/me') continue
    const typ = url.replace('/finish', '+jwt').replace('/email', '/new-email').slice(1)
    const claims = claimsOf(own)
    t.ok(Math.abs(claims.exp - Date.now() / 1000 - 3600) < 60)
    const forged = [
      ...Object.values(tokens).filter((each) => each !== own),
      own.slice(0, -2),
      `${own.split('.').slice(0, 2).join('.')}.`,
      '',
      service?.generateTokenWithClaims(claims),
      service?.generateTokenWithClaims({ ...claims, exp: 1 }, undefined, { typ }),
      service?.generateTokenWithClaims(
        { ...claims, state: undefined, email: undefined },
        undefined,
        { typ },
      ),
    ]
    client.remoteAddress = `127.0.1.${Object.keys(tokens).indexOf(url)}`
    for (const token of forged) {
      const { statusCode } = await post(url, { token, password: next }, alice)
      t.equal(statusCode, 400, `${url}: ${String(token)}`)
    }
  }
  for (const [url, token] of Object.entries(tokens).slice(0, 3).toReversed()) {
    const { statusCode } = await post(url, { token, password: next }, alice)
    t.ok(url === '/reset/finish' ? statusCode === 400 : statusCode < 300, `${url}: ${statusCode}`)
  }
})

t.test('CSRF is rejected, and mails to one address are limited', async (t) => {
  const { app, post, mails, logIn } = await setUp(t)
  const alice = await logIn('alice')
  const urls = ['/sign-up', '/reset', '/password', '/email'].flatMap((url) =>
    url === '/password' ? [url] : [url, `${url}/finish`],
  )
  for (const url of urls) {
    for (const from of ['https://evil.example', 'null']) {
      const headers = { origin: from, ...(url === '/email/finish' ? alice : basic('alice')) }
      const payload = { email: 'alice@shop.example', token: 'a', password: next }
      t.equal((await post(url, payload, headers)).statusCode, 403, `${url} from ${from}`)
    }
  }
  t.strictSame(await mails(), [])

  const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example' }
  await post('/reset', { email: 'alice@shop.example' }, headers)
  t.ok(tokenOf((await mails())[0]), 'the link is to our own page, whatever the host of the request')

  for (const email of [
    'alice@shop.example,mallory@evil.example',
    'alice@shop.example\r\nBcc: mallory@evil.example',
    '<alice@shop.example>',
    ['alice@shop.example', 'mallory@evil.example'],
    '',
    null,
  ]) {
    t.equal((await post('/reset', { email })).statusCode, 400, String(email))
  }
  t.strictSame(await mails(), [])

  for (let count = 0; count < 5; count += 1) {
    const remoteAddress = `192.0.2.${count}`
    const payload = { email: count % 2 ? 'BOB@shop.example' : 'bob@shop.example' }
    const request = { method: 'POST', url: '/reset', payload, remoteAddress } as const
    t.equal((await app.inject(request)).statusCode, 202)
  }
  t.equal((await mails()).length, 3, 'three mails to one address')
  const codes = await floodOf(app)
  t.match([codes[0], codes.at(-1)], [202, 429], 'and so many requests of one client')
})

async function floodOf(app: FastifyInstance): Promise<number[]> {
  const codes = []
  for (let count = 0; count < 32; count += 1) {
    const payload = { email: `${count}@shop.example` }
    const request = { method: 'POST', url: '/reset', payload, remoteAddress: '192.0.2.99' } as const
    codes.push((await app.inject(request)).statusCode)
  }
  return codes
}
