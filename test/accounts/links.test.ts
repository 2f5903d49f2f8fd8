// Links in e-mails: each is for one purpose, one registration and one state of one account.
import Fastify from 'fastify'
import t from 'tap'
import { authn, jwtAuthenticator, type AccountMail, type AuthnOptions } from '../../lib/index.js'
import { clockOf } from '../helpers/clock.js'
import {
  accountsApp,
  accountsOver,
  answerOf,
  hash,
  newPassword,
  pages,
  password,
  type AccountsApp,
  type AccountUser,
} from '../helpers/accounts.js'
import { bearer, cost, secret } from '../helpers/app.js'
import { entries, headerOf, keySetSecret } from '../helpers/key-sets.js'
import { claimsOf, pairOf } from '../helpers/sessions.js'
import { hmacToken, keys, privatePem, publicPem } from '../helpers/tokens.js'

const dora = 'dora@example.com'
const invalid = '400 ERR_AUTH_LINK_INVALID'

type Headers = Record<string, string>
/** The headers of alice, and of carol, who has no password. */
type Users = Partial<Record<'alice' | 'carol', Headers>>

/** A link of each kind, for dora, alice and carol. */
async function linksOf({ tokenOf, logIn, app, mails }: AccountsApp) {
  const users = { alice: await logIn(), carol: await logIn(3) }
  const change = { email: 'alice@new.example', currentPassword: password }
  await app.authn.accounts.invite(dora, { lang: 'en' } as never)
  const [invitation] = await mails()
  return {
    users,
    'sign-up': await tokenOf('/sign-up', { email: dora }),
    invitation: String(invitation?.token),
    reset: await tokenOf('/password/forgot', { email: 'alice@example.com' }),
    email: await tokenOf('/email/change', change, users.alice),
    set: await tokenOf('/password/set', {}, users.carol),
  }
}

/** Where a link is opened, and what a success is. */
const opened = {
  'sign-up': ['/sign-up/finish', '200 tokens'],
  invitation: ['/sign-up/finish', '200 tokens'],
  reset: ['/password/reset', '204'],
  email: ['/email/confirm', '204'],
  set: ['/password/change', '200 tokens'],
} as const
type Kind = keyof typeof opened
const kinds = Object.keys(opened) as Kind[]

const openLink = (
  { send }: AccountsApp,
  kind: Kind,
  token: unknown,
  users: Users,
): Promise<string> => {
  const headers = users[kind === 'set' ? 'carol' : 'alice'] ?? {}
  return send(opened[kind][0], { token, password: newPassword }, headers)
}

t.test('a link works once, and none of another purpose works', async (t) => {
  const setting = await accountsApp(t)
  const { users, ...links } = await linksOf(setting)
  for (const kind of kinds) {
    for (const other of kinds.filter((each) => opened[each][0] !== opened[kind][0]))
      t.equal(await openLink(setting, kind, links[other], users), invalid, `${other} as ${kind}`)
  }
  for (const kind of ['email', 'reset', 'sign-up', 'set'] as const) {
    const works = await accountsApp(t)
    const { users, ...links } = await linksOf(works)
    t.equal(await openLink(works, kind, links[kind], users), opened[kind][1])
    const again = { ...users, carol: await works.logIn(3) }
    for (const each of [kind, kind, ...(kind === 'sign-up' ? ['invitation' as const] : [])])
      t.equal(await openLink(works, each, links[each], again), invalid, 'used')
  }
})

t.test('a link works for an hour, linkExpiry or expiresIn', async (t) => {
  const clock = clockOf(t)
  const options = { jwt: { secret, expiry: 604_800 } }
  for (const [seconds, linkExpiry] of [
    [3600, undefined],
    [300, 300],
    [86_400, 86_400],
  ] as const) {
    const setting = await accountsApp(t, { ...(linkExpiry && { linkExpiry }) }, options)
    const old = await linksOf(setting)
    clock.advance(seconds + 1)
    for (const kind of ['email', 'reset', 'sign-up', 'set'] as const)
      t.equal(await openLink(setting, kind, old[kind], old.users), invalid, `${kind} ${seconds}`)
    const { users, ...links } = await linksOf(setting)
    clock.advance(seconds - 2)
    // In an order in which none changes the account of another one.
    for (const kind of ['sign-up', 'reset', 'set'] as const)
      t.equal(await openLink(setting, kind, links[kind], users), opened[kind][1], kind)
  }
  const setting = await accountsApp(t, {}, options)
  await setting.app.authn.accounts.invite(dora, { lang: 'en' } as never, { expiresIn: 60 })
  const [{ token } = { token: '' }] = await setting.mails()
  clock.advance(61)
  t.equal(await openLink(setting, 'invitation', token, {}), invalid)
})

