// Whatever is wrong with what is stored is a 500, and never "has none".
import t, { type Test } from 'tap'
import { password } from '../helpers/accounts.js'
import { basic } from '../helpers/app.js'
import {
  bodyOf,
  codeNow,
  email,
  factorApp,
  key,
  otherKey,
  wrongCode,
  type FactorUser,
} from '../helpers/second-factor.js'
import { breakable, heldStore, storeWith } from '../helpers/sessions.js'

const fault = '500 ERR_AUTH_SECOND_FACTOR'
const invalid = '403 ERR_AUTH_CODE_INVALID'
const forms = { email, password }
const bob = { email: 'bob@example.com', password }

t.test('a text that cannot be read, and a lost column', async (t) => {
  const one = await factorApp(t, {}, {}, (app) => {
    app.get('/basic', { config: { auth: { use: 'basic' } } }, () => 'in')
  })
  const { send, enable, stored, app, lines, logIn } = one
  const headers = await logIn()
  await enable()
  const text = String(stored().secondFactor)
  const own = await logIn(bob.email)
  const [name = '', bytes = ''] = text.split('.')
  const flipped = `${name}.${bytes.slice(0, 30)}${bytes[30] === 'A' ? 'B' : 'A'}${bytes.slice(31)}`
  const bad: unknown[] = [
    '',
    'x',
    `${name}.`,
    `${name}.AAAA`,
    flipped,
    `x${text}`,
    7,
    {},
    undefined,
  ]
  for (const value of bad) {
    Object.assign(stored(), { secondFactor: value })
    t.equal(await send('/login', forms), fault, String(value))
  }
  delete stored().secondFactor
  t.equal(await send('/login', forms), fault, 'the column is missing')
  const inBasic = await app.inject({ url: '/basic', headers: basic(email, password) })
  t.equal(inBasic.statusCode, 500)
  t.equal((await app.inject({ url: '/second-factor', headers })).statusCode, 401)
  stored(2).secondFactor = text
  t.equal(await send('/login', bob), fault, 'the text of another user')
  const ofBob = await app.inject({ url: '/second-factor', headers: own })
  t.equal(ofBob.statusCode, 500)
  t.notMatch(ofBob.body, /key|text|column/)
  t.match(lines.join(''), /secondFactor.field/)
  t.notMatch(lines.join(''), new RegExp(`${bytes.slice(0, 20)}|${key}`))
})

t.test('no two texts have the same initialization vector', async (t) => {
  const { send, enable, stored, half } = await factorApp(t)
  const { secret, headers } = await enable()
  const vectors = new Set<string | undefined>()
  const see = () => vectors.add(stored().secondFactor?.split('.')[1]?.slice(0, 16))
  see()
  await send('/login/second-factor', { token: await half(), code: codeNow(secret, 1) })
  see()
  await send('/second-factor/forget-devices', undefined, headers)
  see()
  t.equal(vectors.size, 3)
})

t.test('keys are replaced one after the other', async (t) => {
  const table: FactorUser[] = []
  const withKeys = async (...keys: string[]) => {
    const setting = await factorApp(t, { key: keys })
    const [alice] = setting.table as [FactorUser]
    Object.assign(alice, table[0])
    table[0] = alice
    return setting
  }
  const { secret, recoveryCodes } = await (await withKeys(otherKey)).enable()
  t.equal(await (await withKeys(key)).send('/login', forms), fault, 'another key')
  const both = await withKeys(key, otherKey)
  const code = codeNow(secret, 1)
  const body = { token: await both.half(), code }
  t.equal(await both.send('/login/second-factor', body), '200 tokens')
  const last = await withKeys(key)
  const next = { token: await last.half(), code: recoveryCodes[0] }
  t.equal(await last.send('/login/second-factor', next), '200 tokens', 'a login has moved it')
})

t.test('an update that fails, returns an error or stores nothing', async (t) => {
  const broken: Record<string, [update: () => unknown, answer: string]> = {
    throws: [
      () => {
        throw new Error('secret-of-the-database')
      },
      fault,
    ],
    rejects: [async () => Promise.reject(new Error('secret-of-the-database')), fault],
    'returns an error': [() => new Error('secret-of-the-database'), fault],
    'returns a text': [() => 'secret-of-the-database', fault],
    'stores nothing': [() => 0, '503 ERR_AUTH_OVERLOADED'],
  }
  for (const [name, [update, answer]] of Object.entries(broken)) {
    let broke = false
    const { send, half, enable, lines, app, ...setting } = await factorApp(t, {
      update: (user, after, before) =>
        broke ? (update() as boolean) : setting.store(user, after, before),
    })
    const { secret, headers } = await enable()
    const token = await half()
    broke = true
    t.equal(await send('/login/second-factor', { token, code: codeNow(secret, 1) }), answer, name)
    t.equal(await send('/login/second-factor', { token, code: wrongCode(secret) }), answer, name)
    t.equal(await send('/second-factor/disable', undefined, headers), answer, name)
    t.equal(lines.filter((each) => each.includes('"level":50')).length > 0, answer === fault)
    void app
  }
})

t.test('a second factor is not enabled while no session can be revoked', async (t) => {
  const store = breakable(heldStore().factory)
  const sessions = { store: store.factory }
  const { logIn, send, stored, setUp } = await factorApp(t, {}, { sessions })
  const headers = await logIn()
  const { body } = await setUp(headers)
  store.failure = new Error('down')
  const enable = await send('/second-factor/enable', body, headers)
  t.equal(enable, '503 ERR_AUTH_STORE_UNAVAILABLE')
  t.equal(stored().secondFactor, null)
})

