import formbody from '@fastify/formbody'
import t, { type Test } from 'tap'
import type { AuthnOptions } from '../../lib/index.js'
import {
  appWith,
  basic,
  bearer,
  logLines,
  rawLines,
  standardOptions,
  users,
} from '../helpers/app.js'
import { serviceOf } from '../helpers/flows.js'
import { claims, hmacToken, keys, privatePem } from '../helpers/tokens.js'

const secret = 'the-secret-of-this-test-that-no-log-may-have'
const password = 'wonderland'
const passphrase = 'open sesame please'
const wrongPasswords = ['Tr0ub4dor&3', 'hunter2-hunter2', 'x'.repeat(100), `${password}\u0000tail`]
const rsa = {
  private: keys.rsa.privateKey.export({
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase,
  }) as string,
  passphrase,
}

/** An app with sessions and routes for jwt, Basic, both and an authenticator of the app, and the reasons that it logs. */
async function setting(t: Test, options: Partial<AuthnOptions> = {}) {
  const { lines, stream } = logLines()
  const authenticators = { key: { authenticate: () => null } }
  const app = await appWith(
    t,
    { ...standardOptions(), authenticators, ...options },
    (app) => {
      for (const [url, use] of Object.entries({ jwt: 'jwt', any: ['jwt', 'basic'], key: 'key' })) {
        app.get(`/${url}`, { config: { auth: { use } } }, () => 'ran')
      }
      app.get('/basic', { config: { auth: { use: 'basic' } } }, () => 'ran')
    },
    { logger: { stream } },
  )
  const reasonsOf = async (authorization: string | undefined, ...urls: string[]) => {
    lines.length = 0
    const headers = authorization === undefined ? {} : { authorization }
    for (const url of urls) {
      const method = url === '/logout' ? 'POST' : 'GET'
      t.equal((await app.inject({ method, url, headers })).statusCode, 401)
    }
    return lines.filter(({ msg }) => msg === 'Request rejected').map(({ reason }) => reason)
  }
  return { app, lines, reasonsOf }
}

t.test('the log says that credentials have another scheme, and does not quote them', async (t) => {
  const { app, lines, reasonsOf } = await setting(t)
  const token = app.jwtService.generateToken('alice')
  const others = 'Authorization: no credentials of an accepted scheme'
  t.strictSame(await reasonsOf(undefined, '/jwt'), [undefined])
  const { authorization } = basic('alice', password)
  for (const header of [authorization, token, `wonderland ${token}`, 'Bearer', `Digest ${token}`]) {
    t.strictSame(await reasonsOf(header, '/jwt'), [others])
    t.notMatch(JSON.stringify(lines), /eyJ|wonderland|YWxp/)
  }
  t.strictSame(await reasonsOf(`Digest ${token}`, '/any', '/key'), [others, others])
})

t.test('the log says in plain words why a token was rejected', async (t) => {
  const { app, lines, reasonsOf } = await setting(t, { sessions: true, jwt: { secret } })
  const keys = [{ alg: 'HS256', kid: 'a', state: 'sign', secret }] as const
  const named = await setting(t, { jwt: { keys } })
  const all = async (token: string): Promise<unknown[]> => [
    ...(await reasonsOf(`Bearer ${token}`, '/jwt', '/any', '/basic', '/logout')),
    ...(await named.reasonsOf(`Bearer ${token}`, '/jwt')),
  ]
  for (const word of ['undefined', 'null', '[object Object]', '[object Promise]', 'NaN']) {
    const reasons = await all(word)
    t.equal(reasons.length, 5, word)
    for (const reason of reasons) t.match(reason, `Bearer ${word}`)
  }
  const header = { alg: 'HS256', typ: 'JWT' }
  const good = app.jwtService.generateToken('alice')
  const bad = [
    'x',
    'a.b.c',
    'undefinedx',
    good.slice(0, -2),
    hmacToken(header, claims(), 'y'.repeat(64)),
    hmacToken({ ...header, alg: 'none' }, claims(), secret),
    hmacToken({ ...header, crit: ['x'] }, claims(), secret),
    `${good.split('.').slice(0, 2).join('.')}.`,
  ]
  for (const token of bad) {
    const reasons = await all(token)
    t.equal(reasons.length, 5, token)
    for (const reason of reasons) t.notMatch(reason, /F(?:A?)ST_|JWT_|unknown$|Bearer|^$/)
    t.ok(reasons.every((reason) => typeof reason === 'string'))
  }
  lines.length = 0
  const payload = { username: 'alice', password: 'wrong' }
  await app.inject({ method: 'POST', url: '/login', payload, headers: bearer('undefined') })
  t.notMatch(JSON.stringify(lines), 'Bearer', 'a login does not read Authorization')
})

