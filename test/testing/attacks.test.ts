// Also holds lib/testing/attack.ts, lib/testing/attack-cookies.ts, lib/testing/attack-options.ts, lib/testing/material.ts,
// lib/testing/report.ts, lib/testing/target.ts and lib/testing/wire.ts.
import { AssertionError } from 'node:assert'
import { createServer } from 'node:net'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { AuthenticationError, authn, jwtAuthenticator, type AuthnOptions } from '../../lib/index.js'
import { claimsOf } from '../helpers/sessions.js'
import { authAttacks, type AttackedApp, type AttackOptions } from '../../lib/testing/index.js'
import { problemOf } from '../../lib/testing/report.js'
import { openWire, statusOf, statusWithin } from '../../lib/testing/wire.js'
import { basic, passwords, secret, userService, tokensOf } from '../helpers/app.js'
import { unusable } from '../helpers/attacks.js'
import { anyService } from '../helpers/flows.js'
import { rejectionOf } from '../helpers/errors.js'
import { keys, privatePem, publicPem } from '../helpers/tokens.js'

const rsa = { private: privatePem(keys.rsa.privateKey) }

/** An app of ours, with a handler that counts. */
async function ours(t: Test, options: AuthnOptions = {}, auth: unknown = true) {
  const app = Fastify() as FastifyInstance
  t.teardown(() => app.close())
  const users = userService()
  let runs = 0
  await app.register(authn, {
    userService: anyService(users),
    jwt: { secret },
    hashing: { cost: 4 },
    ...options,
  })
  app.route({
    method: ['GET', 'POST'],
    url: '/me',
    config: { auth } as { auth: true },
    handler: (request) => {
      runs += 1
      return request.user
    },
  })
  return { app, users, runs: () => runs }
}

/** An app with a guard that somebody wrote by hand. */
function theirs(t: Test, guard: (header: string) => boolean | Promise<boolean>): FastifyInstance {
  const app = Fastify()
  t.teardown(() => app.close())
  app.addHook('preHandler', async (request, reply) => {
    const { authorization = '' } = request.headers
    if (authorization === '' || !(await guard(authorization))) await reply.code(401).send()
  })
  app.get('/me', () => 'in')
  return app
}

/** For `except`: plays nothing but the cases whose names begin so. */
const only = (start: string): RegExp[] => [new RegExp(`^(?!${start})`)]
const tokens = { sockets: false, except: only('token: ') } as const

const firstOf = (names: readonly string[], start: string): string[] =>
  names.filter((name) => name.startsWith(start))

t.test('our own guard refuses all of it, whatever it goes by', async (t) => {
  const rows: [string, AuthnOptions, AttackOptions, least: number][] = [
    ['HS256', {}, { url: '/me', sub: 'alice' }, 900],
    [
      'RS256',
      { jwt: { rsa, signingMethod: 'RS256' } },
      { url: '/me', sub: 'alice', ...tokens },
      500,
    ],
    [
      'ES256, POST',
      { jwt: { ecdsa: { private: privatePem(keys.p256.privateKey) }, signingMethod: 'ES256' } },
      { url: '/me', sub: 'alice', method: 'POST', payload: { a: 1 }, headers: { accept: '*/*' } },
      1000,
    ],
    [
      'another claim and algorithm',
      {
        jwt: { secret: secret + secret },
        authenticator: jwtAuthenticator({ claimName: 'userid', signingMethod: 'HS512' }),
      },
      {
        url: '/me',
        sub: 'alice',
        claimName: 'userid',
        algorithm: 'HS512',
        claims: { role: 'x' },
        ...tokens,
      },
      400,
    ],
    [
      'Basic',
      { authenticator: 'basic' },
      { url: '/me', good: basic('alice', passwords.alice).authorization },
      900,
    ],
    [
      'both',
      { authenticator: ['basic', 'jwt'] },
      { url: '/me', good: basic('alice', passwords.alice), sub: 'alice' },
      900,
    ],
  ]
  for (const [title, options, attack, least] of rows) {
    await t.test(title, async (t) => {
      const { app, users, runs } = await ours(t, options)
      const report = await authAttacks(app, attack)
      t.strictSame(report.problems, [], String(report))
      t.ok(report.cases > least, `${report.cases} cases`)
      t.equal(runs(), 2, 'only the good credentials, before and after')
      t.same(unusable(users.asked), [])
      t.doesNotThrow(() => report.assert())
      t.match(String(report), /^authAttacks (?:GET|POST) \/me: \d+ cases, 0 problems/)
    })
  }
})

