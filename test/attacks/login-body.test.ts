import formbody from '@fastify/formbody'
import type { FastifyServerOptions } from 'fastify'
import t, { type Test } from 'tap'
import { authn } from '../../lib/index.js'
import { fastify, rawLines, passwords, secret, users } from '../helpers/app.js'
import { credulousService, isQuiet } from '../helpers/attacks.js'
import { bearerChallenge, isRejection, messages, type AnyResponse } from '../helpers/flows.js'

const { alice: password } = passwords
const hash = users[0]?.password ?? ''
const secrets = [password, hash, secret]

/** Its user service finds a user with the password of alice under every name, so that only checks of types are left. */
async function subjectOf(
  t: Test,
  { form = false, ...server }: FastifyServerOptions & { form?: boolean } = {},
) {
  const { lines, stream } = rawLines()
  const service = credulousService(hash)
  const app = fastify(t, { logger: { level: 'debug', stream }, ...server })
  if (form) await app.register(formbody)
  await app.register(authn, {
    userService: service,
    jwt: { secret },
    throttle: false,
    hashing: { cost: 4 },
  })
  await app.ready()
  return {
    app,
    service,
    lines,
    post: (payload: string | Buffer, contentType: string | null = 'application/json') =>
      app.inject({
        method: 'POST',
        url: '/login',
        payload,
        headers: contentType === null ? {} : { 'content-type': contentType },
      }),
  }
}

type Subject = Awaited<ReturnType<typeof subjectOf>>

const json = (value: unknown): string => JSON.stringify(value)
const good = json({ username: 'alice', password })

/** Rejected before a user is looked up: by its code, with a body of Fastify that repeats nothing. */
function isBad(
  t: Test,
  { service }: Subject,
  response: AnyResponse,
  [status, code]: readonly [status: number, code: string],
  title: string,
): void {
  const { message, ...body } = JSON.parse(response.body) as { message: string }
  t.strictSame(
    {
      status: response.statusCode,
      body,
      message: typeof message,
      type: response.headers['content-type'],
      challenge: response.headers['www-authenticate'],
      revealed: secrets.filter((secret) => response.body.includes(secret)),
      asked: service.asked,
    },
    {
      status,
      body: { statusCode: status, code, error: reasons[status] },
      message: 'string',
      type: 'application/json; charset=utf-8',
      challenge: undefined,
      revealed: [],
      asked: [],
    },
    title.length > 80 ? `${title.slice(0, 80)}… (${title.length})` : title,
  )
}

const reasons: Record<number, string> = { 400: 'Bad Request', 415: 'Unsupported Media Type' }
const validation = [400, 'FST_ERR_VALIDATION'] as const

const unknownType = [415, 'FST_ERR_CTP_INVALID_MEDIA_TYPE'] as const

/** The right credentials get a token, so what is rejected beside them is rejected for its own flaw. */
async function isIn(t: Test, { service }: Subject, response: AnyResponse, name = 'alice') {
  t.equal(response.statusCode, 200, `${name} is in`)
  t.equal(response.headers['cache-control'], 'no-store')
  t.match(JSON.parse(response.body), { token: /^[\w-]+\.[\w-]+\.[\w-]+$/ })
  t.same(service.asked.splice(0), [name])
}

t.test('fields in __proto__ do not count, even if Fastify lets them through', async (t) => {
  for (const poisoning of ['ignore', 'remove'] as const) {
    const subject = await subjectOf(t, {
      onProtoPoisoning: poisoning,
      onConstructorPoisoning: poisoning,
    })
    const inherited = [
      `{"__proto__":{"username":"alice","password":"${password}"}}`,
      `{"__proto__":{"username":"alice"},"password":"${password}"}`,
      `{"constructor":{"prototype":{"username":"alice","password":"${password}"}}}`,
      `{"username":{"__proto__":"alice"},"password":"${password}"}`,
    ]
    for (const body of inherited) {
      isBad(t, subject, await subject.post(body), validation, `${poisoning}: ${body}`)
    }
    const beside = `{"username":"alice","password":"${password}","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}`
    await isIn(t, subject, await subject.post(beside))
    t.notOk('polluted' in {}, 'Object.prototype is as it was')
    isQuiet(t, subject, secrets)
  }
})

t.test('a username with control characters gets a 400, one over 1024 bytes a 401', async (t) => {
  const subject = await subjectOf(t)
  const controls = Array.from({ length: 32 }, (_, code) => String.fromCharCode(code))
  const names = [
    ...[...controls, '\u007f'].flatMap((control) => [
      control,
      `alice${control}`,
      `${control}alice`,
    ]),
    '\ud800',
    '\udc00',
    'alice\ud800',
    '\udc00\ud800',
  ]
  for (const username of names) {
    const response = await subject.post(json({ username, password }))
    isBad(t, subject, response, validation, json(username))
  }
  for (const username of ['a'.repeat(1025), 'a'.repeat(16_000), '\u{1f600}'.repeat(257)]) {
    const response = await subject.post(json({ username, password }))
    isRejection(t, response, { error: messages.invalid, challenge: bearerChallenge }, 'too long')
    t.same(subject.service.asked, [])
  }
  for (const username of ['a'.repeat(1024), '\u{1f600}', '\u0080', ' alice ', '__proto__', '0']) {
    await isIn(t, subject, await subject.post(json({ username, password })), username)
  }
  isQuiet(t, subject, secrets)
})

