// Whatever is wrong with what is stored is a 500, and never "has none".
import t from 'tap'
import { password } from '../helpers/accounts.js'
import { basic } from '../helpers/app.js'
import {
  codeNow,
  email,
  factorApp,
  key,
  otherKey,
  wrongCode,
  type FactorUser,
} from '../helpers/second-factor.js'
import { breakable, heldStore } from '../helpers/sessions.js'

const fault = '500 ERR_AUTH_SECOND_FACTOR'
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
  const { logIn, post, send, stored } = await factorApp(t, {}, { sessions })
  const headers = await logIn()
  const { secret, token } = JSON.parse(
    (await post('/second-factor/setup', undefined, headers)).body,
  )
  store.failure = new Error('down')
  const enable = await send('/second-factor/enable', { token, code: codeNow(secret) }, headers)
  t.equal(enable, '503 ERR_AUTH_STORE_UNAVAILABLE')
  t.equal(stored().secondFactor, null)
})

t.test('a look-up that leaves the password out, where users have passwords', async (t) => {
  const { send, enable, table } = await factorApp(t)
  const { headers, secret } = await enable()
  for (const row of table) delete (row as { password?: unknown }).password
  const body = { code: codeNow(secret, 1) }
  t.equal(await send('/second-factor/confirm', body, headers), '500 ERR_AUTH_PASSWORD_FIELD')
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