t.test('a good token of the caller: from an app that cannot sign', async (t) => {
  const issuer = await ours(t, { jwt: { rsa, signingMethod: 'RS256' } })
  const { app } = await ours(t, {
    jwt: { rsa: { public: publicPem(keys.rsa.publicKey) }, signingMethod: 'RS256' },
  })
  await issuer.app.ready()
  const good = `Bearer ${tokensOf(issuer.app).generateToken('alice')}`
  const report = await authAttacks(app, { url: '/me', good })
  t.strictSame(report.problems, [])
  t.ok(report.cases > 700, `${report.cases} cases`)
  t.ok(report.leftOut.includes('expired (the key that signs is not known)'), String(report))
  t.notOk(
    report.leftOut.some((each) => each.startsWith('key confusion')),
    'with the public key',
  )
})

t.test('optional routes: only what is present and wrong', async (t) => {
  for (const [sub, good] of [
    ['alice', undefined],
    [undefined, basic('alice', passwords.alice)],
  ] as const) {
    const { app } = await ours(t, { authenticator: sub ? 'jwt' : 'basic' }, 'optional')
    const report = await authAttacks(app, { url: '/me', optional: true, sub, good })
    t.strictSame(report.problems, [])
    t.ok(report.cases > 200, `${report.cases} cases`)
  }
})

t.test('cookies, and requests of other sites', async (t) => {
  const { app, users, runs } = await ours(t, { cookies: true })
  const post = { url: '/me', method: 'POST', sub: 'alice', sockets: false } as const
  const report = await authAttacks(app, post)
  t.strictSame(report.problems, [], String(report))
  t.ok(report.cases > 1600, `${report.cases} cases`)
  t.equal(runs(), 3, 'the good token in the header and in the cookie, and at the end')
  t.same(unusable(users.asked), [])
  const cookie = `other=1; token=${tokensOf(app).generateToken('alice')}; more=2`
  const byName = { except: only('c(?:ookie|ross-site): '), sockets: false } as const
  const wanted = { ...post, ...byName, sub: undefined, good: { cookie } }
  const byCookie = await authAttacks(app, wanted)
  t.strictSame(byCookie.problems, [], String(byCookie))
  t.ok(byCookie.cases > 500, `${byCookie.cases} cases`)
  const get = await authAttacks(app, { url: '/me', sub: 'alice', ...byName })
  t.strictSame(get.problems, [], String(get))
  t.ok(get.cases > 600, `${get.cases} cases`)
  t.ok(get.leftOut.includes('requests of other sites (GET has to change nothing)'))
  const optional = await ours(t, { cookies: { name: 'shop' } }, 'optional')
  const lenient = await authAttacks(optional.app, { ...post, ...byName, optional: true })
  t.strictSame(lenient.problems, [], String(lenient))
  t.ok(lenient.cases > 600, `${lenient.cases} cases`)
  const basicOnly = await ours(t, { cookies: true }, { use: 'basic' })
  const good = basic('alice', passwords.alice)
  const without = await authAttacks(basicOnly.app, { url: '/me', good, ...byName })
  t.strictSame(without.problems, [])
  t.equal(without.cases, 0, 'a cookie that nobody reads is not attacked')
})

