// program: small
// What holds for every route of the plugin. The rows come from `onRoute`, so that a new route is among them.
import formbody from '@fastify/formbody'
import swagger from '@fastify/swagger'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import {
  assert,
  asyncProperty,
  boolean,
  constantFrom,
  dictionary,
  jsonValue,
  oneof,
  string,
} from 'fast-check'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import { answerOf, password } from './helpers/accounts.js'
import { basic, bearer } from './helpers/app.js'
import { anyCharacter, bounded } from './helpers/cases.js'
import { linesOf } from './helpers/cookies.js'
import { validated, type Operation } from './helpers/documents.js'
import { root } from './helpers/project.js'
import { codeNow, wrongCode } from './helpers/second-factor.js'
import { claimsOf, eventsOf } from './helpers/sessions.js'
import { bodyOf, typeOf, wholeApp, type Row } from './helpers/whole-app.js'

/** The names in the list of the page, without the one for requests to routes of the app. */
const page = readFileSync(join(root, 'docs/reference/events.md'), 'utf8')
const list = /\n- `authenticator` is[^]*?((?:`[\w-]+`(?:, | or )?)+) for the routes/.exec(page)?.[1]
const documented = [...String(list).matchAll(/`([\w-]+)`/g)].map(([, name]) => name)

const wrong = '400 FST_ERR_VALIDATION'

/** Over the app's own table, and over one of the package. */
function overBoth(title: string, play: (t: Test, table: { table: boolean }) => Promise<void>) {
  for (const table of [false, true])
    t.test(`${title}, ${table ? 'with' : 'without'} the option users`, (t) => play(t, { table }))
}

/** The routes of the admin API do what they are asked. */
const isAdmin = ({ url }: Row): boolean => url.startsWith('/admin/')

const withForms = (app: FastifyInstance): unknown => app.register(formbody)

overBoth('pages of other sites can use none of them with cookies', async (t, table) => {
  t.equal(documented.length, 10)
  const { posts, post, enter, stored, asked, lines } = await wholeApp(t, {}, {}, table)
  const failures = eventsOf(t, 'failure')
  const jar = await enter()
  const before = await stored()
  asked.length = 0
  t.ok(posts.length > 20)
  for (const row of posts) {
    for (const foreign of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
    ]) {
      failures.length = lines.length = 0
      const response = await post(row.url, bodyOf(row), { ...jar, ...foreign })
      t.equal(answerOf(response), '403 ERR_AUTH_CROSS_SITE', row.url)
      t.strictSame(linesOf(response), [])
      for (const { authenticator, accepts } of failures) {
        t.ok((accepts.length > 0 ? accepts : documented).includes(authenticator), authenticator)
        t.match(lines.join(''), `"authenticator":"${authenticator}"`)
      }
      const reported = failures.map(({ code, registration }) => `${code} ${registration}`)
      t.strictSame(reported, ['ERR_AUTH_CROSS_SITE /'])
    }
  }
  t.strictSame([await stored(), asked], [before, []])
})

