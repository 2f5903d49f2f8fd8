// program: attacks
import { AssertionError } from 'node:assert'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import { AuthenticationError, authn, jwtAuthenticator, type AuthnOptions } from '../../lib/index.js'
import { claimsOf } from '../helpers/sessions.js'
import { authAttacks, mintToken, type AttackOptions } from '../../lib/testing/index.js'
import { AttackReport, statusProblemOf } from '../../lib/testing/report.js'
import { fastify, appWith, basic, passwords, secret, userService } from '../helpers/app.js'
import { unusable } from '../helpers/attacks.js'
import { anyService } from '../helpers/flows.js'
import { keys, privatePem, publicPem } from '../helpers/tokens.js'

const rsa = { private: privatePem(keys.rsa.privateKey) }

/** An app of ours, with a handler that counts. */
async function ours(t: Test, options: AuthnOptions = {}, auth: unknown = true) {
  const users = userService()
  let runs = 0
  const all = { userService: anyService(users), jwt: { secret }, ...options }
  const app = await appWith(t, all, (app) => {
    const config = { auth } as { auth: true }
    const handler = (request: FastifyRequest): unknown => {
      runs += 1
      return request.user
    }
    app.route({ method: ['GET', 'POST'], url: '/me', config, handler })
  })
  return { app, users, runs: () => runs }
}

/** An app with a handwritten guard. */
function theirs(t: Test, guard: (header: string) => boolean): FastifyInstance {
  const app = fastify(t)
  app.addHook('preHandler', async (request, reply) => {
    const { authorization = '' } = request.headers
    if (authorization === '' || !guard(authorization)) await reply.code(401).send()
  })
  app.get('/me', () => 'in')
  return app
}

/** For `except`: plays nothing but the cases whose names begin so. */
const only = (start: string): RegExp[] => [new RegExp(`^(?!${start})`)]
const tokens = { except: only('token: ') }

const namesOf = ({ problems }: AttackReport): string[] => problems.map(({ case: name }) => name)

t.test('every attack is rejected by jwt and Basic routes', async (t) => {
  const { authorization } = basic('alice', passwords.alice)
  const es256 = { ecdsa: { private: privatePem(keys.p256.privateKey) } }
  const post = { method: 'POST', payload: { a: 1 }, headers: { accept: '*/*' } } as const
  const hs512 = jwtAuthenticator({ claimName: 'userid', signingMethod: 'HS512' })
  const more = { claimName: 'userid', algorithm: 'HS512', claims: { role: 'x' } } as const
  const rows: [string, AuthnOptions, Partial<AttackOptions>][] = [
    ['HS256', {}, {}],
    ['RS256', { jwt: { rsa, signingMethod: 'RS256' } }, {}],
    ['ES256, POST', { jwt: { ...es256, signingMethod: 'ES256' } }, post],
    ['another claim and method', { jwt: { secret: secret + secret }, authenticator: hs512 }, more],
    ['Basic', { authenticator: 'basic' }, { sub: undefined, good: authorization }],
    ['both', { authenticator: ['basic', 'jwt'] }, { good: { Authorization: authorization } }],
  ]
  for (const [title, options, attack] of rows) {
    const { app, users, runs } = await ours(t, options)
    const report = await authAttacks(app, { url: '/me', sub: 'alice', ...attack })
    t.strictSame(report.problems, [], `${title}: ${String(report)}`)
    t.ok(report.cases > 60, `${report.cases} cases`)
    t.equal(runs(), 2, 'only the good credentials, before and after')
    t.same(unusable(users.asked), [])
    t.doesNotThrow(() => report.assert())
  }
})

t.test('authAttacks() takes a good token for an app that cannot sign', async (t) => {
  const issuer = await ours(t, { jwt: { rsa, signingMethod: 'RS256' } })
  const jwt = { rsa: { public: publicPem(keys.rsa.publicKey) }, signingMethod: 'RS256' } as const
  const { app } = await ours(t, { jwt }, { fresh: 600 })
  const auth_time = Math.floor(Date.now() / 1000)
  const good = `Bearer ${issuer.app.jwtService.generateTokenWithClaims({ sub: 'alice', auth_time })}`
  const report = await authAttacks(app, { url: '/me', good })
  t.strictSame(report.problems, [])
  t.ok(report.leftOut.includes('expired (the key that signs is not known)'), String(report))
  const found = report.leftOut.some((each) => each.startsWith('tokens of another level'))
  t.ok(found, String(report))
  t.notOk(report.leftOut.some((each) => each.startsWith('confused')))
})

t.test('an optional route is attacked only with credentials that are wrong', async (t) => {
  for (const [sub, good] of [
    ['alice', undefined],
    [undefined, basic('alice', passwords.alice)],
  ] as const) {
    const { app } = await ours(t, { authenticator: sub ? 'jwt' : 'basic' }, 'optional')
    const report = await authAttacks(app, { url: '/me', optional: true, sub, good })
    t.strictSame(report.problems, [])
    t.ok(report.cases > 20, `${report.cases} cases`)
  }
})

