// A password is the same however a system composes its characters.
import bcrypt from 'bcrypt'
import t, { type Test } from 'tap'
import { hashPassword, verifyPassword, type AuthnOptions } from '../../lib/index.js'
import { accountsApp } from '../helpers/accounts.js'
import { appWith, basic, cost, rawLines, secret, type TestUser } from '../helpers/app.js'
import { cli, piped } from '../helpers/cli.js'
import { rejectionOf } from '../helpers/errors.js'
import { hashAtOnce, login, settle, until, watchBcrypt } from '../helpers/load.js'

const composed = 'Zoë mañana wachtwoord'.normalize('NFC')
const decomposed = composed.normalize('NFD')

/** Spellings of one password, of which the first one is its NFC. */
const spellings: readonly (readonly string[])[] = [
  [composed, decomposed],
  ['Pässwörter 각 한글', 'Pässwörter 각 한글'.normalize('NFD')],
  [
    '\u00c5ngstr\u00f6m in \u03a9',
    '\u212bngstr\u00f6m in \u2126',
    'A\u030angstro\u0308m in \u03a9',
  ],
  ['q\u0323\u0307 and marks in order', 'q\u0307\u0323 and marks in order'],
  // A composed character that NFC takes apart.
  ['\u0915\u093c Devanagari', '\u0958 Devanagari'],
]

const plain = {
  pattern: /^plain:/,
  sample: 'plain:x',
  verify: (password: string, hash: string): boolean => hash === `plain:${password}`,
}

/** An app with one user, who logs in at `/login`, and by Basic at `/`. */
async function setting(t: Test, stored: string, more: AuthnOptions = {}) {
  hashAtOnce(t, 4)
  const user: TestUser = { id: 1, name: 'alice', password: stored }
  const updates: string[] = []
  const { lines, stream } = rawLines()
  const userService = {
    findByUsername: (name: string | number) => (name === user.name ? { ...user } : null),
    updatePasswordHash(_: object, hash: string, previous: string) {
      updates.push(previous)
      if (user.password === previous) user.password = hash
    },
  }
  const app = await appWith(
    t,
    { userService, jwt: { secret }, ...more },
    (app) => void app.get('/', { config: { auth: { use: 'basic' } } }, () => 'ok'),
    { logger: { level: 'error', stream } },
  )
  const enter = async (password: string, name = 'alice'): Promise<number> =>
    (await login(app, name, password)).statusCode
  const byBasic = async (password: string, name = 'alice'): Promise<number> =>
    (await app.inject({ url: '/', headers: basic(name, password) })).statusCode
  return { app, user, updates, lines, enter, byBasic }
}

t.test('accounts: each spelling of a new password logs in', async (t) => {
  const { send, tokenOf, enter, logIn } = await accountsApp(t)
  for (const [row, texts] of spellings.entries()) {
    const all = texts.map((text) => `${text}, and more`)
    for (const [at, password] of all.entries()) {
      const email = `user${row}${at}@example.com`
      const token = await tokenOf('/sign-up', { email })
      t.equal(await send('/sign-up/finish', { token, password }), '200 tokens')
      for (const spelling of all) t.equal(await enter(email, spelling), 200)
      t.equal(await enter(email, 'Zoe manana wachtwoord, and more'), 401)
    }
  }
  const headers = await logIn()
  const alice = 'alice@example.com'
  const change = { currentPassword: 'correct horse battery', password: decomposed }
  t.equal(await send('/password/change', change, headers), '200 tokens')
  t.equal(await enter(alice, composed), 200)
  const token = await tokenOf('/password/forgot', { email: alice })
  t.equal(await send('/password/reset', { token, password: `${decomposed}!` }), '204')
  t.equal(await enter(alice, `${composed}!`), 200)
  const again = { currentPassword: `${decomposed}!`, password: composed }
  t.equal(await send('/password/change', again, await logIn()), '200 tokens')
  // 14 characters, as a person counts them.
  const short = { token: await tokenOf('/password/forgot', { email: alice }) }
  const password = 'äbcdëfghïjklmn'.normalize('NFD')
  t.equal(await send('/password/reset', { ...short, password }), '400 ERR_AUTH_PASSWORD_TOO_SHORT')
})