overBoth(
  'bodies are strict, and other members are ignored but by the admin API',
  async (t, table) => {
    const { app, posts, post, enter, stored, asked, mails, lines } = await wholeApp(
      t,
      {},
      {},
      table,
    )
    const before = await stored()
    for (const row of posts) {
      const { url, members, needed } = row
      const valid = bodyOf(row)
      const jar = await enter()
      const ask = async (payload: unknown, type = 'application/json'): Promise<string> => {
        const response = await post(url, payload, { ...jar, 'content-type': type })
        t.equal(response.headers['cache-control'], 'no-store', url)
        return answerOf(response)
      }
      for (const [name, type] of Object.entries(members)) {
        for (const value of [1, true, null, [], ['a'], {}, { $ne: '' }, 'a'])
          if (!type.split(' ').includes(typeOf(value)))
            t.equal(await ask({ ...valid, [name]: value }), wrong, `${url} ${name}`)
        if (!needed.includes(name)) continue
        t.equal(await ask({ ...valid, [name]: undefined }), wrong, `${url} without ${name}`)
        if (name === 'token' || name === 'email')
          t.equal(await ask({ ...valid, [name]: '' }), wrong)
      }
      const hasMembers = Object.keys(members).length > 0
      for (const payload of ['1', '"a"', '[]', '[{}]', 'true'])
        if (hasMembers) t.equal(await ask(payload), wrong, `${url} ${payload}`)
      if (needed.length > 0) {
        t.equal(await ask('null'), wrong, url)
        t.equal(answerOf(await post(url, undefined, jar)), wrong, `${url} without a body`)
      }
      t.equal(await ask(''), '400 FST_ERR_CTP_EMPTY_JSON_BODY')
      t.match(await ask('{'), /^400 FST_ERR_CTP/)
      t.match(await ask('{"__proto__": {"email": "a@b.c"}}'), /^400 FST_ERR_CTP/)
      t.equal(await ask('a', 'text/csv'), '415 FST_ERR_CTP_INVALID_MEDIA_TYPE')
      const long = { ...valid, more: 'a'.repeat(16_384) }
      t.equal(await ask(long), '413 FST_ERR_CTP_BODY_TOO_LARGE')
      t.strictSame([await stored(), asked.filter((each) => each !== 1)], [before, []], url)
      const more = await ask({ ...valid, more: [1] })
      if (isAdmin(row)) t.equal(more, wrong)
      else t.notMatch(more, /FST_|^5/, url)
      await app.authn.accounts.settled()
      asked.length = mails.length = 0
    }
    t.notMatch(lines.join(''), /"level":(?:50|60)/)
  },
)

overBoth('routes of users who are logged in need a session of the user', async (t, table) => {
  const { app, rows, enter, stored, alice } = await wholeApp(t, {}, {}, table)
  const [, token = ''] = /__Host-token=([^;]+)/.exec(String((await enter()).cookie)) ?? []
  const before = await stored()
  const claims = claimsOf(token)
  const issued = { owner: String(alice), name: 'job', scopes: [], expiresAt: null }
  const { key } = await app.authn.apiKeys.issue(issued)
  const sid = `${String(claims.sid).split('.')[0]}.another`
  const issue = (changed: object) =>
    bearer(app.jwtService.generateTokenWithClaims(changed as never))
  const cases: [string, Record<string, string>, string][] = [
    ['nothing', {}, '401 ERR_AUTH_NO_CREDENTIALS'],
    ['Basic', basic('alice@example.com', password), '401 ERR_AUTH_NO_CREDENTIALS'],
    ['an API key', bearer(key), '401 ERR_AUTH_API_KEY_NOT_ACCEPTED'],
    ['a wrong token', bearer('a.b.c'), '401 ERR_AUTH_JWT_INVALID'],
    ['no session', bearer(app.jwtService.generateToken(alice)), '403 ERR_AUTH_FORBIDDEN'],
    ['another registration', issue({ ...claims, sid }), '403 ERR_AUTH_FORBIDDEN'],
    ['impersonation', issue({ ...claims, act: { sub: 2 } }), '403 ERR_AUTH_FORBIDDEN'],
    ['any act', issue({ ...claims, act: null }), '403 ERR_AUTH_FORBIDDEN'],
  ]
  for (const row of rows.filter(({ isOwn }) => isOwn)) {
    for (const [title, headers, answer] of cases) {
      const payload = row.method === 'GET' ? {} : { payload: bodyOf(row) }
      const response = await app.inject({
        method: row.method as 'GET',
        url: row.url,
        headers,
        ...payload,
      })
      t.equal(answerOf(response), answer, `${title}: ${row.method} ${row.url}`)
      t.equal(response.statusCode === 401, 'www-authenticate' in response.headers)
    }
  }
  t.equal(await stored(), before)
})