t.test('every attack with cookies and every CSRF attack is rejected', async (t) => {
  const { app, users, runs } = await ours(t, { cookies: true })
  const byName = { except: only('c(?:ookie|ross-site): ') } as const
  const post = { url: '/me', method: 'POST', sub: 'alice', ...byName } as const
  const report = await authAttacks(app, post)
  t.strictSame(report.problems, [], String(report))
  t.ok(report.cases > 30, `${report.cases} cases`)
  t.equal(runs(), 3, 'the good token in the header and in the cookie, and at the end')
  t.same(unusable(users.asked), [])
  const cookie = `other=1; token=${app.jwtService.generateToken('alice')}; more=2`
  const byCookie = await authAttacks(app, { ...post, sub: undefined, good: { cookie } })
  t.strictSame([byCookie.problems, byCookie.cases > 30], [[], true], String(byCookie))
  const get = await authAttacks(app, { url: '/me', sub: 'alice', ...byName })
  t.strictSame(get.problems, [], String(get))
  t.ok(get.leftOut.includes('cross-site requests (GET changes nothing)'))
  const optional = await ours(t, { cookies: { name: 'shop' } }, 'optional')
  const lenient = await authAttacks(optional.app, { ...post, optional: true })
  t.strictSame([lenient.problems, lenient.cases > 25], [[], true], String(lenient))
  const basicOnly = await ours(t, { cookies: true }, { use: 'basic' })
  const good = basic('alice', passwords.alice)
  const without = await authAttacks(basicOnly.app, { url: '/me', good, ...byName })
  t.strictSame([without.problems, without.cases], [[], 0], 'a cookie that the route does not read')
})

t.test('authAttacks() finds a cookie that is read carelessly', async (t) => {
  const app = fastify(t)
  app.post('/me', (request, reply) => {
    const cookies = (request.headers.cookie ?? '').split('; ').map((pair) => pair.split('='))
    const found = cookies.find(([name]) => name?.toLowerCase() === 'session')
    return found?.[1] === 'k3y' ? 'in' : reply.code(401).send()
  })
  const good = { cookie: 'session=k3y; lang=en' }
  const names = namesOf(await authAttacks(app, { url: '/me', method: 'POST', good }))
  const seen = names.filter((name) => !name.startsWith('cross-site: '))
  t.strictSame(seen, ['cookie: twice', 'cookie: twice, a bad one last', 'cookie: SESSION=<value>'])
  t.equal(names.length, 3 + 8)
})

t.test('authAttacks() attacks API keys of the app, whose rejections may be a 403', async (t) => {
  const app = fastify(t)
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
  const report = await authAttacks(app, { url: '/me', good, rejections: [403] })
  t.strictSame(report.problems, [], String(report))
  const own = { good, except: only('x-api-key: ') }
  const strict = await authAttacks(app, { url: '/me', ...own })
  t.equal(strict.problems.length, strict.cases)
  t.match(strict.problems[0], { status: 403, why: /expected 401; the credentials were accepted/ })

  const loose = fastify(t)
  loose.get('/me', (request, reply) =>
    String(request.headers['x-api-key']).startsWith('k3') ? 'in' : reply.code(401).send(),
  )
  const found = await authAttacks(loose, { url: '/me', ...own })
  const more = [
    'a character more',
    'padded',
    'a comma',
    'twice, with a comma',
    'twice, with a space',
  ]
  const near = ['another last character', 'last character missing', ...more, 'not ASCII']
  t.strictSame(
    namesOf(found),
    near.map((title) => `x-api-key: ${title}`),
  )
})

t.test('authAttacks() finds a guard of another scheme that trims', async (t) => {
  const app = theirs(t, (header) => /^ApiKey k3y\W?$/.test(header))
  const report = await authAttacks(app, { url: '/me', good: 'ApiKey k3y' })
  t.strictSame(namesOf(report), ['Authorization: ApiKey, padded', 'Authorization: ApiKey, a comma'])
})

t.test('authAttacks() finds a guard that believes alg none or answers 500', async (t) => {
  const app = theirs(t, (header) => {
    const [head = '', payload = ''] = header.replace(/^Bearer /, '').split('.')
    const { alg } = JSON.parse(Buffer.from(head, 'base64url').toString()) as { alg: string }
    const { sub } = claimsOf(`.${payload}`)
    return sub === 'alice' && (alg === 'none' || header === good)
  })
  const issuer = await ours(t)
  const good = `Bearer ${issuer.app.jwtService.generateToken('alice')}`
  const report = await authAttacks(app, { url: '/me', good, ...tokens })
  t.match(report.problems, [
    { case: 'token: none', status: 200, why: 'let through' },
    { case: 'token: malformed', status: 500, why: /internal error/ },
  ])
  t.throws(() => report.assert(), AssertionError)
  t.throws(() => report.assert(), { message: /200 {2}token: none: let through/ })
})

