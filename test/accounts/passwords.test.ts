// New passwords: the rules for them, and what they end.
import { inspect } from 'node:util'
import bcrypt from 'bcrypt'
import t, { type Test } from 'tap'
import { AuthenticationError } from '../../lib/index.js'
import {
  accountsApp,
  accountsOver,
  newPassword,
  password,
  type AccountsApp,
  type AccountUser,
} from '../helpers/accounts.js'
import { bearer } from '../helpers/app.js'
import { cookiesOf } from '../helpers/cookies.js'
import { hashAtOnce, watchBcrypt } from '../helpers/load.js'
import { claimsOf, eventsOf, pairOf } from '../helpers/sessions.js'

const [short, long, guessable] = ['TOO_SHORT', 'TOO_LONG', 'GUESSABLE'].map(
  (end) => `400 ERR_AUTH_PASSWORD_${end}`,
) as [string, string, string]

/** Of a finished sign-up of christopher@example.com, by its password. */
const bcryptRows: [password: string, answer: string][] = [
  ['', short],
  ['hunter2', short],
  ['elephants run!', short],
  ['elephants run!!', '200 tokens'],
  // Code points count, not units of UTF-16.
  ['🐘🐎🐖🐑🐐🐪🐫🦒', short],
  ['🐘🐎🐖🐑🐐🐪🐫🦒🦘🦡🐾🦃🐔🐓', short],
  ['🐘🐎🐖🐑🐐🐪🐫🦒🦘🦡🐾🦃🐔🐓🐣', '200 tokens'],
  ['elephants '.repeat(7) + 'ru', '200 tokens'],
  ['elephants '.repeat(7) + 'run', long],
  ['ééééééééàùôîç'.repeat(3), long],
  ['a'.repeat(15), guessable],
  ['aabbccddaabbccdd', guessable],
  ['aAbBcCdDaAbBcCdD', guessable],
  ['aabbccddeeaabbcc', '200 tokens'],
  ['christopher@example.com', guessable],
  ['Christopher@Example.COM', guessable],
  ['christopher1984', guessable],
  ['19christopher84', guessable],
  ['1984CHRISTOPHER', guessable],
  ['christopher 1984', '200 tokens'],
]

/** Tries passwords, each of which is stored or uses up no link. */
async function tryAll(
  t: Test,
  { table, send, tokenOf }: AccountsApp,
  rows: readonly (readonly [password: string, answer: string])[],
): Promise<void> {
  for (const [password, answer] of rows) {
    const token = await tokenOf('/sign-up', { email: 'christopher@example.com' })
    t.equal(await send('/sign-up/finish', { token, password }), answer, password)
    const isStored = table.length === 4
    t.equal(isStored, answer === '200 tokens')
    const finish = { token, password: `${newPassword.repeat(3)}!` }
    if (!isStored) t.equal(await send('/sign-up/finish', finish), '200 tokens', 'the link works')
    table.pop()
  }
}

t.test('a new password is long enough, fits, and is not easy to guess', async (t) => {
  await tryAll(t, await accountsApp(t), bcryptRows)
})

t.test('minPasswordLength is 8 to 64, and argon2id takes more than 72 bytes', async (t) => {
  const rows = [
    ['elephan', short],
    ['elephant', '200 tokens'],
    ['elephants '.repeat(40), '200 tokens'],
    ['elephants '.repeat(500), long],
  ] as const
  const options = { hashing: { algorithm: 'argon2id', memory: 8192, passes: 1 } } as object
  await tryAll(t, await accountsApp(t, { minPasswordLength: 8 }, options), rows)
  const most = await accountsApp(t, { minPasswordLength: 64 })
  await tryAll(t, most, [['elephants '.repeat(6) + 'run', short]])
})

