// Startup with the option `mailLogin`.
import { PGlite } from '@electric-sql/pglite'
import t from 'tap'
import { memorySessions, sqlSessions } from '../../lib/sessions/index.js'
import { sqlSchema } from '../../lib/sessions/stores/sql-schema.js'
import { accountsOver, pages } from '../helpers/accounts.js'
import { base, everyOptionIsNamed, failureWith } from '../helpers/options.js'

const { findByUsername: _, ...functions } = accountsOver([])
const accounts = { url: pages, ...functions, sendMail: () => undefined }
const errorOf = failureWith('mailLogin', { ...base, accounts })
const short = 'short-secret-that-no-error-may-tell'.slice(0, 31)

t.test('startup fails for a wrong option, and the error names it', async (t) => {
  const bad = {
    accept: [null, true, {}],
    signUp: [null, 'no', 0],
    expiresIn: [119, 3001, 300.5, '600', null],
    code: [null, 6],
    key: [null, '', 7, [], short, [short], Array<string>(6).fill('x'.repeat(32))],
    routeOptions: [null, true],
  }
  await everyOptionIsNamed(t, 'mailLogin', (given) => errorOf(t, given), {}, bad, [short])
  for (const value of [null, false, 'on', [], 1, { signup: true }])
    t.match(
      await errorOf(t, value),
      { code: 'ERR_AUTH_OPTION', message: /mailLogin/ },
      JSON.stringify(value),
    )
})

t.test('startup succeeds at the limits of the options', async (t) => {
  const key = 'a secret of the tests, of 44 random bytes…'
  for (const given of [
    true,
    {},
    { expiresIn: 120 },
    { expiresIn: 3000 },
    { key },
    { key: Array<string>(5).fill(key) },
  ])
    t.equal(await errorOf(t, given), undefined)
})

t.test(
  'it needs accounts and what they need, and no sign-up where accounts have none',
  async (t) => {
    for (const missing of ['accounts', 'sessions', 'login']) {
      const error = await errorOf(t, true, { [missing]: missing === 'login' ? false : undefined })
      t.match(error, { code: 'ERR_AUTH_OPTION', message: new RegExp(`"${missing}"`) })
    }
    const closed = { accounts: { ...accounts, signUp: false } }
    t.match(await errorOf(t, { signUp: true }, closed), {
      message: /mailLogin\.signUp.*accounts\.signUp/,
    })
    const login = { ...base.login, passwords: false }
    t.equal(await errorOf(t, true, { ...closed, login }), undefined)
    t.match(await errorOf(t, true, {}, '/login/mail'), { message: /POST \/login\/mail/ })
  },
)

t.test('it needs a store of sessions that knows `once`', async (t) => {
  const { once: __, ...factory } = memorySessions()
  const error = await errorOf(t, true, { sessions: { store: factory } })
  t.match(error, { code: 'ERR_AUTH_OPTION', message: /"sessions\.store".*"mailLogin"/ })
})

t.test(
  'startup fails over tables of an earlier version, and the command that prints them upgrades them',
  async (t) => {
    const db = await PGlite.create()
    t.teardown(() => db.close())
    const store = sqlSessions({ query: (text, params) => db.query(text, params), prefix: 'shop' })
    const start = () => errorOf(t, true, { sessions: { store } })
    await db.exec(`${sqlSchema('shop')} DROP TABLE shop_used;`)
    t.match(await start(), {
      code: 'ERR_AUTH_OPTION',
      message: /shop_used.*sessions schema --prefix shop/,
    })
    const away = (text: string, params: (string | number | null)[]) =>
      text.includes('shop_used') ? Promise.reject(new Error('away')) : db.query(text, params)
    const late = sqlSessions({ query: away, prefix: 'shop' })
    t.equal(await errorOf(t, true, { sessions: { store: late } }), undefined, 'it may come later')
    // As Prisma 7 and 6 reject it.
    const driverAdapterError = { cause: { kind: 'TableDoesNotExist', originalCode: '42P01' } }
    for (const meta of [{ driverAdapterError }, { code: '42P01', message: 'shop_used' }]) {
      const rejected = Object.assign(new Error('Raw query failed.'), { code: 'P2010', meta })
      const prisma = (text: string, params: (string | number | null)[]) =>
        text.includes('shop_used') ? Promise.reject(rejected) : db.query(text, params)
      const over = sqlSessions({ query: prisma, prefix: 'shop' })
      t.match(await errorOf(t, true, { sessions: { store: over } }), { message: /shop_used/ })
    }
    await db.exec(sqlSchema('shop'))
    t.equal(await start(), undefined)
  },
)

t.test('a database that does not answer while the app starts may do so later', async (t) => {
  const store = sqlSessions({ query: () => new Promise(() => undefined), prefix: 'shop' })
  t.equal(await errorOf(t, true, { sessions: { store } }), undefined)
})
