// Sign-up and invitations: no account exists before its address is verified.
import { inspect } from 'node:util'
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import { AuthenticationError, type AccountMail, type NewAccount } from '../../lib/index.js'
import {
  accountsApp,
  accountsOver,
  newPassword,
  pages,
  type AccountUser,
} from '../helpers/accounts.js'
import { bearer } from '../helpers/app.js'
import { isFault } from '../helpers/flows.js'
import { claimsOf, eventsOf, pairOf, storeWith } from '../helpers/sessions.js'
import { watchBcrypt } from '../helpers/load.js'
import { rejectionOf } from '../helpers/errors.js'

const dora = 'dora@example.com'

t.test('a sign-up ends with an account, a login and no second use of its link', async (t) => {
  const { app, post, send, mails, table, me } = await accountsApp(t)
  const events = [eventsOf(t, 'account'), eventsOf(t, 'login'), eventsOf(t, 'failure')] as const
  const asked = await post('/sign-up', { email: ' Dora@Example.COM' }, { 'accept-language': 'de' })
  t.match(asked, { statusCode: 202, body: '{}', headers: { 'cache-control': 'no-store' } })
  t.equal(table.length, 3, 'no account yet')
  const [mail, ...others] = await mails()
  t.strictSame(others, [])
  const { token = '', ...rest } = mail as AccountMail
  const link = `${pages}/sign-up#${token}`
  t.strictSame(rest, { kind: 'sign-up', to: dora, link, expiresIn: 3600, lang: 'de', user: null })

  const payload = { token, password: newPassword, name: 'Dora' }
  const response = await post('/sign-up/finish', payload)
  t.equal(response.headers['cache-control'], 'no-store')
  const pair = pairOf(response)
  t.strictSame(Object.keys(pair), ['token', 'refreshToken', 'expiresIn'])
  t.equal(await me(bearer(pair.token)), 200)
  t.match(claimsOf(pair.token), { sub: 4, sid: String })
  t.match(table[3], { id: 4, email: dora, password: /^\$2b\$04\$/, data: undefined })
  t.strictSame(await mails(), [])
  t.equal(await send('/sign-up/finish', payload), '400 ERR_AUTH_LINK_INVALID')
  t.equal(table.length, 4)
  t.match(events, [
    [{ action: 'created', sub: '4', request: { url: '/sign-up/finish' } }],
    [{ authenticator: 'login', user: { email: dora } }],
    [{ code: 'ERR_AUTH_LINK_INVALID', authenticator: 'account', reason: String, accepts: [] }],
  ])
  t.strictSame(app.authn.stats().accounts, { created: 1, mails: 1, mailsFailed: 0 })
})

t.test('a sign-up with the address of an account sends its user another e-mail', async (t) => {
  const { stored, mails, send, lines } = await accountsApp(t)
  const alice = { id: 1, email: 'alice@example.com' }
  const rows: [url: string, id: number, kind: string, link: boolean][] = [
    ['/sign-up', 1, 'account-exists', true],
    ['/password/forgot', 1, 'reset', true],
    ['/sign-up', 3, 'no-password', false],
    ['/password/forgot', 3, 'no-password', false],
  ]
  for (const [url, id, kind, hasLink] of rows) {
    const email = String(stored(id)?.email)
    t.equal(await send(url, { email: email.toUpperCase() }), '202 {}')
    const [mail, ...others] = await mails()
    t.strictSame(others, [])
    const { link, token, expiresIn, ...rest } = mail as NonNullable<typeof mail>
    t.strictSame(rest, { kind, to: email, lang: 'en', user: { ...alice, id, email } }, kind)
    const wanted = hasLink ? [`${pages}/reset#${token}`, 3600] : [undefined, undefined]
    t.strictSame([link, expiresIn], wanted, kind)
  }
  t.equal(await send('/password/forgot', { email: dora }), '202 {}')
  t.strictSame(await mails(), [], 'a stranger gets none')
  t.notMatch(lines.join(''), /"level":50/)
})

t.test('mails go to the stored spelling of an address, and to nothing that was sent', async (t) => {
  const { table, asked, mails, send } = await accountsApp(t)
  Object.assign(table[0] as AccountUser, { email: 'alice@xn--bcher-kva.example' })
  t.equal(await send('/sign-up', { email: 'Alice@BÜCHER.example ' }), '202 {}')
  t.match(await mails(), [{ kind: 'account-exists', to: 'alice@xn--bcher-kva.example' }])
  t.strictSame(asked, ['alice@xn--bcher-kva.example'])
  const folding = await accountsApp(
    t,
    {},
    {
      userService: {
        findByUsername: () => ({ id: 1, email: 'Alice@Example.com', password: null }),
      },
    },
  )
  t.equal(await folding.send('/password/forgot', { email: 'alice@example.com' }), '202 {}')
  t.match(await folding.mails(), [{ kind: 'no-password', to: 'Alice@Example.com' }])
})