t.test('no line of the log has a token, password, key or hash', async (t) => {
  const { lines, stream } = rawLines()
  let fails = false
  const stored = 'plain text in the database'
  const list: Record<string, unknown> = {
    alice: users[0],
    invited: { name: 'invited', password: stored },
    fieldless: { name: 'fieldless' },
  }
  const odd = 'the string of an authenticator'
  const admin = { username: 'admin', password: 'geheim-geheim' }
  const options: AuthnOptions = {
    userService: serviceOf((name) => {
      if (fails) throw new Error('the database is away')
      return list[String(name)]
    }),
    jwt: { secret, rsa },
    basic: admin,
    authenticators: { odd: { authenticate: () => odd as never } },
  }
  const uses = ['jwt', 'basic', 'configBasic', 'odd']
  const app = await appWith(
    t,
    options,
    async (app) => {
      await app.register(formbody)
      for (const use of uses) {
        app.get(`/${use}`, { config: { auth: { use } } }, (request) => {
          request.log.info({ user: request.user }, 'handled')
          return request.user
        })
        app.get(`/try/${use}`, { config: { auth: { mode: 'try', use } } }, () => 'ran')
      }
    },
    { logger: { level: 'trace', stream } },
  )
  const signed = (claims: object, key = secret): string => hmacToken({ alg: 'HS256' }, claims, key)
  const tokens = [
    app.jwtService.generateToken('alice'),
    app.jwtService.generateTokenWithClaims({ sub: 'alice' }, 'RS256'),
    signed(claims({ exp: 1 })),
    signed(claims({ sub: 'nobody' })),
    signed(claims({ sub: 'fieldless' })),
    signed(claims(), 'another secret of enough length'),
    'not-a-token-but-long-enough-to-be-found',
  ]
  const pairs = [
    ...['alice', 'invited', 'nobody', 'fieldless'].map((name) => [name, password] as const),
    ...wrongPasswords.map((wrong) => ['alice', wrong] as const),
    [admin.username, admin.password] as const,
  ]
  const headers = [...tokens.map(bearer), ...pairs.map((pair) => basic(...pair))]
  headers.push({ authorization: 'Basic this-is-no-base64-at-all' })
  const bodies = pairs.map(([username, password]) => JSON.stringify({ username, password }))
  bodies.push(JSON.stringify({ user: 'alice', password: { nested: password } }))
  bodies.push(String(bodies[0]).slice(0, -1), JSON.stringify([password]))
  const form = `username=alice&password=${password}`
  let answers = 0
  const post = async (type: string, payload: string): Promise<void> => {
    const headers = { 'content-type': `application/${type}` }
    await app.inject({ method: 'POST', url: '/login', headers, payload })
  }
  for (fails of [false, true]) {
    for (const url of uses.flatMap((use) => [`/${use}`, `/try/${use}`])) {
      for (const each of headers) await app.inject({ url, headers: each })
      answers += headers.length
    }
    for (const body of bodies) await post('json', body)
    for (const body of [form, `${form}&password=x`]) await post('x-www-form-urlencoded', body)
  }
  await app.close()

  const log = lines.join('')
  t.ok(lines.length > answers, 'something was logged')
  t.match(log, /handled/, 'and that of the handlers')
  t.match(log, /"level":50/, 'and internal errors')
  const hidden = [password, secret, passphrase, admin.password, stored, odd]
  hidden.push(privatePem(keys.rsa.privateKey).split('\n')[3] ?? '')
  hidden.push(rsa.private.split('\n')[3] ?? '', ...wrongPasswords)
  hidden.push(...headers.map(({ authorization }) => authorization.replace(/^\w+ /, '')))
  hidden.push(...tokens.flatMap((token) => token.split('.').slice(1)))
  for (const text of hidden) {
    t.ok(text.length >= 8, `${text} is long enough to be told from other strings`)
    const escaped = JSON.stringify(text).slice(1, -1)
    const line = lines.find((line) => line.includes(text) || line.includes(escaped))
    t.equal(line, undefined, text)
  }
  t.notMatch(log, /\$2[aby]\$\d\d\$/, 'no hash')
})