t.test('a cookie that is read carelessly', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.post('/me', (request, reply) => {
    const cookies = (request.headers.cookie ?? '').split('; ').map((pair) => pair.split('='))
    const found = cookies.find(([name]) => name?.toLowerCase() === 'session')
    return found?.[1] === 'k3y' ? 'in' : reply.code(401).send()
  })
  const target = { url: '/me', method: 'POST', sockets: false } as const
  const good = { cookie: 'session=k3y; lang=en' }
  const report = await authAttacks(app, { ...target, good })
  const names = report.problems.map(({ case: name }) => name)
  t.strictSame(
    names.filter((name) => !name.startsWith('cross-site: ')),
    [
      'cookie: twice',
      'cookie: twice, a bad one last',
      'cookie: twice, an empty one last',
      'cookie: three times',
      'cookie: SESSION=<value>',
    ],
  )
  t.equal(firstOf(names, 'cross-site: ').length, 15)
  t.equal((await authAttacks(app, { ...target, good: { cookie: 'x' } })).cases, 0)
})

t.test('credentials of another kind, with refusals of their own', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(authn, {
    authenticator: {
      authenticate: ({ headers }) => {
        if (headers['x-api-key'] === 'k3y') return { name: 'alice' }
        throw new AuthenticationError('No.')
      },
      onUnauthorized: (_, __, reply) => reply.code(403).send('no'),
    },
  })
  app.get('/me', { config: { auth: true } }, () => 'in')
  const good = { 'X-API-Key': 'k3y' }
  const report = await authAttacks(app, { url: '/me', good, refusals: [403] })
  t.strictSame(report.problems, [], String(report))
  const own = { good, sockets: false, except: only('x-api-key: ') }
  const strict = await authAttacks(app, { url: '/me', ...own })
  t.equal(strict.problems.length, strict.cases)
  t.match(strict.problems[0], { status: 403, why: /expected 401; what follows/ })

  const loose = Fastify()
  t.teardown(() => loose.close())
  loose.get('/me', (request, reply) =>
    String(request.headers['x-api-key']).startsWith('k3') ? 'in' : reply.code(401).send(),
  )
  const found = await authAttacks(loose, { url: '/me', ...own })
  t.strictSame(
    found.problems.map(({ case: name, status }) => [name, status]),
    ['a character less', 'a character more', 'another last character', 'twice'].map((title) => [
      `x-api-key: ${title}`,
      200,
    ]),
  )
})

t.test('a guard that believes alg none', async (t) => {
  const app = theirs(t, (header) => {
    const [head = '', payload = ''] = header.replace(/^Bearer /, '').split('.')
    try {
      const { alg } = JSON.parse(Buffer.from(head, 'base64url').toString()) as { alg: string }
      const { sub } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { sub: string }
      return sub === 'alice' && (alg === 'none' || header === good)
    } catch {
      return false
    }
  })
  const issuer = await ours(t)
  await issuer.app.ready()
  const good = `Bearer ${tokensOf(issuer.app).generateToken('alice')}`
  const report = await authAttacks(app, { url: '/me', good, ...tokens })
  const names = report.problems.map(({ case: name }) => name)
  t.ok(names.includes('token: none'), String(report))
  t.ok(names.includes('token: alg "none" without a signature'))
  t.equal(firstOf(names, 'token: alg "None"').length, 0)
  t.ok(report.problems.every(({ status, why }) => status === 200 && why === 'let through'))
  t.throws(() => report.assert(), AssertionError)
  t.throws(() => report.assert(), { message: /200 {2}token: none: let through/ })
})

t.test('a guard that fails on what it does not expect', async (t) => {
  const app = theirs(t, (header) => {
    const claims = claimsOf(header.replace(/^Bearer /, ''))
    return header === good && claims.sub === 'alice'
  })
  const issuer = await ours(t)
  await issuer.app.ready()
  const good = `Bearer ${tokensOf(issuer.app).generateToken('alice')}`
  const report = await authAttacks(app, { url: '/me', good, sockets: false })
  const malformed = report.problems.find(({ case: name }) => name === 'token: malformed')
  t.match(malformed, { status: 500, why: /a fault/ })
  t.ok(report.problems.length > 100)
  t.match(String(report), /\n {2}… and \d+ more\n/)
})