t.test('every link of an account dies with its password, its address and itself', async (t) => {
  const changes: [what: string, change: (user: AccountUser, setting: AccountsApp) => unknown][] = [
    ['another hash', (user) => (user.password = 'another')],
    ['another address', (user) => (user.email = 'alice@other.example')],
    ['no password', (user) => (user.password = null)],
    ['no user', ({ id }, { table }) => table.splice(id - 1, 1)],
  ]
  for (const [what, change] of changes) {
    const setting = await accountsApp(t)
    const { users, ...links } = await linksOf(setting)
    const carol = setting.stored(3) as AccountUser
    // She has had no password before, either.
    if (what === 'no password') carol.password = '!'
    else change(carol, setting)
    change(setting.stored(1) as AccountUser, setting)
    const before = JSON.stringify(setting.table)
    t.equal(await openLink(setting, 'reset', links.reset, users), invalid, what)
    for (const kind of ['email', 'set'] as const) {
      const answer = await openLink(setting, kind, links[kind], users)
      t.equal(answer, what === 'no user' ? '401 ERR_AUTH_INVALID_CREDENTIALS' : invalid, what)
    }
    t.equal(JSON.stringify(setting.table), before)
  }
})

t.test('a new address is confirmed, and a first password set, by its user alone', async (t) => {
  const setting = await accountsApp(t)
  setting.table.push({ id: 4, email: 'erin@example.com', password: null })
  const links = await linksOf(setting)
  const before = JSON.stringify(setting.table)
  for (const [kind, others] of [
    ['email', [2, 3]],
    ['set', [1, 4]],
  ] as const) {
    for (const id of others) {
      const headers = await setting.logIn(id)
      const answer = await openLink(setting, kind, links[kind], { alice: headers, carol: headers })
      t.equal(answer, invalid, `${kind} ${id}`)
    }
    t.equal(await openLink(setting, kind, links[kind], {}), '401 ERR_AUTH_NO_CREDENTIALS')
  }
  t.equal(JSON.stringify(setting.table), before)
  t.equal(await openLink(setting, 'set', links.set, links.users), '200 tokens')
})

t.test('an access token is no link, and a link is no access token', async (t) => {
  const setting = await accountsApp(t, {}, { jwt: { secret, requireExp: false } })
  const { users, ...links } = await linksOf(setting)
  const { token, refreshToken } = pairOf(await setting.post('/begin', { id: 1 }))
  const tokens = setting.app.jwtService
  const forged = kinds.flatMap((kind) => {
    const claims = claimsOf(links[kind])
    return [
      tokens.generateTokenWithClaims(claims),
      hmacToken({ ...headerOf(links[kind]), typ: 'JWT' }, claims, secret),
      hmacToken({ ...headerOf(links[kind]), alg: 'none' }, claims, secret),
      hmacToken(headerOf(links[kind]), claims, `${secret}x`),
      hmacToken(headerOf(links[kind]), { ...claims, exp: undefined }, secret),
      `${links[kind]}x`,
      links[kind].replace(/\.[^.]*$/, '.'),
    ]
  })
  for (const each of [token, refreshToken, '.', 'a.b.c', '\0', ...forged]) {
    for (const kind of ['sign-up', 'reset', 'email', 'set'] as const) {
      const rejected = new Set([invalid, '429 ERR_AUTH_TOO_MANY_ATTEMPTS'])
      t.ok(rejected.has(await openLink(setting, kind, each, users)), `${each} as ${kind}`)
    }
  }
  for (const kind of kinds) {
    t.equal(await setting.me(bearer(links[kind])), 401, kind)
    const own = { currentPassword: password, password: newPassword }
    const answer = await setting.send('/password/change', own, bearer(links[kind]))
    t.equal(answer, '401 ERR_AUTH_JWT_INVALID')
  }
  for (const headers of Object.values(users)) t.equal(await setting.me(headers), 200)
})

