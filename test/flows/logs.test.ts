import formbody from '@fastify/formbody'
import t from 'tap'
import type { AuthnOptions } from '../../lib/index.js'
import { appWith, basic, bearer, logLines, standardOptions, users } from '../helpers/app.js'
import { listen, send, serviceOf } from '../helpers/flows.js'
import { claims, hmacToken, keys, privatePem } from '../helpers/tokens.js'

const secret = 'the-secret-of-this-test-that-nobody-may-read'
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

t.test('credentials of another scheme are logged as such, and not quoted', async (t) => {
  const { lines, stream } = logLines()
  const app = await appWith(
    t,
    { ...standardOptions(), authenticators: { key: { authenticate: () => null } } },
    (app) => {
      app.get('/jwt', { config: { auth: true } }, () => 'ran')
      app.get('/any', { config: { auth: { use: ['jwt', 'basic'] } } }, () => 'ran')
      app.get('/key', { config: { auth: { use: 'key' } } }, () => 'ran')
    },
    { logger: { stream } },
  )
  const reasonOf = async (url: string, authorization?: string): Promise<unknown> => {
    lines.length = 0
    const headers = authorization === undefined ? {} : { authorization }
    t.equal((await app.inject({ url, headers })).statusCode, 401)
    const text = JSON.stringify(lines)
    t.notMatch(text, /eyJ|wonderland|YWxp/)
    return lines.find(({ msg }) => msg === 'Request rejected')?.['reason']
  }
  const token = app.jwtService.generateToken('alice')
  const basicHeader = basic('alice', password).authorization
  const others = 'Authorization: no credentials of an accepted scheme'
  t.equal(await reasonOf('/jwt'), undefined)
  for (const header of [basicHeader, token, `wonderland ${token}`, 'Bearer', `Digest ${token}`]) {
    t.equal(await reasonOf('/jwt', header), others)
  }
  t.equal(await reasonOf('/any', `Digest ${token}`), others)
  t.equal(await reasonOf('/key', `Digest ${token}`), others)
})

t.test('the log says in plain words why a token was rejected', async (t) => {
  const { lines, stream } = logLines()
  const options = { ...standardOptions(), sessions: true, jwt: { secret } } as const
  const app = await appWith(
    t,
    options,
    (app) => {
      app.get('/jwt', { config: { auth: true } }, () => 'ran')
      app.get('/any', { config: { auth: { use: ['jwt', 'basic'] } } }, () => 'ran')
      app.get('/basic', { config: { auth: { use: 'basic' } } }, () => 'ran')
    },
    { logger: { stream } },
  )
  const named = await appWith(
    t,
    { ...standardOptions(), jwt: { keys: [{ alg: 'HS256', kid: 'a', state: 'sign', secret }] } },
    (app) => app.get('/jwt', { config: { auth: true } }, () => 'ran'),
    { logger: { stream } },
  )
  const reasonsOf = async (token: string): Promise<string[]> => {
    lines.length = 0
    const headers = bearer(token)
    for (const url of ['/jwt', '/any', '/basic']) await app.inject({ url, headers })
    await named.inject({ url: '/jwt', headers })
    await app.inject({ method: 'POST', url: '/logout', headers })
    return lines.flatMap(({ reason }) => (typeof reason === 'string' ? [reason] : []))
  }
  for (const word of ['undefined', 'null', '[object Object]', '[object Promise]', 'NaN']) {
    const reasons = await reasonsOf(word)
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
    const reasons = await reasonsOf(token)
    t.equal(reasons.length, 5, token)
    for (const reason of reasons) t.notMatch(reason, /F(?:A?)ST_|JWT_|unknown$|Bearer/, reason)
  }
  lines.length = 0
  const payload = { username: 'alice', password: 'wrong' }
  await app.inject({ method: 'POST', url: '/login', payload, headers: bearer('undefined') })
  t.notMatch(JSON.stringify(lines), 'Bearer', 'a login does not read Authorization')
})