t.test(
  'a link to sign up dies when its address has an account, whatever create does',
  async (t) => {
    const watch = watchBcrypt(t)
    const create = (): boolean => t.fail('it would overwrite an account')
    const { send, tokenOf, table } = await accountsApp(t, { create })
    const token = await tokenOf('/sign-up', { email: dora })
    table.push({ id: 4, email: dora, password: null })
    const payload = { token, password: newPassword }
    t.equal(await send('/sign-up/finish', payload), '400 ERR_AUTH_LINK_INVALID')
    t.strictSame(watch.passwords(), [])
  },
)

t.test('create decides over a taken address, and its errors are told apart', async (t) => {
  const thrown = (error: unknown) => async () => {
    throw error
  }
  const teapot = Object.assign(new Error('a secret'), { statusCode: 500, code: 'X' })
  const conflict = Object.assign(new Error('for the client'), { statusCode: 409, code: 'TAKEN' })
  const rows: [title: string, create: () => unknown, answer: string][] = [
    ...[undefined, null, false, 0, '', [], { rowCount: 0, rows: [] }].map(
      (value): [string, () => unknown, string] => [
        `returns ${JSON.stringify(value)}`,
        () => value,
        '400 ERR_AUTH_LINK_INVALID',
      ],
    ),
    ['returns a text', () => 'OK', '500 ERR_AUTH_ACCOUNTS'],
    ['throws', thrown(new Error('a secret')), '500 ERR_AUTH_ACCOUNTS'],
    ['throws nothing', thrown(undefined), '500 ERR_AUTH_ACCOUNTS'],
    ['throws with a 500', thrown(teapot), '500 ERR_AUTH_ACCOUNTS'],
    ['throws a 409', thrown(conflict), '409 TAKEN'],
    [
      'throws that it is overloaded',
      thrown(new AuthenticationError('auth.overloaded')),
      '503 ERR_AUTH_OVERLOADED',
    ],
    [
      'throws an AuthenticationError',
      thrown(new AuthenticationError('auth.password-guessable')),
      '400 ERR_AUTH_PASSWORD_GUESSABLE',
    ],
  ]
  for (const [title, create, answer] of rows) {
    const { post, send, tokenOf, app } = await accountsApp(t, { create: create as () => boolean })
    const token = await tokenOf('/sign-up', { email: dora })
    const payload = { token, password: newPassword }
    t.equal(await send('/sign-up/finish', payload), answer, title)
    t.equal(app.authn.stats().accounts?.created, 0)
    if (answer.startsWith('500')) {
      isFault(t, await post('/sign-up/finish', payload), 'ERR_AUTH_ACCOUNTS', title)
    }
  }
})

t.test('create gets the verified address, a hash and the request', async (t) => {
  const given: [NewAccount, unknown][] = []
  const create = (account: NewAccount, { body }: FastifyRequest): undefined =>
    void given.push([account, body])
  const { send, tokenOf } = await accountsApp(t, { create })
  const token = await tokenOf('/sign-up', { email: dora })
  const payload = { token, password: newPassword, name: 'Dora', email: 'bob@example.com' }
  t.equal(await send('/sign-up/finish', payload), '400 ERR_AUTH_LINK_INVALID')
  t.match(given, [[{ email: dora, passwordHash: /^\$2b\$04/ }, payload]])
  t.strictSame(Object.keys(given[0]?.[0] as object), ['email', 'passwordHash'])
})

t.test('an invitation is a link to sign up, with data that nobody can change', async (t) => {
  const create = (account: NewAccount): undefined => void given.push(account)
  const given: NewAccount[] = []
  const { app, send, mails } = await accountsApp(t, { signUp: false, create })
  t.equal((await app.inject({ method: 'POST', url: '/sign-up' })).statusCode, 404)
  const { accounts } = app.authn
  const request = { lang: 'fr' } as FastifyRequest
  for (const [options, expiresIn, invitation] of [
    [undefined, 604_800, undefined],
    [{}, 604_800, undefined],
    [{ data: { role: 'admin' }, expiresIn: 60 }, 60, { role: 'admin' }],
    [{ data: null, expiresIn: 2_592_000 }, 2_592_000, null],
  ] as const) {
    t.equal(await accounts.invite(' Dora@EXAMPLE.com', request, options), true)
    const [mail] = await mails()
    const { token = '', ...rest } = mail as AccountMail
    const link = `${pages}/sign-up#${token}`
    t.strictSame(rest, { kind: 'invitation', to: dora, link, expiresIn, lang: 'fr', user: null })
    t.equal(
      await send('/sign-up/finish', { token, password: newPassword, invitation: 1 }),
      '400 ERR_AUTH_LINK_INVALID',
    )
    t.strictSame(
      { ...given.pop(), passwordHash: '' },
      { email: dora, passwordHash: '', ...(invitation !== undefined && { invitation }) },
    )
  }
  t.equal(await accounts.invite('ALICE@example.com', request), false, 'has an account')
  t.equal(await accounts.invite('carol@example.com', request), false)
  t.strictSame(await mails(), [])
})