/** An app whose store of sessions fails in some of its methods, from a call on. */
async function failingApp(t: Test) {
  const broken = { methods: [] as string[], after: 0 }
  const fail = <T>(method: string, call: () => Promise<T>): Promise<T> => {
    const isBroken = broken.methods.includes(method) && --broken.after < 0
    return isBroken ? Promise.reject(new Error('down')) : call()
  }
  const store = storeWith((real) => ({
    create: (session) => fail('create', () => real.create(session)),
    list: (sub) => fail('list', () => real.list(sub)),
    revoke: (...args) => fail('revoke', () => real.revoke(...args)),
  }))
  const setting = await factorApp(t, {}, { sessions: { store } })
  return {
    ...setting,
    broken,
    /** Sends a request while a method fails after so many calls. */
    async sendWhile(methods: string[], after: number, ...request: Parameters<typeof setting.send>) {
      Object.assign(broken, { methods, after })
      const answer = await setting.send(...request)
      broken.methods = []
      return answer
    },
  }
}

const away = '503 ERR_AUTH_STORE_UNAVAILABLE'

t.test('a second factor is not left on where the rest of enabling it fails', async (t) => {
  for (const [method, after] of [
    ['list', 1],
    ['revoke', 0],
    ['create', 0],
  ] as const) {
    const { app, logIn, post, send, sendWhile, stored, enable, events, setUp } = await failingApp(t)
    const { body: begun } = await setUp(await logIn())
    const headers = await logIn()
    t.equal(await sendWhile([method], after, '/second-factor/enable', begun, headers), away, method)
    t.equal(stored().secondFactor, null)
    t.strictSame(events, [])
    t.equal(app.authn.stats().secondFactor?.enabled, 0)
    const { secret, headers: own } = await enable()
    const { body: next } = await setUp(own)
    t.equal(await sendWhile([method], after, '/second-factor/enable', next, own), away, method)
    const { token } = bodyOf(await post('/login', forms)).secondFactor
    const body = { token, code: codeNow(secret, 1) }
    t.equal(
      await send('/login/second-factor', body),
      '200 tokens',
      'the one that it was to replace',
    )
  }
})

t.test('a code is not used up while no session can be stored', async (t) => {
  for (const methods of [['create'], ['create', 'list', 'revoke']]) {
    const { half, send, sendWhile, enable, events } = await failingApp(t)
    const { secret, recoveryCodes, headers } = await enable()
    const token = await half()
    for (const code of [codeNow(secret, 1), ...recoveryCodes.slice(0, 3)]) {
      const body = { token, code }
      const confirm = ['/login/confirm', { code }, headers] as const
      t.equal(await sendWhile(methods, 0, '/login/second-factor', body), away)
      t.equal(await sendWhile(methods, 0, ...confirm), away)
      t.equal(await send('/login/second-factor', { token, code: wrongCode(secret) }), invalid)
      const logIn = async () => send('/login/second-factor', body)
      const all = await Promise.all([logIn(), logIn()])
      t.strictSame(all.sort(), ['200 tokens', invalid], 'it works, and once')
    }
    const left = events.flatMap((each) => each.left ?? [])
    t.strictSame(left, [9, 8, 7], 'an event for each that was used')
  }
})

t.test('a look-up that leaves the password out, where users have passwords', async (t) => {
  const { send, enable, table } = await factorApp(t)
  const { headers, secret } = await enable()
  for (const row of table) delete (row as { password?: unknown }).password
  const body = { code: codeNow(secret, 1) }
  t.equal(await send('/login/confirm', body, headers), '500 ERR_AUTH_PASSWORD_FIELD')
})

t.test('users without a password, where nobody has one', async (t) => {
  const login = {
    passwords: false,
    usernameField: 'email',
    subject: (user: object) => (user as FactorUser).id,
  }
  const { app, post, send, enable, table } = await factorApp(t, {}, { login }, (app) => {
    app.post('/begin', (request, reply) => app.authn.sessions.begin(1, request, reply))
  })
  for (const row of table) delete (row as { password?: unknown }).password
  const begin = async (): Promise<{ token: string; secondFactor: { token: string } }> =>
    JSON.parse((await post('/begin')).body) as never
  const { secret } = await enable({ authorization: `Bearer ${(await begin()).token}` })
  const { token } = (await begin()).secondFactor
  t.equal(await send('/login/second-factor', { token, code: codeNow(secret, 1) }), '200 tokens')
  t.ok(app.hasRoute({ method: 'POST', url: '/login/second-factor' }))
})

t.test(
  'a factor that another request replaces while it is enabled shows no recovery codes',
  async (t) => {
    let other: string | null = null
    const table: { stored(): FactorUser }[] = []
    const claims = async (): Promise<object> => {
      for (const { stored } of other === null ? [] : table) stored().secondFactor = other
      return {}
    }
    const login = {
      usernameField: 'email',
      subject: (user: object) => (user as FactorUser).id,
      claims,
    }
    const setting = await factorApp(t, {}, { login })
    const { enable, stored, logIn, send, setUp } = setting
    await enable()
    const before = stored().secondFactor as string
    stored().secondFactor = null
    const headers = await logIn()
    table.push(setting)
    const { body } = await setUp(headers)
    other = before
    t.equal(await send('/second-factor/enable', body, headers), '401 ERR_AUTH_LOGIN_EXPIRED')
    t.equal(stored().secondFactor, before, 'that of the other request stays')
  },
)
