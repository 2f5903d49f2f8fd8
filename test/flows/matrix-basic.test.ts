// Also holds lib/authenticators/basic.ts.
import bcrypt from 'bcrypt'
import t from 'tap'
import { basicAuthenticator, type AuthnOptions, type UserService } from '../../lib/index.js'
import {
  appWith,
  basic,
  bearer,
  cost,
  logLines,
  passwords,
  userService,
  users,
} from '../helpers/app.js'
import {
  anyService,
  serviceOf,
  basicChallenge,
  isFault,
  isRefusal,
  isWelcome,
  probe,
  texts,
} from '../helpers/flows.js'
import { runMatrix, type Outcome, type Row } from '../helpers/matrix.js'

const stored = [
  ...users,
  { id: 3, name: 'ключ', password: bcrypt.hashSync('пароль 🔑', cost) },
  { id: 4, name: 'carol', password: bcrypt.hashSync('co:lo:n:', cost) },
]
const use = 'basic'
const lenient = 'lenient'

function options(service: UserService<object> = userService(stored)): AuthnOptions {
  return {
    userService: anyService(service),
    authenticators: { lenient: basicAuthenticator({ optional: true }) },
  }
}

const encode = (bytes: string | Buffer): string => Buffer.from(bytes as string).toString('base64')
const header = (authorization: string): Record<string, string> => ({ authorization })

const none: Outcome = { none: { error: texts.none, challenge: basicChallenge } }
const wrong: Outcome = { wrong: { error: texts.invalid, challenge: basicChallenge } }
const malformed: Outcome = { wrong: { error: texts.none, challenge: basicChallenge } }
const alice: Outcome = { user: 'alice' }
const right = encode(`alice:${passwords.alice}`)

const rows: Row[] = [
  { name: 'right', headers: basic('alice', passwords.alice), outcome: alice },
  { name: 'right, scheme in lower case', headers: header(`basic ${right}`), outcome: alice },
  { name: 'right, scheme in upper case', headers: header(`BASIC ${right}`), outcome: alice },
  { name: 'right, several spaces', headers: header(`Basic   ${right}`), outcome: alice },
  { name: 'right, UTF-8', headers: basic('ключ', 'пароль 🔑'), outcome: { user: 'ключ' } },
  { name: 'right, colons in it', headers: basic('carol', 'co:lo:n:'), outcome: { user: 'carol' } },

  { name: 'no header', headers: {}, outcome: none },
  { name: 'another scheme', headers: bearer('abc.def.ghi'), outcome: none },
  { name: 'a scheme that begins like ours', headers: header(`Basics ${right}`), outcome: none },
  { name: 'an empty header', headers: header(''), outcome: none },
  { name: 'no scheme', headers: header(right), outcome: none },

  { name: 'wrong password', headers: basic('alice', 'wrong'), outcome: wrong },
  { name: 'password of another', headers: basic('alice', passwords.bob), outcome: wrong },
  { name: 'unknown user', headers: basic('nobody', passwords.alice), outcome: wrong },
  { name: 'empty password', headers: basic('alice', ''), outcome: wrong },

  { name: 'scheme alone', headers: header('Basic'), outcome: malformed },
  { name: 'scheme and a space', headers: header('Basic '), outcome: malformed },
  { name: 'no colon', headers: header(`Basic ${encode('alice')}`), outcome: malformed },
]

t.test('basic: modes and credentials', async (t) => runMatrix(t, { options, use, lenient }, rows))

t.test(
  'basic: the user service is asked with the name, and only where there is a usable one',
  async (t) => {
    const service = userService(stored)
    const app = await appWith(t, options(service), (app) => {
      app.get('/', { config: { auth: { use } } }, () => 'ok')
    })
    for (const { headers } of rows.filter(
      ({ outcome }) => outcome === malformed || outcome === none,
    )) {
      await app.inject({ url: '/', headers: headers as Record<string, string> })
    }
    await app.inject({ url: '/', headers: basic('', 'x') })
    await app.inject({ url: '/', headers: basic('n'.repeat(1025), 'x') })
    t.strictSame(service.asked, [])
    await app.inject({ url: '/', headers: basic('ключ', 'x') })
    t.strictSame(service.asked, ['ключ'])
  },
)