t.test('authAttacks() finds a guard that accepts every algorithm, or everything', async (t) => {
  const issuer = await ours(t, { jwt: { secret: secret + secret } })
  const jwtService = issuer.app.jwtService
  const anyHmac = theirs(t, (header) =>
    (['HS256', 'HS384', 'HS512'] as const).some((method) => {
      try {
        return jwtService.verify(header.replace(/^Bearer /, ''), method).sub === 'alice'
      } catch {
        return false
      }
    }),
  )
  const app = Object.assign(Object.create(anyHmac) as FastifyInstance, { jwtService })
  const good = `Bearer ${jwtService.generateToken('alice')}`
  const found = await authAttacks(app, { url: '/me', good })
  t.strictSame(namesOf(found), ['Authorization: no scheme', 'token: wrongAlgorithm'])

  const credulous = theirs(t, () => true)
  const all = await authAttacks(credulous, { url: '/me', good: 'Bearer x' })
  t.ok(all.cases > 50 && all.problems.length > all.cases - 10, String(all))
})

t.test('authAttacks() takes a good token that is no JWT', async (t) => {
  for (const good of ['Bearer a.b.c', 'Bearer bnVsbA.e30.c']) {
    const app = theirs(t, (header) => header === good)
    t.strictSame((await authAttacks(app, { url: '/me', good })).problems, [])
  }
})

t.test('an open route is reported as one problem', async (t) => {
  const { app } = await ours(t, {}, false)
  const report = await authAttacks(app, { url: '/me', sub: 'alice' })
  t.match(report.problems, [{ case: 'no credentials', status: 200, why: /requires no user/ }])
  t.equal(report.problems.length, 1)
})

t.test('a report without accepted credentials says that it proves nothing', async (t) => {
  const { app } = await ours(t)
  const unknown = await authAttacks(app, { url: '/me', sub: 'unknown' })
  t.match(unknown.problems, [{ case: 'good credentials', status: 401, why: /would prove nothing/ }])
  t.equal(unknown.cases, 0)
  t.match(unknown.problems[0]?.why, 'ERR_AUTH_INVALID_CREDENTIALS')
  const token = mintToken(app, { sub: 'alice', broken: 'withoutExp' })
  const { problems } = await authAttacks(app, { url: '/me', good: `Bearer ${token}` })
  t.match(problems, [{ case: 'good credentials', why: /\(ERR_AUTH_JWT_INVALID: claim exp\b/ }])
  t.notMatch(JSON.stringify(problems), token)
  const wrongUrl = await authAttacks(app, { url: '/nowhere', sub: 'alice' })
  t.match(wrongUrl.problems, [{ status: 404 }])
  const unproved = await authAttacks(app, { url: '/me' })
  t.match(unproved.problems, [
    { case: 'good credentials', status: null, why: /give "sub" or "good"/ },
  ])
  t.equal(unproved.problems.length, 1)
  t.ok(unproved.cases > 50, 'the rest is played all the same')
  t.equal(statusProblemOf(null, [401]), 'no answer')
  t.match(String(unproved), /^authAttacks GET \/me: \d+ cases, 1 problems\n {2}--- {2}good/)
})

t.test('a report names a rate limit and a user who is locked out', async (t) => {
  let count = 0
  const app = theirs(t, (header) => {
    count += 1
    return header === 'Bearer good' && count < 20
  })
  const locked = await authAttacks(app, { url: '/me', good: 'Bearer good' })
  t.match(locked.problems, [{ case: /after all the others/, status: 401 }])

  const limited = fastify(t)
  const seen = new Set<string>()
  limited.get('/me', (request, reply) => {
    seen.add(request.ip)
    if (request.headers.authorization === 'Bearer good') return 'in'
    return reply.code(429).send()
  })
  const report = await authAttacks(limited, { url: '/me', good: 'Bearer good', ...tokens })
  t.ok(report.cases >= 5 && report.problems.length === report.cases)
  t.match(report.problems[0], { status: 429, why: /throttled/ })
  t.ok(seen.size >= report.cases, 'each case comes from another address')
})

t.test('except leaves cases out of a report', async (t) => {
  const { app } = await ours(t, { jwt: { secret, requireExp: false } })
  const found = await authAttacks(app, { url: '/me', sub: 'alice' })
  t.strictSame(namesOf(found), ['token: withoutExp'])
  const except = ['token: withoutExp', ...only('token: ')]
  const report = await authAttacks(app, { url: '/me', sub: 'alice', except })
  t.strictSame(report.problems, [])
  t.ok(report.leftOut.includes('token: withoutExp (excepted)'))
})