t.test(
  'a link is not of another registration, although their keys and users are the same',
  async (t) => {
    const app = Fastify()
    t.teardown(() => app.close())
    const sent: AccountMail[] = []
    const table = [{ id: 1, email: 'alice@example.com', password: hash }]
    const { findByUsername, ...functions } = accountsOver(table)
    const userService = { findByUsername }
    for (const prefix of ['/shop', '/admin']) {
      await app.register(
        async (scope) => {
          await scope.register(authn, {
            userService,
            jwt: { secret },
            hashing: { cost },
            login: { subject: (user: object) => (user as AccountUser).id },
            sessions: { name: prefix.slice(1) },
            errorBody: ({ code }) => ({ code }),
            accounts: { url: pages, ...functions, sendMail: (mail) => void sent.push(mail) },
          } as AuthnOptions)
          scope.get('/settled', () => scope.authn.accounts.settled())
        },
        { prefix },
      )
    }
    const post = async (url: string, payload: object): Promise<string> =>
      answerOf(await app.inject({ method: 'POST', url, payload }))
    t.equal(await post('/shop/password/forgot', { email: 'alice@example.com' }), '202 {}')
    t.equal(await post('/shop/sign-up', { email: dora }), '202 {}')
    await app.inject('/shop/settled')
    const [reset, signUp] = sent.map(({ token }) => token)
    for (const [prefix, answers] of [
      ['/admin', [invalid, invalid]],
      ['/shop', ['204', '200 tokens']],
    ] as const) {
      const finished = [
        await post(`${prefix}/password/reset`, { token: reset, password: newPassword }),
        await post(`${prefix}/sign-up/finish`, { token: signUp, password: newPassword }),
      ]
      t.strictSame(finished, answers, prefix)
    }
  },
)

t.test('links work with audience, issuer, other algorithms and a key set', async (t) => {
  const { rsa, p256, ed25519 } = keys
  const pair = (each: typeof rsa) => ({
    private: privatePem(each.privateKey),
    public: publicPem(each.publicKey),
  })
  const rows: Record<string, AuthnOptions['jwt']> = {
    'audience and issuer': { secret, audience: 'api', issuer: 'https://shop.example' },
    RS256: { rsa: pair(rsa), signingMethod: 'RS256' },
    ES256: { ecdsa: pair(p256), signingMethod: 'ES256' },
    EdDSA: { eddsa: pair(ed25519), signingMethod: 'EdDSA' },
    'several algorithms': { secret: `${keySetSecret}${secret}`, rsa: pair(rsa) },
    'a key set': { keys: [entries.a] },
  }
  for (const [title, jwt] of Object.entries(rows)) {
    const login = { usernameField: 'email', subject: (user: object) => (user as AccountUser).id }
    const more = title.startsWith('several') && {
      login: { ...login, signingMethod: 'RS256' },
      authenticators: { jwt: jwtAuthenticator({ signingMethod: 'RS256' }) },
    }
    const setting = await accountsApp(t, {}, { jwt, ...more } as object)
    const { users, ...links } = await linksOf(setting)
    t.equal(headerOf(links.reset).typ, 'account+jwt')
    if (title.startsWith('several')) t.equal(headerOf(links.reset).alg, 'RS256')
    for (const kind of ['sign-up', 'email', 'set'] as const)
      t.equal(await openLink(setting, kind, links[kind], users), opened[kind][1], title)
    const alice = { email: 'alice@new.example' }
    const reset = await setting.tokenOf('/password/forgot', alice)
    t.equal(await openLink(setting, 'reset', reset, {}), '204', title)
    t.equal(await setting.me(bearer(reset)), 401, title)
  }
})

t.test('a link outlives a key rotation, and not the key', async (t) => {
  const next = { ...entries.b, state: 'sign' as const }
  const rotated: [AuthnOptions['jwt'], string][] = [
    [{ keys: [{ ...entries.a, state: 'verify' as const }, next] }, '204'],
    [{ keys: [next] }, invalid],
  ]
  const before = await accountsApp(t, {}, { jwt: { keys: [entries.a] } })
  const token = await before.tokenOf('/password/forgot', { email: 'alice@example.com' })
  for (const [jwt, answer] of rotated) {
    const after = await accountsApp(t, {}, { jwt })
    t.equal(await openLink(after, 'reset', token, {}), answer)
  }
})

t.test('a link tells neither the hash nor the password', async (t) => {
  const setting = await accountsApp(t)
  const { users, ...links } = await linksOf(setting)
  t.equal(await setting.me(users.alice), 200)
  const shown = (kind: Kind): object => {
    const { exp, jti, state, ...claims } = claimsOf(links[kind])
    const own = ['email', 'reset', 'set'].includes(kind)
    t.match([exp, jti, state], [Number, /^[\w-]{16}$/, own ? /^[\w-]{43}$/ : undefined])
    return { ...claims, iat: undefined, nbf: undefined }
  }
  const where = { url: pages, path: '/login', iat: undefined, nbf: undefined }
  t.strictSame(kinds.map(shown), [
    { email: dora, page: 'sign-up', ...where },
    { email: dora, page: 'sign-up', ...where },
    { sub: 1, page: 'reset', ...where },
    { sub: 1, email: 'alice@new.example', page: 'email', ...where },
    { sub: 3, page: 'set', ...where },
  ])
})