t.test('a guard that takes every algorithm, and one that takes everything', async (t) => {
  const issuer = await ours(t, { jwt: { secret: secret + secret } })
  await issuer.app.ready()
  const jwtService = tokensOf(issuer.app)
  const methods = ['HS256', 'HS384', 'HS512'] as const
  const anyHmac = theirs(t, (header) =>
    methods.some((method) => {
      try {
        return jwtService.verify(header.replace(/^Bearer /, ''), method).sub === 'alice'
      } catch {
        return false
      }
    }),
  )
  const token = jwtService.generateToken('alice')
  const app = Object.assign(Object.create(anyHmac) as FastifyInstance, { jwtService })
  const found = await authAttacks(app, { url: '/me', good: `Bearer ${token}`, sockets: false })
  t.strictSame(
    new Set(found.problems.map(({ case: name }) => name)),
    new Set([
      // Without a scheme.
      'Authorization: "<token>"',
      'token: wrongAlgorithm',
      'token: signed HS384 with the right key',
      'token: signed HS512 with the right key',
    ]),
  )

  const credulous = theirs(t, () => true)
  const all = await authAttacks(credulous, { url: '/me', good: 'Bearer x', sockets: false })
  t.ok(all.cases > 500 && all.problems.length > all.cases - 20, String(all))
})

t.test('an open route is one problem, not a thousand', async (t) => {
  const { app } = await ours(t, {}, false)
  const report = await authAttacks(app, { url: '/me', sub: 'alice' })
  t.match(report.problems, [{ case: 'no credentials', status: 200, why: /requires nobody/ }])
  t.equal(report.problems.length, 1)
})

t.test('a report that would prove nothing says so', async (t) => {
  const { app } = await ours(t)
  const unknown = await authAttacks(app, { url: '/me', sub: 'nobody' })
  t.match(unknown.problems, [{ case: 'good credentials', status: 401, why: /would prove nothing/ }])
  t.equal(unknown.cases, 0)
  const wrongUrl = await authAttacks(app, { url: '/nowhere', sub: 'alice' })
  t.match(wrongUrl.problems, [{ status: 404 }])
  const nobody = await authAttacks(app, { url: '/me', ...tokens })
  t.match(nobody.problems, [
    { case: 'good credentials', status: null, why: /give "sub" or "good"/ },
  ])
  t.equal(nobody.problems.length, 1)
  t.ok(nobody.cases > 100, 'the rest is played all the same')
})

t.test(
  'what locks users out is noticed: throttling, and good credentials at the end',
  async (t) => {
    let count = 0
    const app = theirs(t, (header) => {
      count += 1
      return header === 'Bearer good' && count < 100
    })
    const locked = await authAttacks(app, { url: '/me', good: 'Bearer good', ...tokens })
    t.match(locked.problems, [{ case: /after all the others/, status: 401 }])

    const limited = Fastify()
    t.teardown(() => limited.close())
    const seen = new Set<string>()
    limited.get('/me', (request, reply) => {
      seen.add(request.ip)
      if (request.headers.authorization === 'Bearer good') return 'in'
      return reply.code(429).send()
    })
    const report = await authAttacks(limited, { url: '/me', good: 'Bearer good', ...tokens })
    t.equal(report.problems.length, report.cases)
    t.match(report.problems[0], { status: 429, why: /throttled, and so not judged/ })
    t.ok(seen.size > 100 && seen.size >= report.cases, 'each case comes from another address')
  },
)