t.test('the address of a user whom the app rejects is taken', async (t) => {
  const findByUsername = () => {
    throw new AuthenticationError('Your account is suspended.')
  }
  const { app, mails } = await accountsApp(t, {}, { userService: { findByUsername } })
  const { log } = app
  t.equal(await app.authn.accounts.invite(dora, { lang: 'en', log } as FastifyRequest), false)
  t.strictSame(await mails(), [])
})

t.test('invite() rejects what is wrong, and a failed e-mail', async (t) => {
  const failure = new Error('no mailer')
  const { app, asked } = await accountsApp(t, { sendMail: () => Promise.reject(failure) })
  const invite = app.authn.accounts.invite as (...given: unknown[]) => Promise<boolean>
  const request = { lang: 'en' }
  for (const email of ['', 'dora', 'dora@', '@example.com', 1, null, undefined, {}, ['a@b@c']]) {
    t.equal((await rejectionOf(invite(email, request))).code, 'ERR_AUTH_CLAIMS', inspect(email))
  }
  for (const expiresIn of [59, 2_592_001, 60.5, '60', null, Number.NaN, Infinity]) {
    const { code } = await rejectionOf(invite(dora, request, { expiresIn }))
    t.equal(code, 'ERR_AUTH_CLAIMS', String(expiresIn))
  }
  t.strictSame(asked, [])
  const cyclic: { self?: object } = {}
  cyclic.self = cyclic
  for (const data of [1n, cyclic]) {
    t.equal((await rejectionOf(invite(dora, request, { data }))).code, 'ERR_AUTH_CLAIMS')
  }
  t.equal((await rejectionOf(invite(dora, request))).error, failure)
  t.match(app.authn.stats().accounts, { mails: 0, mailsFailed: 1 })
})

t.test('a wrong result of create for a taken address does not log in', async (t) => {
  for (const answer of [{ id: 4 }, new Error('unique')]) {
    const setting = await accountsApp(t, {
      create: async (account) => (await accountsOver(setting.table).create(account)) ?? answer,
    })
    const { send, tokenOf, table } = setting
    const token = await tokenOf('/sign-up', { email: dora })
    const answers = await Promise.all(
      [1, 2].map((each) => send('/sign-up/finish', { token, password: `${newPassword}${each}` })),
    )
    t.strictSame(answers.toSorted(), ['200 tokens', '500 ERR_AUTH_ACCOUNTS'])
    t.equal(table.length, 4)
  }
})

t.test('an account that a replica does not show yet is created, and the log says so', async (t) => {
  // The account is read twice after it was stored, maybe by two replicas.
  for (const late of [1, 2]) {
    let reads: number | null = null
    const setting = await accountsApp(
      t,
      { create: (account) => ((reads = 0), accountsOver(setting.table).create(account)) },
      {
        userService: {
          async findByUsername(name: string | number) {
            if (reads !== null && name === dora && (reads += 1) >= late) return undefined
            return accountsOver(setting.table).findByUsername(name)
          },
        },
      },
    )
    const { send, tokenOf, table, lines, enter, app } = setting
    const token = await tokenOf('/sign-up', { email: dora })
    const body = { token, password: newPassword }
    t.equal(await send('/sign-up/finish', body), '204', `read ${late}`)
    t.match(lines.join(''), /"level":50.*replica/)
    t.strictSame([table.length, app.authn.stats().accounts?.created], [4, 1])
    reads = null
    t.equal(await enter(dora, newPassword), 200)
    t.equal(await send('/sign-up/finish', body), '400 ERR_AUTH_LINK_INVALID')
  }
})

t.test('a store that fails after the account was created makes the sign-up a 503', async (t) => {
  const create = () => Promise.reject(new Error('the store is away'))
  const setting = await accountsApp(t, {}, { sessions: { store: storeWith(() => ({ create })) } })
  const { send, tokenOf, table } = setting
  const token = await tokenOf('/sign-up', { email: dora })
  const code = await send('/sign-up/finish', { token, password: newPassword })
  t.equal(code, '503 ERR_AUTH_STORE_UNAVAILABLE')
  t.equal(table.length, 4, 'the user can log in later')
})