overBoth('odd bodies give no 5xx, change nothing and look no odd name up', async (t, table) => {
  const { app, posts, post, enter, users, asked, lines } = await wholeApp(
    t,
    {},
    {},
    { before: withForms, ...table },
  )
  const signed = [{}, { page: 'reset', path: '/login', sub: 1 }].map((claims) =>
    app.jwtService.generateTokenWithClaims(claims),
  )
  const odd = oneof(
    string({ unit: anyCharacter }),
    constantFrom(
      '',
      '\0',
      '\ud800',
      '@',
      'a@',
      'a@b@c',
      '%',
      '__proto__',
      '{}',
      '\r\n',
      '//',
      ...signed,
    ),
    constantFrom('a'.repeat(5000), '.'.repeat(5000), '💩'.repeat(1000)),
  )
  const value = oneof({ arbitrary: odd, weight: 4 }, jsonValue())
  const names = [...new Set(posts.flatMap(({ members }) => Object.keys(members))), '__proto__']
  const bodies = oneof(
    { arbitrary: dictionary(constantFrom(...names), value, { noNullPrototype: true }), weight: 9 },
    jsonValue(),
  )
  const forms = [
    'application/x-www-form-urlencoded',
    'text/plain',
    'application/json; charset=utf-16',
  ]
  const types = oneof(constantFrom('application/json', ...forms), string({ maxLength: 30 }))
  const texts = oneof(
    { arbitrary: bodies.map((body) => JSON.stringify(body)), weight: 4 },
    odd.map((text) => `token=${encodeURIComponent(text.toWellFormed())}&email=${text}`),
  )
  let before = await users()
  let jar = await enter()
  const property = asyncProperty(
    constantFrom(...posts),
    texts,
    types,
    boolean(),
    async (row, payload, type, isIn) => {
      const headers = { 'content-type': type, ...(isIn && jar) }
      asked.length = 0
      const { statusCode, body: text } = await post(row.url, payload, headers)
      if (statusCode >= 500) throw new Error(`${row.url} ${statusCode}: ${text}`)
      if (isIn && [204, 401].includes(statusCode)) jar = await enter()
      await app.authn.accounts.settled()
      if (!asked.every((name) => /^\P{Cc}{1,1024}$/u.test(String(name))))
        throw new Error('an odd name')
      if (isAdmin(row)) before = await users()
      if ((await users()) !== before) throw new Error('the table has changed')
    },
  )
  await assert(property, bounded(1500))
  t.notMatch(lines.join(''), /"level":(?:50|60)/)
})

overBoth('rejections are localized, and reported under a documented name', async (t, table) => {
  const { posts, post, enter } = await wholeApp(t, { errorBody: undefined }, {}, table)
  const failures = eventsOf(t, 'failure')
  const jar = await enter()
  for (const row of posts) {
    failures.length = 0
    const foreign = { ...jar, 'sec-fetch-site': 'cross-site' }
    const german = { 'accept-language': 'de' }
    const all = [
      await post(row.url, bodyOf(row), { ...foreign, ...german }),
      await post(row.url, bodyOf(row), german),
    ]
    const open = ['sign-up', 'forgot', 'options', '/mail'].some((end) => row.url.endsWith(end))
    t.equal(failures.length, !row.isOwn && open ? 1 : 2, row.url)
    for (const [at, response] of all.slice(0, failures.length).entries()) {
      t.match(response.headers, {
        // What a feature says of its own is not translated into each language.
        'content-language': at === 0 || row.isOwn ? 'de' : /^(?:de|en)$/,
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-store',
        vary: /Accept-Language/,
      })
      t.match(response.json(), { error: String }, row.url)
    }
    for (const { authenticator, accepts } of failures)
      t.ok((accepts.length > 0 ? accepts : documented).includes(authenticator), authenticator)
  }
})

/** What they answer where all goes well and that is no 200. */
const successes: Record<string, string> = {
  '200,202': '/login',
  '200,204': '/sign-up/finish',
  '200,202,204': '/login/mail/finish',
  '201': '/passkeys',
  '202': '/sign-up /password/forgot /password/set /email/change /login/mail',
  '201,202': '/admin/users',
  '204':
    '/identities/remove /admin/users/{id} /admin/users/{id}/disable /admin/users/{id}/enable /admin/users/{id}/log-out /admin/users/{id}/second-factor/disable /admin/users/{id}/remove /logout /password/reset /email/confirm /account/delete /second-factor/forget-devices /second-factor/disable /passkeys/rename /passkeys/remove',
}