t.test('cases that the app accepts on purpose can be left out', async (t) => {
  const { app } = await ours(t, { jwt: { secret, requireExp: false } })
  const found = await authAttacks(app, { url: '/me', sub: 'alice', ...tokens })
  t.strictSame(
    found.problems.map(({ case: name }) => name),
    ['token: withoutExp'],
  )
  const except = ['token: withoutExp', /^socket: a hundred/, ...only('(?:token|socket): ')]
  const report = await authAttacks(app, { url: '/me', sub: 'alice', except })
  t.strictSame(report.problems, [])
  t.ok(report.leftOut.includes('token: withoutExp (excepted)'))
  t.ok(report.leftOut.includes('socket: a hundred headers (excepted)'))
})

t.test('sockets: a second header, and keys that are fetched', async (t) => {
  const { app } = await ours(t)
  const few = { sub: 'alice', sockets: false, except: only('no credentials') }
  const without = await authAttacks(app, { url: '/me', ...few })
  t.ok(without.leftOut.includes('raw bytes on a socket ("sockets" is false)'))
  t.equal(app.server.listening, false, 'the server of the app was left alone')

  const fetching = theirs(t, async (header) => {
    const [head = ''] = header.replace(/^Bearer /, '').split('.')
    try {
      const { jku } = JSON.parse(Buffer.from(head, 'base64url').toString()) as { jku?: string }
      if (jku?.startsWith('http:')) await (await fetch(jku)).json()
    } catch {
      return false
    }
    return header === good
  })
  await app.ready()
  const good = `Bearer ${tokensOf(app).generateToken('alice')}`
  const report = await authAttacks(fetching, {
    url: '/me',
    good,
    except: only('(?:token|socket): '),
  })
  t.strictSame(
    report.problems.map(({ case: name }) => name),
    [
      'socket: a good header before a bad one',
      'socket: a good header twice',
      'socket: twice, in capitals',
      'a URL in the header of a token',
    ],
    'Node keeps the first of two headers',
  )
  t.match(report.problems.at(-1), { status: null, why: /^\d+ times: .*SSRF/ })
})

t.test('no answer in time', async (t) => {
  t.equal(problemOf(null, [401]), 'no answer')
  t.equal(await statusWithin(new Promise(() => undefined), 50), null)
  t.equal(await statusWithin(Promise.resolve({ statusCode: 401 }), 60_000), 401)
  await t.rejects(statusWithin(Promise.reject(new Error('it broke')), 60_000), {
    message: 'it broke',
  })
  const silent = createServer(() => undefined)
  await new Promise<void>((resolve) => {
    silent.listen(0, '127.0.0.1', resolve)
  })
  t.teardown(() => silent.close())
  const { port } = silent.address() as { port: number }
  t.equal(await statusOf(port, 'GET / HTTP/1.1\r\n\r\n', 50), null)
  const rude = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => {
    rude.listen(0, '127.0.0.1', resolve)
  })
  t.teardown(() => rude.close())
  const { port: other } = rude.address() as { port: number }
  t.equal(await statusOf(other, 'GET / HTTP/1.1\r\n\r\n'), 'closed')
  const wire = await openWire(() => undefined)
  t.equal(wire.fetched(), 0)
  await wire.close()
})

t.test('misuse says what to do', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const cases: [RegExp, object][] = [
    [/expected "url"/, {}],
    [/"good": expected the value of Authorization/, { url: '/', good: 7 }],
    [/"good": expected the value of Authorization/, { url: '/', good: { key: 7 } }],
  ]
  for (const [pattern, options] of cases) {
    const { code, message } = await rejectionOf(authAttacks(app, options as AttackOptions))
    t.equal(code, 'ERR_AUTH_TESTING')
    t.match(message, pattern)
  }
  const refusing: AttackedApp = {
    ...app,
    ready: () => Promise.reject(new Error('no boot')),
  }
  t.equal((await rejectionOf(authAttacks(refusing, { url: '/' }))).message, 'no boot')
})