t.test(
  'reset, change and a first password have the same rules, and a stored address may have capitals',
  async (t) => {
    const { table, stored, send, tokenOf, logIn } = await accountsApp(t)
    table.push({ id: 4, email: 'Christopher@Example.com', password: bcrypt.hashSync(password, 4) })
    table.push({ id: 5, email: 'christopher@example.com', password: null })
    const token = await tokenOf('/password/forgot', { email: 'alice@example.com' })
    const headers = [await logIn(5), await logIn(4)] as const
    const set = await tokenOf('/password/set', {}, headers[0])
    const before = JSON.stringify(table)
    let tried = 0
    for (const [text, answer] of bcryptRows.filter(([, answer]) => answer !== '200 tokens')) {
      const change = { currentPassword: password, password: text }
      t.equal(await send('/password/change', change, headers[1]), answer, text)
      if (!/christopher/i.test(text) && (tried += 1) < 10)
        t.equal(await send('/password/reset', { token, password: text }), answer, text)
      if (/^hunter|^éé|christopher/i.test(text)) {
        const first = { token: set, password: text }
        t.equal(await send('/password/change', first, headers[0]), answer, text)
      }
    }
    t.equal(JSON.stringify(table), before)
    t.equal(await send('/password/reset', { token, password: newPassword }), '204')
    t.ok(bcrypt.compareSync(newPassword, stored(1)?.password ?? ''))
    const first = { token: set, password: newPassword }
    t.equal(await send('/password/change', first, headers[0]), '200 tokens')
  },
)

t.test('acceptPassword has the last word, and errors of it are told apart', async (t) => {
  const thrown = (error: unknown) => async () => {
    throw error
  }
  const conflict = Object.assign(new Error('for the client'), { statusCode: 422, code: 'PWNED' })
  const failed = Object.assign(new Error('a secret'), { statusCode: 503, code: 'PWNED' })
  const rows: [title: string, accept: (...given: unknown[]) => unknown, answer: string][] = [
    ...[true, Promise.resolve(true)].map((value): (typeof rows)[number] => [
      'true',
      () => value,
      '200 tokens',
    ]),
    ...[false, undefined, null, 1, 'true', {}, Promise.resolve(false)].map(
      (value): (typeof rows)[number] => [inspect(value), () => value, guessable],
    ),
    ['throws', thrown(new Error('a secret')), '500 ERR_AUTH_ACCOUNTS'],
    ['throws a 503', thrown(failed), '500 ERR_AUTH_ACCOUNTS'],
    ['throws a 422', thrown(conflict), '422 PWNED'],
    [
      'throws an AuthenticationError',
      thrown(new AuthenticationError('auth.password-too-long')),
      long,
    ],
  ]
  for (const [title, accept, answer] of rows) {
    const given: unknown[][] = []
    const acceptPassword = (...all: unknown[]) => {
      given.push(all.slice(0, 2))
      return accept(...all) as boolean
    }
    const { send, tokenOf, table } = await accountsApp(t, { acceptPassword })
    const token = await tokenOf('/sign-up', { email: 'dora@example.com' })
    t.equal(await send('/sign-up/finish', { token, password: 'a'.repeat(15) }), guessable)
    t.strictSame(given, [], 'it is asked after the rules')
    t.equal(await send('/sign-up/finish', { token, password: newPassword }), answer, title)
    t.strictSame(given, [[newPassword, 'dora@example.com']])
    t.equal(table.length, answer === '200 tokens' ? 4 : 3)
  }
})