t.test('a stored hash of another spelling is accepted as typed, and replaced', async (t) => {
  const stored = {
    bcrypt: bcrypt.hashSync(decomposed, cost),
    'bcrypt of a higher cost': bcrypt.hashSync(decomposed, cost + 1),
    foreign: `plain:${decomposed}`,
  }
  for (const [name, hash] of Object.entries(stored)) {
    for (const use of ['enter', 'byBasic'] as const) {
      const hashing = { cost, migrateFrom: [plain] }
      const { user, updates, ...ways } = await setting(t, hash, { hashing })
      t.equal(await ways[use](composed), 401, `${name}: not its hash`)
      t.equal(await ways[use](decomposed), 200, name)
      await until(() => updates.length === 1, 'it is replaced')
      t.ok(bcrypt.compareSync(composed, user.password))
      for (const spelling of [composed, decomposed]) t.equal(await ways[use](spelling), 200)
      await settle()
      t.equal(updates.length, 1, 'once')
    }
  }
})

t.test('a login in flight succeeds if another one replaces the hash of its spelling', async (t) => {
  const { user, updates, enter } = await setting(t, bcrypt.hashSync(decomposed, cost), {
    sessions: true,
  })
  const watch = watchBcrypt(t, true)
  const all = [enter(decomposed), enter(decomposed), enter(decomposed)]
  await until(() => watch.running.length === 3, 'all are compared')
  watch.hold(false)
  t.strictSame(await Promise.all(all), [200, 200, 200])
  t.equal(updates.length, 1)
  user.password = bcrypt.hashSync(decomposed, cost)
  watch.hold(true)
  const late = enter(decomposed)
  await until(() => watch.running.length === 1, 'it is compared')
  user.password = bcrypt.hashSync('changed', cost)
  watch.hold(false)
  t.equal(await late, 401, 'but not if the password has changed')
})

t.test('a hash of the NFC takes one comparison', async (t) => {
  const { enter } = await setting(t, await hashPassword(composed, { cost }))
  const watch = watchBcrypt(t)
  for (const spelling of [composed, decomposed]) t.equal(await enter(spelling), 200)
  t.strictSame(watch.passwords(), [composed, composed])
})

t.test('the 72 bytes of bcrypt are counted in the NFC of a password', async (t) => {
  // 36 characters of 2 bytes each, or 3 when decomposed.
  const longest = 'ä'.repeat(36)
  const app = await setting(t, await hashPassword(longest.normalize('NFD'), { cost }))
  t.strictSame([await app.enter(longest), await app.enter(longest.normalize('NFD'))], [200, 200])
  const { code } = await rejectionOf(hashPassword(`${longest}x`.normalize('NFD')))
  t.equal(code, 'ERR_AUTH_OPTION')

  // 72 bytes, whose NFC has 75.
  const growing = `\u0958${'x'.repeat(69)}`
  t.match(await rejectionOf(app.app.authn.hashPassword(growing)), { code: 'ERR_AUTH_OPTION' })
  const accounts = await accountsApp(t)
  const reset = {
    token: await accounts.tokenOf('/password/forgot', { email: 'alice@example.com' }),
  }
  const tooLong = { ...reset, password: growing }
  t.equal(await accounts.send('/password/reset', tooLong), '400 ERR_AUTH_PASSWORD_TOO_LONG')
  const typed = '\u0958'.repeat(100)
  const scrypt = { algorithm: 'scrypt', cost: 10, migrateFrom: [plain] } as const
  for (const [password, hash, more] of [
    [growing, bcrypt.hashSync(growing, cost), {}],
    [growing, bcrypt.hashSync(growing, cost), { maxPasswordBytes: false }],
    [typed, `plain:${typed}`, { hashing: scrypt }],
  ] as [string, string, AuthnOptions][]) {
    const old = await setting(t, hash, more)
    t.equal(await old.enter(password), 200)
    await settle()
    t.equal(await old.enter(password), 200, 'its hash stays')
    t.strictSame([old.updates, old.lines.join('')], [[], ''])
  }
})