t.test('basic: stored hashes that are none are refused, with a warning', async (t) => {
  const hashes: Record<string, unknown> = {
    'an empty string': '',
    null: null,
    undefined,
    'a number': 5,
    'plain text': passwords.alice,
    'cut short': users[0]?.password.slice(0, -1),
    'of another algorithm': '$argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHQ$aGFzaA',
    'of cost 99': users[0]?.password.replace('$04$', '$99$'),
  }
  const { handler, take } = probe()
  const { lines, stream } = logLines()
  let password: unknown
  const app = await appWith(
    t,
    { authenticator: 'basic', userService: serviceOf(() => ({ name: 'alice', password })) },
    (app) => void app.get('/', { config: { auth: true } }, handler),
    { logger: { level: 'warn', stream } },
  )
  for (const [at, name] of Object.keys(hashes).entries()) {
    password = hashes[name]
    lines.length = 0
    const headers = basic('alice', passwords.alice)
    const response = await app.inject({ url: '/', headers, remoteAddress: `10.0.0.${at}` })
    isRefusal(t, response, { error: texts.invalid, challenge: basicChallenge }, name)
    t.equal(take(), 0)
    t.match(lines, [{ level: 40 }], name)
    t.notMatch(JSON.stringify(lines), passwords.alice)
  }
})

t.test('basic: a user without the password field is a fault that the log explains', async (t) => {
  const lines: string[] = []
  const { handler, take } = probe()
  const app = await appWith(
    t,
    {
      authenticator: 'basic',
      userService: serviceOf(() => ({ name: 'alice', hash: 'x' })),
      passwordField: 'pw',
    },
    (app) => void app.get('/', { config: { auth: 'try' } }, handler),
    { logger: { level: 'info', stream: { write: (line: string) => void lines.push(line) } } },
  )
  const response = await app.inject({ url: '/', headers: basic('alice', 'secret words') })
  isFault(t, response, 'ERR_AUTH_PASSWORD_FIELD')
  t.equal(take(), 0)
  t.notMatch(response.body, 'pw')
  const error = lines.filter((line) => line.includes('"level":50')).join('')
  t.match(error, /no field \\"pw\\"/)
  t.match(error, 'passwordField')
  t.notMatch(lines.join(''), 'secret words')
})

t.test('basic: passwords of more than 72 bytes', async (t) => {
  const long = 'é'.repeat(36)
  const password = bcrypt.hashSync(long, cost)
  const { handler, take } = probe()
  const appOf = (more: AuthnOptions): ReturnType<typeof appWith> =>
    appWith(
      t,
      {
        authenticator: 'basic',
        userService: serviceOf(() => ({ name: 'alice', password })),
        ...more,
      },
      (app) => void app.get('/', { config: { auth: true } }, handler),
    )
  t.ok(bcrypt.compareSync(`${long}!`, bcrypt.hashSync(long, cost)), 'bcrypt ignores the rest')

  const strict = await appOf({})
  isWelcome(
    t,
    await strict.inject({ url: '/', headers: basic('alice', long) }),
    'alice',
    '72 bytes',
  )
  t.equal(take(), 1)
  const refused = await strict.inject({ url: '/', headers: basic('alice', `${long}!`) })
  isRefusal(t, refused, { error: texts.invalid, challenge: basicChallenge }, '73 bytes')
  t.equal(take(), 0)

  const loose = await appOf({ maxPasswordBytes: false })
  isWelcome(t, await loose.inject({ url: '/', headers: basic('alice', `${long}!`) }), 'alice')
  t.equal(take(), 1)

  const short = await appOf({ maxPasswordBytes: 71 })
  t.equal((await short.inject({ url: '/', headers: basic('alice', long) })).statusCode, 401)
  t.equal(take(), 0)
})

t.test('basic: its own users and its own password field', async (t) => {
  const hash = bcrypt.hashSync('swordfish', cost)
  const { handler, take } = probe()
  const app = await appWith(
    t,
    {
      userService: anyService(userService()),
      authenticators: {
        staff: basicAuthenticator({
          userService: serviceOf((name) => (name === 'carol' ? { name, secret: hash } : null)),
          passwordField: 'secret',
        }),
      },
      realm: 'Staff "only"',
    },
    (app) => {
      app.get('/staff', { config: { auth: { use: 'staff' } } }, handler)
      app.get('/all', { config: { auth: { use: 'basic' } } }, handler)
      app.get('/raw', { config: { auth: { use: 'staff' } } }, (request) => request.user)
    },
  )
  const challenge = 'Basic realm="Staff \\"only\\"", charset="UTF-8"'
  const carol = basic('carol', 'swordfish')
  const aliceHeader = basic('alice', passwords.alice)
  isWelcome(t, await app.inject({ url: '/staff', headers: carol }), 'carol')
  isWelcome(t, await app.inject({ url: '/all', headers: aliceHeader }), 'alice')
  t.equal(take(), 2)
  isRefusal(t, await app.inject({ url: '/staff', headers: aliceHeader }), {
    error: texts.invalid,
    challenge,
  })
  isRefusal(t, await app.inject({ url: '/all', headers: carol }), {
    error: texts.invalid,
    challenge,
  })
  t.equal(take(), 0)
  t.strictSame((await app.inject({ url: '/raw', headers: carol })).json(), { name: 'carol' })
})