t.test('a password that is almost right gets a 401', async (t) => {
  const subject = await subjectOf(t)
  const guesses = [`${password}\u0000`, `\u0000${password}`, `${password}\ud800`, `${password} `]
  guesses.push(password.toUpperCase(), password.slice(0, -1), `${password}${password}`, hash)
  guesses.push('x'.repeat(73), password.padEnd(73, '\u0000'), '\u{1f511}'.repeat(4000))
  for (const guess of guesses) {
    const response = await subject.post(json({ username: 'alice', password: guess }))
    const title = json(guess).slice(0, 60)
    isRejection(t, response, { error: messages.invalid, challenge: bearerChallenge }, title)
    t.same(subject.service.asked.splice(0), ['alice'])
  }
  await isIn(t, subject, await subject.post(good))
  isQuiet(t, subject, secrets)
})

t.test('of duplicate members the last one counts, for the checks and for the lookup', async (t) => {
  const subject = await subjectOf(t)
  const twice = `{"username":"bob","username":"alice","password":1,"password":"${password}"}`
  await isIn(t, subject, await subject.post(twice))
  const badLast = [
    `{"username":"alice","username":1,"password":"${password}"}`,
    `{"username":"alice","username":["alice"],"password":"${password}"}`,
    `{"username":"alice","username":"","password":"${password}"}`,
    `{"username":"alice","username":"alice\\u0000","password":"${password}"}`,
    `{"username":"alice","password":"${password}","password":["${password}"]}`,
  ]
  for (const body of badLast) isBad(t, subject, await subject.post(body), validation, body)
  isQuiet(t, subject, secrets)
})

t.test('a body is checked under every content type that is parsed as JSON', async (t) => {
  const subject = await subjectOf(t)
  const types = [
    'application/json',
    'APPLICATION/JSON',
    'application/json, text/plain',
    'application/json\u0000',
    'application/problem+json',
    'text/plain;application/json',
    'application/octet-stream',
    '__proto__',
    '"application/json"',
    'x'.repeat(10_000),
    null,
  ]
  let accepted = 0
  for (const type of types) {
    const title = json(type).slice(0, 60)
    const right = await subject.post(good, type)
    t.match(String(right.statusCode), /^(?:200|400|415)$/, `the right body as ${title}`)
    const asked = right.statusCode === 200 ? ['alice'] : []
    t.same(subject.service.asked.splice(0), asked, 'who was looked up')
    accepted += asked.length
    for (const value of [['alice'], { $ne: 1 }, 1, null]) {
      const { statusCode, body } = await subject.post(json({ username: value, password }), type)
      t.match(String(statusCode), /^(?:400|415)$/, `${json(value)} as ${title}`)
      t.notMatch(body, /token|wonderland/, 'no token, and nothing repeated')
      t.same(subject.service.asked, [], 'no user was looked up')
    }
  }
  t.ok(accepted > 0, `${accepted} of ${types.length} were taken for JSON`)
  isBad(t, subject, await subject.post(good, 'text/plain'), validation, 'text')
  isBad(t, subject, await subject.post(good, 'application/xml'), unknownType, 'XML')
  const form = `username=alice&password=${password}`
  const asForm = await subject.post(form, 'application/x-www-form-urlencoded')
  isBad(t, subject, asForm, unknownType, 'a form, without a parser of forms')
  isQuiet(t, subject, secrets)
})

t.test('a form with repeated or nested fields gets a 400', async (t) => {
  const subject = await subjectOf(t, { form: true })
  const form = 'application/x-www-form-urlencoded'
  const bad = [
    `username=alice&username=bob&password=${password}`,
    `username[]=alice&password=${password}`,
    `username=alice&password[$ne]=1`,
    `__proto__[username]=alice&__proto__[password]=${password}`,
    `username=&password=${password}`,
    'username=alice',
    `username=alice%00&password=${password}`,
    good,
    '',
    'a=1&'.repeat(4000),
  ]
  for (const body of bad) isBad(t, subject, await subject.post(body, form), validation, body)
  t.notOk('username' in {}, 'Object.prototype is as it was')
  await isIn(t, subject, await subject.post(`username=alice&password=${password}`, form))
  const polluting = `username=alice&password=${password}&__proto__[polluted]=1&__proto__=2`
  await isIn(t, subject, await subject.post(polluting, form))
  t.notOk('polluted' in {}, 'Object.prototype is as it was')
  // A name with a broken percent-encoding is a name as it stands.
  await isIn(t, subject, await subject.post(`username=%ff&password=${password}`, form), '%ff')
  isQuiet(t, subject, secrets)
})

t.test('credentials in headers, in the query or by another method do not log in', async (t) => {
  const subject = await subjectOf(t)
  const { app, service } = subject
  const query = `/login?username=alice&password=${password}`
  const headers = {
    authorization: `Basic ${Buffer.from(`alice:${password}`).toString('base64')}`,
    username: 'alice',
    password,
  }
  const emptyBody = await app.inject({ method: 'POST', url: '/login', headers })
  isBad(t, subject, emptyBody, validation, 'headers')
  const inQuery = await app.inject({ method: 'POST', url: '/login?username=alice', payload: {} })
  isBad(t, subject, inQuery, validation, 'query')
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
    const { statusCode, body } = await app.inject({ method, url: query, headers })
    t.equal(statusCode, 404, method)
    t.notMatch(body, /token/)
    t.same(service.asked, [])
  }
  await isIn(t, subject, await subject.post(good))
})