t.test('maxPasswordBytes counts the NFC too', async (t) => {
  const hashing = { algorithm: 'scrypt', cost: 10 } as const
  const growing = '\u0958'.repeat(10)
  const stored = await hashPassword('x', hashing)
  const { app } = await setting(t, stored, { hashing, maxPasswordBytes: 59 })
  t.match(await rejectionOf(app.authn.hashPassword(growing)), { code: 'ERR_AUTH_OPTION' })
  t.ok(await app.authn.hashPassword('ä'.repeat(29).normalize('NFD')))
})

t.test('an attempt counts once, and is no guess in another spelling', async (t) => {
  const stored = await hashPassword(composed, { cost })
  for (const use of ['enter', 'byBasic'] as const) {
    for (const name of ['alice', 'nobody']) {
      const { [use]: attempt, app } = await setting(t, stored, { throttle: { perUsername: 3 } })
      for (let count = 0; count < 3; count += 1) {
        t.equal(await attempt(`${decomposed} ${count}`, name), 401)
      }
      t.equal(await attempt(decomposed, name), 429)
      t.equal(app.authn.stats().throttled, 1)
    }
  }
  // With a hash that only the second comparison matches.
  const oldHash = bcrypt.hashSync(decomposed, cost)
  const old = await setting(t, oldHash, { throttle: { perUsername: 9, perAddress: 2 } })
  for (let count = 0; count < 4; count += 1) {
    old.user.password = oldHash
    t.equal(await old.enter(decomposed), 200)
    await until(() => old.updates.length === count + 1, 'it is replaced')
  }
  // Once its name is throttled, a cached password passes, and another one counts for the address.
  const cached = await setting(t, stored, { throttle: { perUsername: 2, perAddress: 5 } })
  for (const spelling of [composed, decomposed]) t.equal(await cached.byBasic(spelling), 200)
  for (const spelling of [composed, decomposed]) {
    for (const guess of ['one', 'two']) t.equal(await cached.byBasic(guess), 401)
    t.equal(await cached.byBasic(spelling), 200)
  }
})

t.test('configBasic compares the NFC of both', async (t) => {
  for (const [nfc = '', other = ''] of spellings) {
    for (const configured of [nfc, other]) {
      const options = { basic: { username: 'Zoë', password: configured } }
      const app = await appWith(t, options, (app) => {
        app.get('/', { config: { auth: true } }, () => 'ok')
      })
      const statusOf = async (name: string, password: string): Promise<number> =>
        (await app.inject({ url: '/', headers: basic(name, password) })).statusCode
      t.strictSame([await statusOf('Zoë', nfc), await statusOf('Zoë', other)], [200, 200])
      t.equal(await statusOf('Zoë', `${nfc}.`), 401)
      t.equal(await statusOf('Zoë'.normalize('NFD'), nfc), 401, 'usernames stay as they are')
    }
  }
})

t.test('scripts and the command line hash the NFC', async (t) => {
  for (const [nfc = '', ...others] of spellings) {
    for (const spelling of [nfc, ...others]) {
      const made = await hashPassword(spelling, { cost })
      t.ok(bcrypt.compareSync(nfc, made))
      for (const each of [nfc, ...others]) t.equal(await verifyPassword(each, made), true)
      t.equal(await verifyPassword(spelling, bcrypt.hashSync(spelling, cost)), true, 'as typed')
    }
  }
  const printed = await cli('hash --cost 4', { stdin: piped('ä'.repeat(36).normalize('NFD')) })
  t.ok(bcrypt.compareSync('ä'.repeat(36), printed.stdout.trim()))
  t.equal((await cli('hash --cost 4', { stdin: piped('ä'.repeat(37)) })).exit, 1)
})