overBoth('API documents have each of them, with what it needs and answers', async (t, table) => {
  const before = (app: FastifyInstance): unknown =>
    app.register(swagger, { openapi: { info: { title: 'Shop', version: '1' } } })
  const { app, rows } = await wholeApp(t, {}, { schema: { tags: ['own'] } }, { before, ...table })
  const document = app.swagger() as unknown as { paths?: Record<string, Record<string, Operation>> }
  t.match((await validated(document)).result, { valid: true })
  const known = Object.entries(successes).flatMap(([answers, urls]) =>
    urls.split(' ').map((url): [string, string] => [url, answers]),
  )
  for (const row of rows) {
    const { method, isOwn, needed } = row
    const url = row.url.replace(/[\da-f-]{36}/, '{id}')
    if (!isOwn && method !== 'POST') continue
    const operation = document.paths?.[url]?.[method.toLowerCase()]
    t.match(operation, { tags: ['own'], summary: String }, url)
    const { responses, security, requestBody } = operation as Operation
    t.equal(security?.every((each) => Object.keys(each).length > 0) ?? false, isOwn, url)
    t.strictSame(requestBody?.content['application/json']?.schema.required ?? [], needed, url)
    const isOpen = !isOwn && /^\/(?:sign-up|password)|options$|mail$/.test(url)
    const success = method === 'GET' ? undefined : new Map(known).get(url)
    const answers = [success ?? '200', ...(isOpen ? [400, 403] : [400, 401, 403])]
    if (/\{id\}|identities\/remove/.test(url)) answers.push(404)
    const isFree = method === 'GET' || /enable$|log-out$/.test(url)
    if (/\w+s\/remove$/.test(url) || (isAdmin(row) && !isFree)) answers.push(409)
    t.equal(Object.keys(responses).join(), [...answers, 503].join(), url)
  }
})

t.test('forms are read where the app parses them', async (t) => {
  const [without, app] = [await wholeApp(t), await wholeApp(t, {}, {}, { before: withForms })]
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  for (const row of app.posts.filter(({ members }) => !('response' in members))) {
    const texts = Object.entries(bodyOf(row)).filter(([, value]) => typeof value === 'string')
    const form = new URLSearchParams(texts as [string, string][]).toString()
    const answer = async (payload: unknown, more = {}): Promise<string> =>
      answerOf(await app.post(row.url, payload, { ...(await app.enter()), ...more })).slice(0, 30)
    t.equal(await answer(form, type), await answer(Object.fromEntries(texts)), row.url)
    const { statusCode } = await without.post(row.url, form, {
      ...(await without.enter()),
      ...type,
    })
    t.equal(statusCode, 415, row.url)
  }
})

t.test('hooks of routeOptions run after those of the plugin, and before the work', async (t) => {
  const hooked: string[] = []
  let isReplaced = false
  const routeOptions = {
    onRequest: async ({ url }: FastifyRequest) => void hooked.push(url),
    async preHandler(request: FastifyRequest) {
      if (!isReplaced) throw Object.assign(new Error('CAPTCHA'), { statusCode: 418, code: 'ROBOT' })
      const values = { email: { $ne: '' }, token: 1, password: null, currentPassword: [], id: 0 }
      request.body = { ...values, code: {}, name: 1, response: 'a' }
    },
  }
  const { posts, post, enter, stored, asked } = await wholeApp(t, {}, routeOptions)
  const before = await stored()
  // They get only those options of the login route that all routes can have.
  const others = /\/(?:refresh|logout|confirm|link)$/
  for (const row of posts.filter(({ url }) => url === '/email/confirm' || !others.test(url))) {
    const jar = await enter()
    asked.length = hooked.length = 0
    await post(row.url, bodyOf(row), { ...jar, origin: 'null' })
    t.strictSame(hooked, [], row.url)
    if (row.isOwn)
      t.equal(answerOf(await post(row.url, bodyOf(row))), '401 ERR_AUTH_NO_CREDENTIALS')
    isReplaced = false
    t.equal(answerOf(await post(row.url, bodyOf(row), jar)), '418 ROBOT', row.url)
    t.strictSame([hooked.at(-1), asked.filter((each) => each !== 1)], [row.url, []])
    isReplaced = true
    const replaced = answerOf(await post(row.url, bodyOf(row), jar))
    if (Object.keys(row.members).length > 0) t.equal(replaced, wrong, row.url)
  }
  t.equal(await stored(), before)
})