t.test('a new password revokes all sessions, and the mailbox is told', async (t) => {
  for (const kind of ['reset', 'change', 'set'] as const) {
    const updates: unknown[][] = []
    const setting = await accountsApp(
      t,
      {
        update(user, after, before) {
          updates.push([after, before])
          return accountsOver(setting.table).update(user, after, before)
        },
      },
      { cookies: kind === 'reset' || undefined },
    )
    const { app, post, send, tokenOf, mails, me, enter, logIn, stored } = setting
    const id = kind === 'set' ? 3 : 1
    const { email, password: before } = stored(id) as AccountUser
    const sessions = [await logIn(id), await logIn(id), await logIn(2)] as const
    const events = [eventsOf(t, 'account'), eventsOf(t, 'login')] as const
    const forgot = await tokenOf('/password/forgot', { email: 'alice@example.com' })
    const proofs = {
      reset: { token: forgot },
      change: { currentPassword: password },
      set: kind === 'set' && { token: await tokenOf('/password/set', {}, sessions[0]) },
    }
    t.strictSame([updates, events], [[], [[], []]], 'nothing is changed yet')
    const url = kind === 'reset' ? '/password/reset' : '/password/change'
    const body = { ...proofs[kind], password: newPassword }
    const response = await post(url, body, sessions[1])
    t.equal(response.headers['cache-control'], 'no-store')
    t.strictSame(await Promise.all(sessions.map(me)), [401, 401, 200])
    const told = { link: undefined, token: undefined, user: { id } }
    t.match(await mails(), [{ kind: 'password-changed', to: email, ...told }])
    const action = kind === 'reset' ? 'password-reset' : 'password-changed'
    t.match(events[0], [{ action, sub: String(id), request: { method: 'POST' } }])
    const after = { email, passwordHash: stored(id)?.password }
    t.strictSame(updates, [[after, { email, passwordHash: before }]])
    const listed = await app.authn.sessions.list(id)
    if (kind === 'reset') {
      const found = [response.statusCode, response.body, cookiesOf(response), listed, events[1]]
      t.strictSame(found, [204, '', [], [], []], 'it logs no user in')
    } else {
      const pair = pairOf(response)
      t.strictSame(Object.keys(pair), ['token', 'refreshToken', 'expiresIn'])
      t.equal(await me(bearer(pair.token)), 200)
      t.match(listed, [{ sid: claimsOf(pair.token).sid }])
      t.strictSame([listed.length, events[1].length], [1, 1])
      t.match(await send(url, body, bearer(pair.token)), /^40[03]/, 'it works once')
    }
    const link = await send('/password/reset', { token: forgot, password })
    t.equal(link, kind === 'set' ? '204' : '400 ERR_AUTH_LINK_INVALID', 'links are dead')
    const statuses = [await enter(String(email), password), await enter(String(email), newPassword)]
    t.strictSame(statuses, [401, 200])
  }
})

t.test('nothing is hashed for a bad link or a rejected password', async (t) => {
  const watch = watchBcrypt(t)
  const { send, tokenOf, app } = await accountsApp(t)
  const token = await tokenOf('/password/forgot', { email: 'alice@example.com' })
  for (const url of ['/sign-up/finish', '/password/reset']) {
    const wrong = { token: `${token}x`, password: newPassword }
    t.equal(await send(url, wrong), '400 ERR_AUTH_LINK_INVALID')
  }
  t.equal(await send('/password/reset', { token, password: 'short' }), short)
  t.strictSame(watch.passwords(), [])
  t.equal(await send('/password/reset', { token, password: newPassword }), '204')
  t.strictSame(watch.passwords(), [newPassword])
  t.match(app.authn.stats().hashing, { running: 0 })
})

t.test('a full queue of hashing is a 503 that uses up no link', async (t) => {
  const watch = watchBcrypt(t, true)
  hashAtOnce(t, 1)
  const options = { hashing: { cost: 4, maxQueue: 0 } } as object
  const { send, tokenOf, table } = await accountsApp(t, {}, options)
  const token = await tokenOf('/sign-up', { email: 'dora@example.com' })
  const payload = { token, password: newPassword }
  const first = send('/sign-up/finish', { ...payload, password })
  const second = await send('/sign-up/finish', payload)
  t.equal(second, '503 ERR_AUTH_OVERLOADED')
  watch.running[0]?.fail(new Error('out of memory'))
  t.equal(await first, '500 ERR_AUTH_HASHING')
  t.equal(table.length, 3)
  watch.hold(false)
  t.equal(await send('/sign-up/finish', payload), '200 tokens')
})

t.test('a password that is too short is told how long one has to be', async (t) => {
  const settings = [
    [await accountsApp(t, {}, { errorBody: undefined }), 15],
    [await accountsApp(t, { minPasswordLength: 8 }, { errorBody: undefined }), 8],
  ] as const
  for (const [{ post, logIn }, least] of settings) {
    const headers = await logIn()
    const change = { currentPassword: password, password: 'short' }
    for (const language of 'de en es fr it nl pt pt-BR'.split(' ')) {
      const asked = { ...headers, 'accept-language': language }
      const { body } = await post('/password/change', change, asked)
      const { error } = JSON.parse(body) as { error: string }
      t.match(error, new RegExp(`^[^{}]* ${least} [^{}]*$`), language)
    }
  }
})