t.test('no line of the log has a token, password, key or hash', async (t) => {
  const lines: string[] = []
  let fails = false
  const list: Record<string, unknown> = {
    alice: users[0],
    invited: { name: 'invited', password: 'plain text in the database' },
    fieldless: { name: 'fieldless' },
  }
  const userService = serviceOf((name) => {
    if (fails) throw new Error('the database is away')
    return list[String(name)]
  })
  const options: AuthnOptions = {
    userService,
    jwt: { secret, rsa },
    basic: { username: 'admin', password: 'geheim-geheim' },
    authenticators: {
      odd: { authenticate: () => 'the string of an authenticator' as never },
      broken: { authenticate: () => Promise.reject(new Error('broken')) },
    },
  }
  const app = await appWith(
    t,
    options,
    async (app) => {
      await app.register(formbody)
      for (const use of ['jwt', 'basic', 'configBasic', 'odd', 'broken']) {
        app.get(`/${use}`, { config: { auth: { use } } }, (request) => {
          request.log.info({ user: request.user }, 'handled')
          return request.user
        })
        app.get(`/try/${use}`, { config: { auth: { mode: 'try', use } } }, () => 'ran')
      }
      app.post('/jwt', { config: { auth: true } }, (request) => {
        request.log.info(request.user)
        return {}
      })
    },
    { logger: { level: 'trace', stream: { write: (line: string) => void lines.push(line) } } },
  )
  const port = await listen(app)
  const tokens = [
    app.jwtService.generateToken('alice'),
    app.jwtService.generateTokenWithClaims({ sub: 'alice' }, 'RS256'),
    hmacToken({ alg: 'HS256' }, claims({ exp: 1 }), secret),
    hmacToken({ alg: 'HS256' }, claims({ sub: 'nobody' }), secret),
    hmacToken({ alg: 'HS256' }, claims({ sub: 'fieldless' }), secret),
    hmacToken({ alg: 'none' }, claims(), secret),
    hmacToken({ alg: 'HS256' }, 'no object at all', secret),
    hmacToken({ alg: 'HS256' }, claims(), 'another secret of enough length'),
    'eyJhbGciOiJIUzI1NiJ9.bm90IGpzb24.c2lnbmF0dXJl',
    'not-a-token-but-long-enough-to-be-found',
  ]
  const pairs = [
    basic('alice', password),
    basic('invited', password),
    basic('nobody', password),
    basic('fieldless', password),
    basic('admin', 'geheim-geheim'),
    ...wrongPasswords.map((wrong) => basic('alice', wrong)),
    { authorization: 'Basic this-is-no-base64-at-all' },
  ]
  const bodies: unknown[] = [
    { username: 'alice', password },
    { username: 'invited', password },
    { username: 'nobody', password },
    { username: 'fieldless', password },
    ...wrongPasswords.map((wrong) => ({ username: 'alice', password: wrong })),
    { username: 'alice', password: [password] },
    { username: 'alice', password: { nested: password } },
    { user: 'alice', password },
    password,
    [password],
  ]
  let answers = 0
  for (fails of [false, true]) {
    for (const headers of [...tokens.map(bearer), ...pairs]) {
      for (const use of ['jwt', 'basic', 'configBasic', 'odd', 'broken']) {
        for (const path of [`/${use}`, `/try/${use}`]) {
          await send(port, { path, headers })
          answers += 1
        }
      }
    }
    for (const body of bodies) {
      const headers = { 'content-type': 'application/json' }
      await send(port, { method: 'POST', path: '/login', headers, body: JSON.stringify(body) })
    }
    const json = { 'content-type': 'application/json' }
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const cut = JSON.stringify({ username: 'alice', password }).slice(0, -1)
    await send(port, { method: 'POST', path: '/login', headers: json, body: cut })
    const query = `username=alice&password=${password}`
    await send(port, { method: 'POST', path: '/login', headers: form, body: query })
    await send(port, { method: 'POST', path: '/login', headers: form, body: `${query}&password=x` })
    const headers = { ...bearer(tokens[0] ?? ''), ...json }
    await send(port, { method: 'POST', path: '/jwt', headers, body: '{}' })
  }
  await app.close()

  const log = lines.join('')
  t.ok(lines.length > answers, 'something was logged')
  t.match(log, /handled/, 'and that of the handlers')
  t.match(log, /"level":50/, 'and faults')
  const hidden: Record<string, string> = {
    password,
    secret,
    passphrase,
    'the password of the configuration': 'geheim-geheim',
    'the stored text': 'plain text in the database',
    'a key': privatePem(keys.rsa.privateKey).split('\n')[3] ?? '',
    'an encrypted key': rsa.private.split('\n')[3] ?? '',
    'what an authenticator returned': 'the string of an authenticator',
    'no base64': 'this-is-no-base64-at-all',
  }
  for (const [index, wrong] of wrongPasswords.entries()) hidden[`wrong password ${index}`] = wrong
  for (const [index, token] of tokens.entries()) {
    hidden[`token ${index}`] = token
    const [, payload = '', signature = ''] = token.split('.')
    if (payload !== '') hidden[`payload ${index}`] = payload
    if (signature !== '') hidden[`signature ${index}`] = signature
  }
  for (const [index, { authorization }] of pairs.entries()) {
    hidden[`pair ${index}`] = authorization.replace('Basic ', '')
  }
  for (const [name, text] of Object.entries(hidden)) {
    t.ok(text.length >= 8, `${name} is long enough to be told from other text`)
    const escaped = JSON.stringify(text).slice(1, -1)
    const line = lines.find((line) => line.includes(text) || line.includes(escaped))
    t.equal(line, undefined, name)
  }
  t.notMatch(log, /\$2[aby]\$\d\d\$/, 'no hash')
})