t.test('a link is not of another app with the same keys: the option url is in it', async (t) => {
  const shop = await accountsApp(t)
  const offices = [
    await accountsApp(t, { url: 'https://office.example/account', signUp: false }),
    await accountsApp(t, { url: 'https://staging.shop.example/account' }),
    await accountsApp(t, { url: `${pages}/other` }),
  ]
  const { users, ...links } = await linksOf(shop)
  for (const office of offices) {
    const before = JSON.stringify(office.table)
    const staff = { alice: await office.logIn(), carol: await office.logIn(3) }
    for (const kind of kinds)
      t.equal(await openLink(office, kind, links[kind], staff), invalid, kind)
    t.equal(JSON.stringify(office.table), before)
  }
  const same = await accountsApp(t, { url: pages })
  t.equal(await openLink(same, 'invitation', links.invitation, users), '200 tokens')
})

t.test('of twenty uses of links at once one wins, and its session stays', async (t) => {
  const lost = new Set([
    invalid,
    '401 ERR_AUTH_JWT_INVALID',
    // The tenth bad use of one link by one client, and a client of which too many passwords wait to be hashed.
    '429 ERR_AUTH_TOO_MANY_ATTEMPTS',
    '503 ERR_AUTH_OVERLOADED',
  ])
  for (const [kind, id, mailed, created] of [
    ['sign-up', 4, 0, 1],
    ['reset', 1, 1, 0],
    ['set', 3, 1, 0],
  ] as const) {
    const setting = await accountsApp(t, {}, { hashing: { cost: 4, maxQueue: 100 } })
    const { app, post, me, mails, enter, stored, table, tokenOf } = setting
    const { users, ...links } = await linksOf(setting)
    const others = {
      'sign-up': links.invitation,
      reset: await tokenOf('/sign-up', { email: 'alice@example.com' }),
      set: await tokenOf('/password/set', {}, users.carol),
    }
    const [url, good] = opened[kind]
    const passwords = Array.from({ length: 20 }, (_, each) => `${newPassword} ${each}`)
    const all = await Promise.all(
      passwords.map((password, each) => {
        const token = each % 2 === 0 ? links[kind] : others[kind]
        return post(url, { token, password }, kind === 'set' ? users.carol : {})
      }),
    )
    const answers = all.map(answerOf)
    const won = answers.indexOf(good)
    t.equal(answers.filter((answer) => lost.has(answer)).length, 19, answers.join())
    t.equal((await app.authn.sessions.list(id)).length, kind === 'reset' ? 0 : 1)
    if (kind !== 'reset') t.equal(await me(bearer(pairOf(all[won] as never).token)), 200)
    t.equal(await enter(String(stored(id)?.email), String(passwords[won])), 200)
    t.strictSame([(await mails()).length, table.length], [mailed, 3 + created])
    t.equal(app.authn.stats().accounts?.created, created)
  }
})

t.test('a used link stays used when what it changed is changed back', async (t) => {
  const { send, logIn, tokenOf, stored, table } = await accountsApp(t)
  const headers = await logIn()
  const [first, other] = ['alice@example.com', 'alice@new.example']
  const move = async (email: string | undefined): Promise<string> => {
    const token = await tokenOf('/email/change', { email, currentPassword: password }, headers)
    t.equal(await send('/email/confirm', { token }, headers), '204')
    return token
  }
  const tokens = [await move(other), await move(first)]
  for (const token of tokens) {
    t.equal(await send('/email/confirm', { token }, headers), invalid)
    t.equal(stored(1)?.email, first)
  }
  const token = await tokenOf('/sign-up', { email: dora })
  t.equal(await send('/sign-up/finish', { token, password: newPassword }), '200 tokens')
  table.pop()
  t.equal(await send('/sign-up/finish', { token, password: newPassword }), invalid)
  const set = async () => tokenOf('/password/set', {}, await logIn(3))
  const [used, unused] = [await set(), await set()]
  for (const [token, answer] of [
    [used, '200 tokens'],
    [used, invalid],
    [unused, '200 tokens'],
  ]) {
    Object.assign(stored(3) as AccountUser, { password: null })
    const session = await logIn(3)
    t.equal(await send('/password/change', { token, password: newPassword }, session), answer)
  }
})