t.test(
  'a prefix moves all routes but those at a well-known place, as login.path does',
  async (t) => {
    const login = { usernameField: 'email', path: '/auth/login/', subject: () => 1 }
    const [plain, prefixed, moved] = [
      await wholeApp(t),
      await wholeApp(t, {}, {}, { prefix: '/v1' }),
      await wholeApp(t, { login }),
    ]
    const at = (start: string, rows: readonly Row[]): Row[] =>
      rows.map((row) =>
        row.url.startsWith('/.well-known/') ? row : { ...row, url: start + row.url },
      )
    const resource = ({ url }: Row): boolean => !url.startsWith('/.well-known/')
    t.strictSame(
      prefixed.rows.filter((row) => !row.url.includes('/.well-known/')),
      at('/v1', plain.rows).filter(resource),
    )
    t.strictSame(
      moved.rows.map((row) => ({ ...row, url: row.url.replace(/\/$/, '') })),
      at('/auth', plain.rows),
    )
    for (const row of plain.posts) {
      const [there, here] = [
        await prefixed.post(`/v1${row.url}`, bodyOf(row)),
        await plain.post(row.url, bodyOf(row)),
      ]
      t.equal(there.statusCode, here.statusCode, row.url)
    }
  },
)

overBoth('a session that is revoked while the body is held stores nothing', async (t, table) => {
  const { app, posts, enter, stored, alice } = await wholeApp(t, {}, {}, table)
  for (const row of posts.filter(({ isOwn }) => isOwn)) {
    const headers = { ...(await enter()), 'content-type': 'application/json' }
    const before = await stored()
    const text = JSON.stringify(bodyOf(row))
    const payload = new PassThrough()
    payload.write(text.slice(0, 1))
    const response = app.inject({ method: 'POST', url: row.url, headers, payload })
    for (let turns = 0; turns < 50; turns += 1) await setImmediate()
    await app.authn.sessions.revoke({ sub: alice })
    payload.end(text.slice(1))
    t.equal(answerOf(await response), '401 ERR_AUTH_JWT_INVALID', row.url)
    t.equal(await stored(), before)
  }
})

/** Members of bodies that are no credentials. */
const harmless = new Set(['email', 'id', 'name', 'everywhere', 'remember', 'returnTo'])

t.test('wrong credentials are counted', async (t) => {
  const throttle = { perUsername: 3, perAddress: 6, window: 900 }
  const { posts, post, enter } = await wholeApp(t, { throttle })
  let clients = 0
  const guess = async (url: string, body: object, headers: Record<string, string>) => {
    clients += 1
    let answer = ''
    for (let tries = 0; tries < 8; tries += 1)
      answer = answerOf(await post(url, body, headers, `10.${clients}.0.1`))
    const rejected = /^429 ERR_AUTH_TOO_MANY_ATTEMPTS$|^401 ERR_AUTH_JWT_INVALID$/
    t.match(answer, rejected, `${url} ${Object.keys(body).join()}`)
  }
  const asked = async (url: string, body = {}, jar = {}) =>
    (await post(url, body, jar)).json<
      Record<'secret' | 'token', string> & { secondFactor: object }
    >()
  await guess('/login/confirm', { password: 'wrong' }, await enter(['pwd']))
  const jar = await enter()
  const setup = await asked('/second-factor/setup', {}, jar)
  await post('/second-factor/enable', { ...setup, code: codeNow(setup.secret) }, jar)
  const { secondFactor } = await asked('/login', { email: 'alice@example.com', password })
  const code = wrongCode(setup.secret)
  const passkey = { ...(await asked('/login/passkey/options')), response: {} }
  const known: Record<string, object[]> = {
    '/login/confirm': [{ code }, passkey],
    '/login/second-factor': [{ ...secondFactor, code }],
    '/login/passkey': [passkey],
    // What a session has just got for itself is no credential.
    '/passkeys': [],
    '/second-factor/enable': [],
  }
  for (const row of posts) {
    const { token, currentPassword, ...body } = bodyOf(row)
    const either = Object.entries({ token, currentPassword }).filter(([, value]) => value)
    const isOther = Object.keys(body).some((name) => !harmless.has(name))
    const bodies = either.map(([name, value]) => ({ ...body, [name]: value }))
    for (const each of known[row.url] ?? (isOther && either.length === 0 ? [body] : bodies))
      await guess(row.url, each, row.isOwn ? await enter() : {})
  }
  t.ok(clients >= 15)
})
